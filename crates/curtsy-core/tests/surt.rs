//! SURT keys, one test per rule. Expected values were compared with the Python package `surt`
//! 0.3.1.

use curtsy_core::url::{CrawlUrl, SurtError, SurtOptions, surt};

/// Each line is a text and its key.
fn check(options: &SurtOptions, table: &str) {
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (url, key) = line.rsplit_once(" => ").expect("`text => key`");
        assert_eq!(surt(url, options).as_deref(), Ok(key), "{url:?} with {options:?}");
    }
}

fn check_default(table: &str) {
    check(&SurtOptions::default(), table);
}

#[test]
fn the_host_is_turned_round() {
    check_default(
        "http://a.b.example/ => example,b,a)/
         HTTP://Site.EXAMPLE/ => example,site)/
         http://user:secret@site.example/ => example,site)/
         http://..site...example../ => example,,site)/
         http://site..example/ => example,site)/
         http://site%2eexample/ => example,site)/
         http://a,b.example/ => example,a,b)/
         http://[::1]:81/ => ::1:81)/",
    );
}

#[test]
fn www_and_a_number_go_once() {
    check_default(
        "http://www.site.example/ => example,site)/
         http://www12.site.example/ => example,site)/
         http://www.www.site.example/ => example,site,www)/
         http://www2x.site.example/ => example,site,www2x)/
         http://www/ => www)/
         ftp://www.site.example/ => example,site)/
         dns://www.site.example/ => example,site,www)/",
    );
    check(
        &SurtOptions { host_massage: false, ..Default::default() },
        "http://www.site.example/ => example,site,www)/",
    );
}

#[test]
fn the_schemes_own_port_goes() {
    check_default(
        "http://h:80/ => h)/
         https://h:443/ => h)/
         http://h:443/ => h:443)/
         https://h:80/ => h:80)/
         HTTP://h:0080/ => h)/
         ftp://h:21/ => h:21)/
         http://h:/ => h)/
         http://h:0/ => h)/",
    );
    for url in ["http://h:65536/", "http://h:+1/", "http://h:x/", "http://h:8%30/"] {
        assert_eq!(surt(url, &SurtOptions::default()), Err(SurtError::Port), "{url}");
    }
}

#[test]
fn names_of_other_scripts_are_punycode() {
    check_default(
        "http://bücher.example/ => example,xn--bcher-kva)/
         http://B%C3%9CCHER.example/ => example,xn--bcher-kva)/
         http://faß.example/ => example,fass)/
         http://日本語。jp/ => jp,xn--wgv71a119e)/
         http://☃.example/ => example,xn--n3h)/
         http://é..example/ => example,%c3%a9)/
         http://%E9.example/ => example,%e9)/
         http://a%E9.example/ => example,a)/
         http://XN--BCHER-KVA.example/ => example,xn--bcher-kva)/",
    );
}

#[test]
fn addresses_are_written_in_four_groups() {
    check_default(
        "http://192.0.2.1/ => 1,2,0,192)/
         http://0300.0.02.1/ => 1,2,0,192)/
         http://192.513/ => 1,2,0,192)/
         http://192.0.513/ => 1,2,0,192)/
         http://3221225985/ => 1,2,0,192)/
         http://7516193281/ => 1,2,0,192)/
         http://010/ => 10,0,0,0)/
         http://192.0.2.256/ => 256,2,0,192)/
         http://192.0.2.08/ => 08,2,0,192)/
         http://0xc0.0.2.1/ => 1,2,0,0xc0)/
         http://1.2.3.4.5/ => 5,4,3,2,1)/
         http://www.127.1/ => 1,127)/",
    );
    check(
        &SurtOptions { reverse_ipaddr: false, ..Default::default() },
        "http://127.1:81/ => 127.0.0.1:81)/
         http://256.1.1.1/ => 256.1.1.1)/
         http://1.2.3.4567/ => 4567,3,2,1)/
         http://a.example/ => example,a)/",
    );
}

#[test]
fn paths_lose_dots_doubled_slashes_case_and_the_last_slash() {
    check_default(
        "http://h => h)/
         http://h/Dir/ => h)/dir
         http://h/a/./b/../c => h)/a/c
         http://h/a//b => h)/a/b
         http://h/a//../b => h)/a/b
         http://h/.. => h)/..
         http://h/../.. => h)/
         http://h/../a => h)/../a
         http://h/%2e%2E/a => h)/../a
         http://h/a#b => h)/a",
    );
}

#[test]
fn escapes_are_undone_to_the_end_and_done_once() {
    check_default(
        "http://h/%41 => h)/a
         http://h/%252541 => h)/a
         http://h/%%34%31 => h)/a
         http://h/% => h)/%25
         http://h/%zz => h)/%25zz
         http://h/a%2Fb%3Fc%23d => h)/a/b?c%23d
         http://h/É => h)/%c3%89
         http://h/%e9 => h)/%e9
         http://h/a b%00 => h)/a%20b%00
         http://h/?%26&a => h)/?&&a",
    );
}

#[test]
fn parameters_stand_in_order() {
    check_default(
        "http://h/? => h)/
         http://h?q => h)/?q
         http://h/?b&a => h)/?a&b
         http://h/?Z=1&a=2 => h)/?a=2&z=1
         http://h/?a=1&a&a= => h)/?a&a=&a=1
         http://h/?a-b&a=b => h)/?a=b&a-b
         http://h/?a& => h)/?&a",
    );
    check(
        &SurtOptions { query_lowercase: false, ..Default::default() },
        "http://h/A?B=%c3%89&a => h)/a?B=%C3%89&a",
    );
}

#[test]
fn session_ids_go() {
    check_default(
        "http://h/p?jsessionid=0123456789abcdefghijklmnopqrstuv&x => h)/p?x
         http://h/p?PHPSESSID=0123456789ABCDEFGHIJKLMNOPQRSTUV => h)/p
         http://h/p?x&sid=0123456789abcdefghijklmnopqrstuv => h)/p?&x
         http://h/p?xsid=0123456789abcdefghijklmnopqrstuv => h)/p?x
         http://h/p?sid=0123456789abcdefghijklmnopqrstuv0 => h)/p?sid=0123456789abcdefghijklmnopqrstuv0
         http://h/p?ASPSESSIONIDabcdefgh=abcdefghijklmnopqrstuvwx&x => h)/p?x
         http://h/p?ASPSESSIONIDabcdefg1=abcdefghijklmnopqrstuvwx => h)/p?aspsessionidabcdefg1=abcdefghijklmnopqrstuvwx
         http://h/p?a&CFID=1&CFTOKEN=2&x => h)/p?a&x
         http://h/p?CFID=1&x&CFTOKEN=2 => h)/p?cfid=1&cftoken=2&x
         http://h/p?cfid=1&cftoken=2&cfid=3&cftoken=4 => h)/p?&cfid=1&cftoken=2
         http://h/d/(S(0123456789abcdefghijklmn))/p.aspx => h)/d/p.aspx
         http://h/d/(0123456789abcdefghijklmn)/p.aspx => h)/d/p.aspx
         http://h/d/(A(0123456789abcdefghijklmn)F(0123456789abcdefghijklmn))/p.ASPX => h)/d/p.aspx
         http://h/d/(S(0123456789abcdefghijklmn))/p.html => h)/d/(s(0123456789abcdefghijklmn))/p.html
         http://h/d/(0123456789abcdefghijklm)/p.aspx => h)/d/(0123456789abcdefghijklm)/p.aspx
         http://h/p;jsessionid=0123456789abcdefghijklmnopqrstuv => h)/p;jsessionid=0123456789abcdefghijklmnopqrstuv",
    );
}

#[test]
fn other_schemes_and_half_urls() {
    check_default(
        "site.example/A => example,site)/a
         //site.example/a => example,site)/a
         http:/site.example/a => example,site)/a
         http:///site.example => example,site)/
         http://https://site.example/ => example,site)/
         mailto:Kim@site.example => mailto:kim@site.example
         foo:/a/../b/ => foo:/a/../b
         foo:?x => foo:/?x
         http:/// => http:/
         filedesc:Foo-1.arc.gz => filedesc:Foo-1.arc.gz",
    );
    assert_eq!(surt("", &SurtOptions::default()).as_deref(), Ok("-"));
    assert_eq!(surt(" \t\n\u{b}", &SurtOptions::default()), Err(SurtError::Blank));
    assert_eq!(
        surt("\t http://h/a\nb\u{c} ", &SurtOptions::default()).as_deref(),
        Ok("h)/ab"),
        "white space goes"
    );
    assert_eq!(surt(&"a".repeat(70_000), &SurtOptions::default()), Err(SurtError::TooLong));
}

#[test]
fn a_key_can_carry_scheme_and_comma() {
    check(
        &SurtOptions { with_scheme: true, trailing_comma: true, ..Default::default() },
        "https://www.site.example:8443/ => https://(example,site:8443,)/
         dns://site.example/ => dns:(example,site,)/
         mailto:kim@site.example => mailto:kim@site.example",
    );
}

#[test]
fn a_crawl_url_gives_its_key() {
    let url = CrawlUrl::parse("http://WWW.example.org:8080/b/?Z&a#x").unwrap();
    assert_eq!(url.surt(), "org,example:8080)/b?a&z");
}

#[test]
fn a_key_costs_time_in_proportion() {
    // Thousands of candidates for each of the quadratic traps, at the longest text that is taken.
    let fill = |unit: &str| unit.repeat(60_000 / unit.len());
    for url in [
        format!("http://h/p?{}", fill("cfid=")),
        format!("http://h/p?{}", fill("sid=")),
        format!("http://h/{}%4", fill("%25")),
        format!("http://h/{}", fill("(0123456789abcdefghijklmn)/")),
        format!("http://h/{}", fill("a/../")),
    ] {
        surt(&url, &SurtOptions::default()).unwrap();
    }
}
