//! Why a URL has no page, in words: the column `reason`, and the groups of a crawl's report.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use curtsy_core::evidence::SLOT_TIMEOUT_TEXT;
use curtsy_core::host::{
    BudgetReason, Class, Findings, Friction, Gate, Outcome, Problem, Reason, RiskReason,
    RobotsReason, SlotsReason,
};
use curtsy_core::url::HostKey;
use curtsy_engine::{Ending, Page, Row};

/// The words for a host with a certificate of an unknown authority.
pub const UNKNOWN_ISSUER: &str = "TLS certificate of an unknown issuer";

/// The words for an address that the guard refuses.
pub const PRIVATE_ADDRESS: &str = "private address";

/// Why a URL has no page: common words for all URLs with the same cause, and the details of this
/// URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The cause, such as `not found (404)`.
    pub what: Cow<'static, str>,
    /// Details of this URL, such as the line of robots.txt.
    pub detail: Option<String>,
    /// Whether the cause is the host rather than the URL: a report then names the host.
    pub by_host: bool,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        match &self.detail {
            Some(detail) => write!(f, ": {detail}"),
            None => Ok(()),
        }
    }
}

impl Cause {
    fn plain(what: impl Into<Cow<'static, str>>) -> Cause {
        Cause { what: what.into(), detail: None, by_host: false }
    }

    /// Returns why a row has no page; none if it has one. `body_max` is the policy's limit on
    /// bodies.
    pub fn of_row(row: &Row, body_max: Option<u64>) -> Option<Cause> {
        match &row.ending {
            Ending::Cached => None,
            Ending::Fetched(outcome) | Ending::Dead(outcome) => {
                Cause::of_outcome(outcome, row.final_url.host(), row.page.as_deref(), body_max)
            }
            Ending::Refused(gate) => Some(refused(*gate, &row.findings)),
            Ending::LostRedirect => {
                Some(Cause::plain("redirects that lead nowhere, or are too many"))
            }
            Ending::LoginWall(_) => {
                let own = row.page.as_ref().is_some_and(|page| page.head.own);
                Some(Cause::plain(match own {
                    true => "behind a login that the policy's credentials do not open",
                    false => "behind a login",
                }))
            }
            Ending::Unheard => Some(Cause::plain("no answer before the crawl was killed")),
        }
    }

    /// Returns why a request brought no page; none if it did.
    pub fn of_outcome(
        outcome: &Outcome,
        host: &HostKey,
        page: Option<&Page>,
        body_max: Option<u64>,
    ) -> Option<Cause> {
        match *outcome {
            Outcome::Answered { status, friction: Some(Friction::Challenge), .. } => {
                Some(Cause::plain(format!("bot wall ({status})")))
            }
            Outcome::Answered { status, .. } => answered(status),
            Outcome::NotSent => Some(Cause::plain("not sent")),
            Outcome::Failed(problem) => Some(failed(problem, host, page, body_max)),
        }
    }
}

/// Returns the cause for a status without a page.
fn answered(status: u16) -> Option<Cause> {
    let what = match status {
        200..=299 | 304 => return None,
        300..=399 => "redirect without a target",
        401 => "behind a login",
        402 => "payment needed",
        403 => "forbidden",
        404 => "not found",
        408 => "timed out at the server",
        410 => "gone",
        429 => "too many requests",
        451 => "withheld for legal reasons",
        400..=499 => "refused by the site",
        502 => "bad gateway",
        503 => "service unavailable",
        504 => "gateway timed out",
        // No other edge uses these numbers.
        520..=527 | 530 => "Cloudflare got no page from the site",
        500..=599 => "server error",
        _ => "unexpected answer",
    };
    Some(Cause::plain(format!("{what} ({status})")))
}

fn failed(problem: Problem, host: &HostKey, page: Option<&Page>, body_max: Option<u64>) -> Cause {
    let what = match problem {
        Problem::Dns => "name not resolved",
        Problem::Connect => "connection refused or unreachable",
        Problem::Reset => "connection reset",
        Problem::ConnectTimeout => "connecting timed out",
        Problem::Tls => "TLS handshake failed",
        Problem::TlsExpired => "TLS certificate expired or not valid yet",
        Problem::TlsName => "TLS certificate of another name",
        Problem::TlsIssuer => UNKNOWN_ISSUER,
        Problem::TlsAbsent => "no TLS spoken there",
        Problem::FirstByteTimeout => "timed out: no answer",
        Problem::WholeTimeout => "timed out: answer not complete",
        Problem::Malformed => "answer is not HTTP",
        Problem::Truncated => "answer cut short",
        Problem::TooSlow => "answer too slow",
        // A body that is too large has a head.
        Problem::OverLimit(_) if page.is_some() => {
            return Cause::plain(match body_max {
                Some(bytes) => format!("larger than {}", size(bytes)),
                None => "larger than the policy allows".to_owned(),
            });
        }
        Problem::OverLimit(_) => "over a limit (headers, encoding, or size)",
        Problem::ContentType => {
            let head = page.and_then(|page| page.head.content_type.as_deref());
            let kind = head.and_then(|kind| kind.split(';').next()).map(str::trim);
            let kind: Option<String> = kind.map(|kind| kind.chars().take(KIND_MAX).collect());
            return Cause { what: "content type not wanted".into(), detail: kind, by_host: false };
        }
        Problem::Guard => {
            let net = host.ip().and_then(allow_net);
            let detail = net.map(|net| format!("`--allow-net {net}` allows it"));
            return Cause { what: PRIVATE_ADDRESS.into(), detail, by_host: true };
        }
        Problem::Coding => "body in an encoding that can't be read",
        Problem::Port => "a port on which something else than HTTP is spoken",
        Problem::Proxy => "the proxy could not be reached",
        Problem::ProxyRefused => "the proxy answered that it can't reach this site, or refuses it",
        Problem::ProxyLogin => "the proxy wants a user and a password",
        Problem::OwnLogin => "the policy's credentials for this host were refused",
    };
    let by_host = problem.class() == Class::SiteWide;
    Cause { by_host, ..Cause::plain(what) }
}

fn refused(gate: Gate, findings: &Findings) -> Cause {
    let detailed =
        |what: &'static str, detail| Cause { detail: Some(detail), ..Cause::plain(what) };
    match findings.of(gate).reason {
        Reason::Robots(RobotsReason::Forbids { line: Some(line), .. }) => {
            detailed("refused by robots.txt", format!("line {line}"))
        }
        Reason::Robots(RobotsReason::Forbids { .. }) => Cause::plain("refused by robots.txt"),
        Reason::Robots(RobotsReason::Refused) => Cause::plain("the site refuses its robots.txt"),
        Reason::Robots(RobotsReason::AuthorityLimit) => Cause::plain("too many ports of one host"),
        Reason::Budget(BudgetReason::PageLimit { pages }) => {
            Cause::plain(format!("over the page limit ({pages})"))
        }
        Reason::Budget(BudgetReason::TimeLimit) => Cause::plain("over the time limit"),
        Reason::Trap(reason) => detailed("left out as a trap", reason.words()),
        Reason::Risk(RiskReason::Score { score }) => {
            detailed("risk of the host too high", format!("score {score} of 100"))
        }
        Reason::Risk(RiskReason::EarlyStop { streak }) => {
            detailed("stopped early", format!("{streak} friction signals in a row"))
        }
        Reason::Slots(SlotsReason::Timeout) => Cause::plain(SLOT_TIMEOUT_TEXT),
        _ => Cause::plain(format!("refused by the {} gate", gate.name())),
    }
}

/// Returns the private network of an address, as `--allow-net` takes it; none for a public address.
fn allow_net(address: IpAddr) -> Option<String> {
    let v4 = [
        ([10, 0, 0, 0], 8),
        ([100, 64, 0, 0], 10),
        ([127, 0, 0, 0], 8),
        ([169, 254, 0, 0], 16),
        ([172, 16, 0, 0], 12),
        ([192, 168, 0, 0], 16),
    ];
    match address.to_canonical() {
        IpAddr::V4(address) => v4
            .into_iter()
            .map(|(net, bits)| (Ipv4Addr::from(net), bits))
            .find(|(net, bits)| (u32::from(address) ^ u32::from(*net)) >> (32 - bits) == 0)
            .map(|(net, bits)| format!("{net}/{bits}")),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Some("::1/128".to_owned()),
        IpAddr::V6(address) if address.is_unique_local() => Some("fc00::/7".to_owned()),
        IpAddr::V6(address) if address.is_unicast_link_local() => Some("fe80::/10".to_owned()),
        IpAddr::V6(_) => None,
    }
}

/// Returns a number of bytes as the policy writes it: `10 MiB`, `1.5 KiB`.
fn size(bytes: u64) -> String {
    let (unit, name) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => (1024.0, "KiB"),
        1_048_576..1_073_741_824 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    };
    let number = format!("{:.1}", bytes as f64 / unit);
    format!("{} {name}", number.trim_end_matches(".0"))
}

/// The longest content type in a reason, in characters.
const KIND_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_address_names_the_network_that_allows_it() {
        let net = |text: &str| allow_net(text.parse().unwrap());
        for (address, expected) in [
            ("10.1.2.3", Some("10.0.0.0/8")),
            ("172.31.0.1", Some("172.16.0.0/12")),
            ("172.32.0.1", None),
            ("192.168.7.7", Some("192.168.0.0/16")),
            ("127.0.0.1", Some("127.0.0.0/8")),
            ("::ffff:127.0.0.1", Some("127.0.0.0/8")),
            ("::1", Some("::1/128")),
            ("fd00::1", Some("fc00::/7")),
            ("8.8.8.8", None),
        ] {
            assert_eq!(net(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn limits_are_written_as_people_write_them() {
        for (bytes, expected) in
            [(500, "500 B"), (1536, "1.5 KiB"), (10 << 20, "10 MiB"), (4 << 30, "4 GiB")]
        {
            assert_eq!(size(bytes), expected);
        }
    }
}
