//! Pages that nobody should have written: whatever they are, reading them ends, gives a bounded
//! number of tiles and does not panic.

use curtsy_core::url::CrawlUrl;
use curtsy_tiles::{PageText, Tile, TileKind, extract};
use proptest::prelude::*;

fn read(body: &[u8]) -> Vec<Tile> {
    let url = CrawlUrl::parse("https://www.test.example/menu").unwrap();
    let tiles = extract(&[PageText { url: &url, content_type: Some("text/html"), body }]);
    for &kind in TileKind::ALL {
        assert!(tiles.iter().filter(|tile| tile.kind() == kind).count() <= 500, "{kind:?}");
    }
    for tile in &tiles {
        let json = serde_json::to_string(tile).unwrap();
        assert!(
            !json.chars().any(|c| c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c)),
            "{json}"
        );
        assert!(
            !json.contains("\\u0000")
                && (0.5..=1.0).contains(&tile.confidence)
                && tile.evidence.len() <= 5,
            "{json}"
        );
    }
    tiles
}

#[test]
fn a_million_nested_tags() {
    for tag in ["<div>", "<b>", "<table><tr><td>", "<ul><li>", "<font size=7>", "<p><b id=x>"] {
        read(tag.repeat(1_000_000 / tag.len() * 3).as_bytes());
    }
}

#[test]
fn attributes_of_a_megabyte() {
    read(
        format!(
            "<p class='{}'>x<a href='tel:{}'>y</a>",
            "a ".repeat(500_000),
            "1".repeat(1_000_000)
        )
        .as_bytes(),
    );
}

#[test]
fn bytes_that_are_no_text() {
    read(&(0..=255u8).cycle().take(1_000_000).collect::<Vec<_>>());
    read(b"\xff\xfe<\0p\0>\0\xd8\xd8 12,50 \xe2\x82");
}

#[test]
fn json_without_end() {
    read(
        format!("<script type='application/ld+json'>{}</script>", "{\"a\":".repeat(200_000))
            .as_bytes(),
    );
    read(
        format!(
            "<script type='application/ld+json'>[{}]</script>",
            r#"{"@type":"Product","name":"x","offers":{"price":"1"}},"#.repeat(20_000)
        )
        .as_bytes(),
    );
}

#[test]
fn a_hundred_thousand_rows() {
    let rows: String =
        (0..100_000).map(|row| format!("<tr><td>Dish {row}<td>€ {}.50", row % 90 + 1)).collect();
    assert!(!read(format!("<h1>Menu</h1><table>{rows}").as_bytes()).is_empty());
    let lines: String = (0..100_000).map(|line| format!("Dish {line} ... € 4.50<br>")).collect();
    read(format!("<h1>Menu</h1><p>{lines}").as_bytes());
}

#[test]
fn one_endless_line() {
    for piece in [
        "1 ",
        "€ 1 ",
        "a@b.example ",
        "Mon ",
        "12345 Town, ",
        "........",
        "( 0 ) ",
        "Mo-Fr 9-12, ",
        "Weg 1, 12345 Ort; ",
    ] {
        read(format!("<h1>Contact</h1><p>{}", piece.repeat(1_000_000 / piece.len())).as_bytes());
    }
}

#[test]
fn tricks_in_names_are_left_out() {
    let tiles = read("<h1>Menu</h1><h2>Soup\u{202e}s</h2><ul><li>Tom\0ato\u{200b} soup € 4.50<li>Leek\u{7} soup € 5</ul>".as_bytes());
    assert!(tiles.iter().any(|tile| tile.kind() == TileKind::Menu));
}

fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<div>",
            "</div>",
            "<table>",
            "<tr>",
            "<td>",
            "</table>",
            "<li>",
            "<ul>",
            "<dl>",
            "<dt>",
            "<dd>",
            "<h1>",
            "<h3>",
            "</h3>",
            "<b>",
            "</b>",
            "<br>",
            "<hr>",
            "<p>",
            "<s>",
            "<sup>",
            "</sup>",
            "<details>",
            "<summary>",
            "<footer>",
            "<address>",
            "<em>",
            "</em>",
            "<a href='tel:+4930123456'>",
            "</a>",
            "€ 12,50",
            "$ 9 / mo",
            "12.-",
            "Mo–Fr 9–17 Uhr",
            "Sat till noon",
            "closed",
            "Tel. 030 12 34 56",
            "Weg 1, 12345 Ort",
            "a (at) b.example",
            "Why?",
            "Soup",
            "Q: ",
            "A: ",
            "from ",
            "ß",
            "İ",
            "日本",
            "\u{301}",
            "£",
            "12",
            "50",
            " ",
            ".",
            "(",
            ")",
            ",",
            "–",
            "é",
            "<div itemscope itemtype=x/Product>",
            "<b itemprop=name>",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        read(&bytes);
    }

    #[test]
    fn any_soup(html in soup()) {
        read(html.as_bytes());
    }

    #[test]
    fn the_same_pages_give_the_same_tiles(html in soup()) {
        prop_assert_eq!(read(html.as_bytes()), read(html.as_bytes()));
    }
}
