//! The references of a page with their texts, and the named places in it.

use curtsy_core::url::CrawlUrl;
use curtsy_parse::html::{mentions, places};

#[track_caller]
fn check(html: &str, expected: &[&str]) {
    let url = CrawlUrl::parse("https://site.example/dir/page.html").unwrap();
    let mut told = Vec::new();
    mentions(&url, Some("text/html; charset=utf-8"), html.as_bytes(), |mention| {
        let target = match &mention.target {
            Ok(url) => url.as_str().replace("https://site.example", ""),
            Err(reference) => format!("no URL: {reference}"),
        };
        let fragment = mention.fragment.as_ref().map(|f| format!("#{f}")).unwrap_or_default();
        let text = match mention.text.is_empty() {
            true => String::new(),
            false => format!(" ({})", mention.text),
        };
        told.push(format!("{} {target}{fragment}{text}", mention.used.name()));
    });
    assert_eq!(told, expected, "{html}");
}

#[test]
fn links_with_their_words_and_fragments() {
    check("<a href=x>The  <b>lost</b>\n&amp; found</a>", &["link /dir/x (The lost & found)"]);
    check("<a href='/y#a%20b'>y</a>", &["link /y#a%20b (y)"]);
    check("<a href='#here'>h</a>", &["link /dir/page.html#here (h)"]);
    check("<a href=1>one<a href=2>two", &["link /dir/1 (one)", "link /dir/2 (two)"]);
    check(
        "<a href=p><img src=i.png alt=Logo></a>",
        &["image /dir/i.png (Logo)", "link /dir/p (Logo)"],
    );
    check("<base href=/b/><a href=x>x</a>", &["link /b/x (x)"]);
    check("<a href=mailto:a@b>m</a><a href='http://[x'>b</a>", &["link no URL: http://[x (b)"]);
    let long = format!("<a href=x>{}</a>", "word ".repeat(1000));
    let cut = format!("link /dir/x ({}…)", "word ".repeat(16));
    check(&long, &[&cut]);
}

#[test]
fn what_a_page_loads() {
    check("<link rev=made href=a@b.example><link href=no>", &["related /dir/a@b.example"]);
    check("<script src=s.js>'<a href=no>'</script>", &["script /dir/s.js"]);
    check("<link rel='StyleSheet preload' href=s.css>", &["style /dir/s.css"]);
    check("<link rel='shortcut icon' href=/f.ico>", &["icon /f.ico"]);
    check("<link rel=next href=n.html><link rel=preconnect href=//x>", &["related /dir/n.html"]);
    check(
        "<img src=a.png srcset='b.png 2x, c,d.png 100w,e.png'>",
        &["image /dir/a.png", "image /dir/b.png", "image /dir/c,d.png", "image /dir/e.png"],
    );
    check(
        "<video src=v poster=p.png><source src=w><track src=t></video><audio src=u></audio>",
        &["media /dir/v", "image /dir/p.png", "media /dir/w", "media /dir/t", "media /dir/u"],
    );
    check(
        "<svg><image href=i.png /><image xlink:href=j.png /><use href='s.svg#x'/></svg>",
        &["image /dir/i.png", "image /dir/j.png", "image /dir/s.svg#x"],
    );
    check("<body background=b.png><use href='#here'/>", &["image /dir/b.png"]);
    check(
        "<link rel=preload as=image href=p.png imagesrcset='q.png 2x'>",
        &["icon /dir/p.png", "image /dir/q.png"],
    );
    check("<input type=image src=b.png><input type=text src=no>", &["image /dir/b.png"]);
    check("<object data=d.svg></object><embed src=e>", &["related /dir/d.svg", "related /dir/e"]);
    check("<iframe src=f><a href=no></iframe><img src=''>", &["frame /dir/f"]);
}

#[test]
fn what_is_text_refers_to_nothing() {
    check("<!-- <a href=no> --><style>a { }</style><title><a href=no></title>", &[]);
    check("<textarea><a href=no></textarea><template><img src=no></template>", &[]);
    check(
        "<template><template></template><a href=no>x</a></template><a href=y>y</a>",
        &["link /dir/y (y)"],
    );
}

#[test]
fn places_that_a_fragment_can_name() {
    let url = CrawlUrl::parse("https://site.example/").unwrap();
    let html = "<p id=one><a name='two &amp; 3'></a><input name=no><svg id=Four></svg><template><p id=no></template>";
    let mut names = Vec::new();
    places(&url, None, html.as_bytes(), |name| names.push(name.to_owned()));
    assert_eq!(names, ["one", "two & 3", "Four"]);
}
