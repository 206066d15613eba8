//! Bot walls, and requests to wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::super::case::Expectation::{Error, Page, Wait, Wall};
use super::super::case::ZooCase;
use super::super::http::{answer, html, page, redirect};
use super::super::script::ZooScript;

pub(super) fn cases() -> Vec<ZooCase> {
    [walls(), waits()].concat()
}

/// Walls.
fn walls() -> Vec<ZooCase> {
    let case = |name, does| ZooCase::new(name, does, Wall);
    vec![
        case("wall-cloudflare", "A challenge of Cloudflare's with status 200").home(|_| {
            answer(
                "200 OK",
                "Content-Type: text/html\r\nServer: cloudflare\r\ncf-mitigated: challenge\r\n",
                "<!DOCTYPE html><title>Just a moment...</title><script>window._cf_chl_opt={}</script><div id=challenge-form>",
            )
        }),
        case("wall-cloudflare-403", "A challenge of Cloudflare's with status 403").home(|_| {
            answer(
                "403 Forbidden",
                "Content-Type: text/html\r\nServer: cloudflare\r\ncf-mitigated: challenge\r\n",
                "<!DOCTYPE html><title>Just a moment...</title><script src='/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1'></script>",
            )
        }),
        case("wall-anubis", "A proof of work by Anubis with status 200").home(|_| {
            html("<!doctype html><html><head><title>Making sure you&#39;re not a bot!</title><link rel=stylesheet href=/.within.website/x/xess/xess.css><script id=anubis_challenge type=application/json>{\"rules\":{\"algorithm\":\"fast\"}}</script></head><body><div id=status>Loading...</div><script type=module src=/.within.website/x/cmd/anubis/static/js/main.mjs></script></body></html>")
        }),
        case("wall-datadome", "A captcha by DataDome with status 403").home(|_| {
            answer(
                "403 Forbidden",
                "Content-Type: text/html\r\nServer: DataDome\r\nX-DataDome: protected\r\n",
                "<html><head><title>example.org</title></head><body><script>var dd={'rt':'c','cid':'x','host':'geo.captcha-delivery.com'}</script><script src='https://ct.captcha-delivery.com/c.js'></script></body></html>",
            )
        }),
        ZooCase::new("wall-quoted", "An article about walls that quotes one", Page(200)).home(|_| {
            html(format!(
                "<title>How walls work</title><pre>&lt;title&gt;Just a moment...&lt;/title&gt; cf-mitigated: challenge</pre><p>{}",
                "An article about bot walls, with many words of its own. ".repeat(60)
            ))
        }),
        ZooCase::new("forbidden", "403 with a plain page", Page(403))
            .home(|_| answer("403 Forbidden", "Content-Type: text/html\r\n", page("No")))
            .because("an answer, friction of 20, and with `backoff.forbidden = \"back-off\"` a wait"),
    ]
}

/// Waits. What can't be read is the policy's own wait: 15 minutes, by default.
fn waits() -> Vec<ZooCase> {
    let case = |name, does, status, seconds| {
        ZooCase::new(name, does, Wait(status, Duration::from_secs(seconds)))
    };
    let says = |name, does, seconds, headers: &'static str| {
        case(name, does, 429, seconds).home(move |_| answer("429 Too Many", headers, "slow down"))
    };
    vec![
        says("wait-seconds", "429 with `Retry-After: 3600`", 3_600, "Retry-After: 3600\r\n"),
        case("wait-date", "429 with a date in an hour", 429, 3_500)
            .home(|_| answer("429 Too Many", &format!("Retry-After: {}\r\n", date(3_600)), "")),
        case("wait-date-skewed", "429 with a date in an hour, by a clock that is a day late", 429, 3_500).home(|_| {
            let headers = format!("Date: {}\r\nRetry-After: {}\r\n", date(-86_400), date(3_600 - 86_400));
            answer("429 Too Many", &headers, "")
        }),
        says("wait-past", "429 with a date that is past", 900, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n"),
        says("wait-zero", "429 with `Retry-After: 0`", 900, "Retry-After: 0\r\n"),
        says("wait-year", "429 with `Retry-After: 31536000`, which is a year", 31_536_000, "Retry-After: 31536000\r\n"),
        says("wait-huge", "429 with a number that no clock has room for", 31_536_000, "Retry-After: 99999999999999999999999\r\n"),
        says("wait-junk", "429 with `Retry-After: soon`", 900, "Retry-After: soon\r\n"),
        says("wait-negative", "429 with `Retry-After: -5`", 900, "Retry-After: -5\r\n"),
        says("wait-fraction", "429 with `Retry-After: 1.5`", 900, "Retry-After: 1.5\r\n"),
        says("wait-two", "429 with two waits", 7_200, "Retry-After: 60\r\nRetry-After: 7200\r\n"),
        says("wait-none", "429 without a Retry-After", 900, ""),
        case("wait-503", "503 with `Retry-After: 3600`", 503, 3_600)
            .home(|_| answer("503 Busy", "Retry-After: 3600\r\n", "")),
        case("wait-broken-body", "429 with a body that never ends", 429, 3_600).home(|_| {
            ZooScript::say("HTTP/1.1 429 Too Many\r\nRetry-After: 3600\r\n\r\n").endless("slow down ".repeat(1_000))
        }),
        case("wait-cut", "429 with a body that is cut", 429, 3_600).home(|_| {
            ZooScript::say("HTTP/1.1 429 Too Many\r\nRetry-After: 3600\r\nContent-Length: 100\r\n\r\nslow").broken().close()
        }),
        case("wait-silent-body", "429 with a body that never comes", 429, 3_600)
            .home(|_| {
                ZooScript::say("HTTP/1.1 429 Too Many\r\nRetry-After: 3600\r\nContent-Length: 100\r\n\r\n").silence()
            })
            .by(super::super::case::Deadline::Speed),
        case("wait-redirect", "A redirect to a page that says 429", 429, 3_600)
            .requests(5)
            .home(|_| redirect("302 Found", "/busy"))
            .at("/busy", |_| answer("429 Too Many", "Retry-After: 3600\r\n", "")),
        ZooCase::new("wait-and-late-page",
            "A page that comes a second late, and a 429 for the page that is requested meanwhile",
            Page(200),
        )
        .requests(6)
        .home(|_| html("<title>Links</title><a href=/slow>slow</a><a href=/busy>busy</a><a href=/after>after</a><p>some text"))
        .at("/slow", |_| html(page("Late")).after(Duration::from_secs(1)))
        .at("/busy", |_| answer("429 Too Many", "Retry-After: 3600\r\n", ""))
        .at("/after", |_| html(page("Too early")))
        .because("with two slots the late page must not lift the wait"),
        ZooCase::new("error-500", "500", Error("500"))
            .home(|_| answer("500 Oops", "Content-Type: text/html\r\n", page("Oops"))),
        ZooCase::new("error-503", "503 without a Retry-After", Error("503"))
            .home(|_| answer("503 Busy", "Content-Type: text/html\r\n", page("Busy"))),
    ]
}

/// A date so many seconds from now.
fn date(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64;
    let at = u64::try_from(now + seconds).unwrap_or_default();
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at))
}
