//! One host, one key: every alias would be a second pace on the same server.

use std::collections::BTreeSet;

use curtsy_core::url::{CrawlUrl, HostKey};

#[test]
fn sixty_spellings_of_one_host_give_one_key() {
    let keys: BTreeSet<&str> = NAME_SPELLINGS.iter().copied().collect();
    assert!(keys.len() >= 60, "{} spellings", keys.len());
    for spelling in NAME_SPELLINGS {
        let url = CrawlUrl::parse(spelling).unwrap_or_else(|e| panic!("{spelling:?}: {e}"));
        assert_eq!(url.host().as_str(), "xn--bcher-kva.example", "{spelling:?}");
    }
}

#[test]
fn every_spelling_of_an_address_gives_one_key() {
    for spelling in ADDRESS_SPELLINGS {
        let url = CrawlUrl::parse(&format!("http://{spelling}/")).unwrap();
        assert_eq!(url.host().as_str(), "192.0.2.1", "{spelling:?}");
        assert_eq!(url.as_str(), "http://192.0.2.1/", "{spelling:?}");
        assert_eq!(url.ip(), Some([192, 0, 2, 1].into()), "{spelling:?}");
    }
    for spelling in ADDRESS6_SPELLINGS {
        let url = CrawlUrl::parse(&format!("http://{spelling}:80/")).unwrap();
        assert_eq!(url.host().as_str(), "[2001:db8::c000:201]", "{spelling:?}");
    }
}

#[test]
fn a_key_reads_what_people_write_in_settings() {
    let key = |text: &str| HostKey::parse(text).map(|k| k.to_string());
    assert_eq!(key("Example.ORG.").as_deref(), Ok("example.org"));
    assert_eq!(key("2001:DB8::1").as_deref(), Ok("[2001:db8::1]"), "brackets may be left out");
    assert_eq!(key("[2001:DB8::1]").as_deref(), Ok("[2001:db8::1]"));
    assert_eq!(key("::ffff:192.0.2.1").as_deref(), Ok("192.0.2.1"));
    assert_eq!(key("2130706433").as_deref(), Ok("127.0.0.1"));
    assert_eq!(key("localhost").as_deref(), Ok("localhost"));
}

#[test]
fn hosts_that_are_none_are_refused() {
    for text in [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a b",
        "a/b",
        "a:80",
        "a@b",
        "a%",
        "a%00b",
        "a%2fb",
        "a<b",
        "1.2.3.256",
        "1.2.3.4.5",
        "4294967296",
        "0x100000000",
        "1.2.3.08",
        "example.0x",
        "[::1%25eth0]",
        "[fe80::1%eth0]",
        "fe80::1%eth0",
        "[::1",
        "[1.2.3.4]",
        "::ffff:1.2.3",
        "\u{ad}",
        "a\u{fffd}",
    ] {
        assert!(HostKey::parse(text).is_err(), "{text:?} gave {:?}", HostKey::parse(text));
    }
}

/// RUSTSEC-2024-0421: a punycode label that decodes to ASCII, or to what is not normal, must not
/// stand for another name.
#[test]
fn punycode_masks_are_refused() {
    for mask in
        ["xn--example-.org", "xn--example-", "xn--", "xn--a", "xn--ab-.example", "xn--A-ugn.org"]
    {
        let refused = HostKey::parse(mask).is_err();
        assert!(refused, "{mask:?} gave {:?}", HostKey::parse(mask));
    }
}

/// Spellings that only the network knows to be the same stay apart.
#[test]
fn other_hosts_have_other_keys() {
    let keys: BTreeSet<String> = [
        "example.org",
        "www.example.org",
        "example.com",
        "faß.example",
        "fass.example",
        "[64:ff9b::192.0.2.1]",
        "[2002:c000:201::]",
        "[::192.0.2.1]",
        "192.0.2.1",
        "192.0.2.2",
        "xn--fiqs8s",
    ]
    .iter()
    .map(|text| HostKey::parse(text).unwrap().to_string())
    .collect();
    assert_eq!(keys.len(), 11, "{keys:?}");
}

/// Case, dots, ports, users, scripts, percent signs, compatibility characters, invisible
/// characters, white space, slashes.
const NAME_SPELLINGS: &[&str] = &[
    "http://bücher.example/",
    "https://bücher.example/",
    "http://bücher.example",
    "HTTP://BÜCHER.EXAMPLE/",
    "http://Bücher.Example/",
    "http://bÜcher.example/",
    "http://bücher.example./",
    "http://bücher.example。/",
    "http://bücher。example/",
    "http://bücher．example/",
    "http://bücher｡example/",
    "http://bücher.example:80/",
    "http://bücher.example:080/",
    "http://bücher.example:0000080/",
    "http://bücher.example:/",
    "http://bücher.example.:80/",
    "http://bücher.example:8080/",
    "https://bücher.example:443/",
    "https://bücher.example:8443/",
    "http://xn--bcher-kva.example/",
    "http://XN--BCHER-KVA.EXAMPLE/",
    "http://xn--bcher-kva.example./",
    "http://Xn--Bcher-Kva.Example:80/",
    "http://xn--bcher-kva.example:443/",
    "http://%78n--bcher-kva.example/",
    "http://xn%2d%2dbcher%2dkva%2eexample/",
    "http://b%C3%BCcher.example/",
    "http://B%C3%9Ccher.example/",
    "http://b%c3%bccher%2Eexample/",
    "http://b%C3%BCcher%2Eexample%2E/",
    "http://%62%C3%BC%63%68%65%72.example/",
    "http://bu\u{308}cher.example/",
    "http://BU\u{308}CHER.example/",
    "http://bu%CC%88cher.example/",
    "http://ｂüｃｈｅｒ.example/",
    "http://ＢÜＣＨＥＲ.ＥＸＡＭＰＬＥ/",
    "http://bücher.ｅｘａｍｐｌｅ/",
    "http://ⓑücher.example/",
    "http://𝐛ücher.example/",
    "http://bücher.𝔢𝔵𝔞𝔪𝔭𝔩𝔢/",
    "http://büch\u{ad}er.example/",
    "http://bücher\u{200b}.example/",
    "http://\u{2060}bücher.example/",
    "http://bü\u{feff}cher.example/",
    "http://bü%C2%ADcher.example/",
    "http://bücher.exam\tple/",
    "http://bü\ncher.example/",
    "http://bücher\r\n.example/",
    "  http://bücher.example/  ",
    "\u{1}http://bücher.example/\u{1f}",
    "http:bücher.example/",
    "http:/bücher.example/",
    "http:///bücher.example/",
    "http:////bücher.example/",
    "http:\\\\bücher.example\\",
    "http:/\\bücher.example/",
    "ht\ttp://bücher.example/",
    "http://user@bücher.example/",
    "http://user:secret@bücher.example/",
    "http://other.example@bücher.example/",
    "http://user@other.example:80@bücher.example/",
    "http://@bücher.example/",
    "http://:@bücher.example/",
    "http://bücher.example?query",
    "http://bücher.example#other.example",
    "http://bücher.example\\@other.example/",
    "http://bücher.example/@other.example/",
];

const ADDRESS_SPELLINGS: &[&str] = &[
    "192.0.2.1",
    "192.0.2.1.",
    "192.0.513",
    "192.513",
    "3221225985",
    "0xC0000201",
    "0xc0.0x0.0x2.0x1",
    "0XC0.0.2.1",
    "030000001001",
    "0300.0.02.01",
    "0300.0000000000.0x2.1",
    "192.0.2.0x1",
    "0xc0.0.513",
    "0300.0x201",
    "１９２.０.２.１",
    "192。0。2。1",
    "%31%39%32.0.2.1",
    "192%2e0%2e2%2e1",
    "①⑨②.0.2.1",
    "[::ffff:192.0.2.1]",
    "[::FFFF:C000:201]",
    "[0:0:0:0:0:ffff:c000:0201]",
    "[0000:0000:0000:0000:0000:FFFF:192.0.2.1]",
    "user@192.0.2.1:80",
];

const ADDRESS6_SPELLINGS: &[&str] = &[
    "[2001:db8::c000:201]",
    "[2001:DB8::C000:0201]",
    "[2001:0db8:0:0:0:0:c000:201]",
    "[2001:db8:0000::0000:c000:201]",
    "[2001:db8::192.0.2.1]",
    "[2001:db8:0:0:0:0:192.0.2.1]",
];
