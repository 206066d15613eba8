//! Bot walls: header names have no case, and only the beginning of a body counts.

use curtsy_parse::challenge::wall;
use curtsy_parse::content_type::BodyKind;

use crate::{FuzzTarget, choice, first_line, latin};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "challenge",
    run,
    seeds: SEEDS,
    dictionary: include_str!("../../dictionaries/challenge.dict"),
};

/// The first byte is the status. Lines of headers follow, then an empty line and the body.
fn run(data: &[u8]) {
    let (status, mut rest) = choice(data);
    let status = STATUSES[status % STATUSES.len()];
    let mut headers = Vec::new();
    loop {
        let (line, after) = first_line(rest);
        rest = after;
        if line.is_empty() {
            break;
        }
        let line = latin(line);
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let lower = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let found = wall(status, lower, rest);
    let loud: Vec<(String, &str)> =
        headers.iter().map(|(name, value)| (name.to_ascii_uppercase(), value.as_str())).collect();
    let loud = loud.iter().map(|(name, value)| (name.as_str(), *value));
    assert_eq!(wall(status, loud, rest), found, "names have no case");
    // A long body is slow, so it is tested only sometimes.
    if status == 403 && data.len() % 256 == 64 {
        let mut long = rest.to_vec();
        long.resize(rest.len().max(64 * 1024), b' ');
        let headers = || headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let before = wall(status, headers(), &long);
        long.extend_from_slice(b"<script>window._cf_chl_opt={}</script>");
        assert_eq!(wall(status, headers(), &long), before, "only the beginning counts");
    }
    let value = headers.first().map(|(_, value)| value.as_str());
    let _ = BodyKind::of(value, rest);
}

const STATUSES: &[u16] = &[403, 200, 429, 503, 202, 405, 307, 520, 0, 65_535];

const SEEDS: &[&[u8]] = &[
    b"\x00Server: cloudflare\nCF-Mitigated: challenge\n\n<title>Just a moment...</title><script>window._cf_chl_opt={cType:'managed'}</script>",
    b"\x01Set-Cookie: datadome=x\nX-DataDome: protected\n\n<script>var dd={'rt':'c','cid':'x','host':'geo.captcha-delivery.com'}</script>",
    b"\x02X-Iinfo: 1\n\n<iframe src='/_Incapsula_Resource?x'></iframe>Request unsuccessful",
    b"\x03Server: AkamaiGHost\n\n<H1>Access Denied</H1>Reference&#32;&#35;18.abc",
    b"\x05x-amzn-waf-action: captcha\n\n<script src=https://x.awswaf.com/challenge.js></script>",
    b"\x00\n<title>Attention Required! | Cloudflare</title><p>error code: 1020",
];
