//! The synthetic web: hosts with scripted moods.
//!
//! What a host answers is a function of its script, the request and the time of its arrival, so an
//! exchange is settled when its first byte leaves: a worker that dies afterwards changes nothing on
//! the server's side.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use curtsy_core::url::{CrawlUrl, Scheme};

use crate::chance::Chance;

/// One second, in microseconds.
pub const SECOND: u64 = 1_000_000;

/// A host of the synthetic web.
#[derive(Clone, Debug)]
pub struct HostModel {
    /// Its name.
    pub name: Arc<str>,
    /// Its address.
    pub ip: IpAddr,
    /// Where it listens.
    pub authorities: Vec<(Scheme, u16)>,
    /// The time of a handshake, least and most.
    pub handshake: (u64, u64),
    /// The time to think, least and most.
    pub think: (u64, u64),
    /// One way through the network, least and most.
    pub way: (u64, u64),
    /// How late it reads, at most.
    pub late: u64,
    /// How far its clock is ahead of the true time, in seconds.
    pub skew: i64,
    /// When it closes a line that nobody uses.
    pub keep_alive: u64,
    /// What it says to robots.txt, by time.
    pub robots: Vec<(u64, RobotsAnswer)>,
    /// Its moods, by time.
    pub moods: Vec<(u64, Mood)>,
    /// Pages that it has.
    pub pages: u64,
    /// Whether its pages link to each other.
    pub links: bool,
    /// Which of its pages are odd.
    pub oddity: Oddity,
    /// Makes its pages differ from other hosts'.
    pub seed: u64,
}

/// Which pages are odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// None: every page is a 200.
    None,
    /// Missing, moved, broken and truncated pages.
    Mixed,
}

/// What a host says to robots.txt.
#[derive(Clone, Debug)]
pub enum RobotsAnswer {
    /// A text, with an ETag or without.
    Text(Arc<[u8]>, Option<Arc<str>>),
    /// A status.
    Status(u16),
    /// It is elsewhere.
    Moved(Arc<str>),
    /// A text that breaks off.
    Truncated,
    /// Nothing.
    Hang,
}

/// How a host feels.
#[derive(Clone, Debug)]
pub enum Mood {
    /// Ordinary.
    Polite,
    /// Everything takes so many times as long.
    Slow(u64),
    /// 429 to everything, with this Retry-After.
    TooMany(Told),
    /// 429 to so many of a hundred.
    SomeTooMany(u64, Told),
    /// 503 to everything, with this Retry-After.
    Busy(Told),
    /// This status to everything.
    Status(u16),
    /// This status to so many of a hundred.
    Some(u64, u16),
    /// Refuses connections.
    Refuse,
    /// Closes after reading.
    Reset,
    /// Accepts connections and closes them before anything is read.
    Shut,
    /// Reads and says nothing.
    Hang,
}

/// A Retry-After.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// None.
    Nothing,
    /// Seconds.
    Seconds(u64),
    /// A date so many seconds ahead, by the host's own clock.
    Date(u64),
    /// Something that is neither.
    Junk,
}

/// An answer, in the true time.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// None if the host closes without one.
    pub status: Option<u16>,
    /// When the request was read.
    pub start: u64,
    /// When the head leaves.
    pub head: u64,
    /// When the last byte leaves.
    pub end: u64,
    /// Whether all of it is sent.
    pub complete: bool,
    /// Headers.
    pub location: Option<Arc<str>>,
    /// The Retry-After.
    pub retry_after: Option<Arc<str>>,
    /// The Date.
    pub date: Option<Arc<str>>,
    /// The Cache-Control.
    pub cache_control: Option<Arc<str>>,
    /// The ETag.
    pub etag: Option<Arc<str>>,
    /// The body.
    pub body: Arc<[u8]>,
}

/// A request, as the server sees it.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Where.
    pub url: &'a CrawlUrl,
    /// How.
    pub head_only: bool,
    /// The ETag that the client holds.
    pub if_none_match: Option<&'a str>,
}

impl HostModel {
    /// The mood at a time.
    pub fn mood(&self, at: u64) -> &Mood {
        let phase = self.moods.iter().rev().find(|(from, _)| *from <= at);
        phase.map_or(&Mood::Polite, |(_, mood)| mood)
    }

    fn robots_at(&self, at: u64) -> &RobotsAnswer {
        let phase = self.robots.iter().rev().find(|(from, _)| *from <= at);
        phase.map_or(&RobotsAnswer::Status(404), |(_, answer)| answer)
    }

    /// What the host does with a request that leaves the client at `sent`.
    pub fn answer(&self, asked: Asked<'_>, sent: u64, chance: &mut Chance) -> Answer {
        let way = chance.between(self.way.0, self.way.1);
        let start = sent + way + chance.below(self.late + 1);
        let slow = if let Mood::Slow(times) = self.mood(start) { *times } else { 1 };
        let head = start + chance.between(self.think.0, self.think.1) * slow;
        let base = Answer {
            start,
            head,
            end: head + chance.between(100, 20_000) * slow,
            complete: true,
            date: Some(self.date(start)),
            ..Answer::default()
        };
        let path = asked.url.path_and_query();
        let moody = self.moody(&base, chance);
        if let Some(answer) = moody {
            return answer;
        }
        let answer = if path == "/robots.txt" {
            self.robots_answer(asked, base)
        } else {
            self.page_answer(asked, path, base, chance)
        };
        if asked.head_only { Answer { body: Arc::default(), ..answer } } else { answer }
    }

    /// What the mood answers to everything, robots.txt included.
    fn moody(&self, base: &Answer, chance: &mut Chance) -> Option<Answer> {
        let told = |told: Told| match told {
            Told::Nothing => None,
            Told::Seconds(secs) => Some(secs.to_string().into()),
            Told::Date(secs) => Some(self.date(base.start + secs * SECOND)),
            Told::Junk => Some("soon".into()),
        };
        let status =
            |status: u16, retry_after| Answer { status: Some(status), retry_after, ..base.clone() };
        match *self.mood(base.start) {
            Mood::Polite | Mood::Slow(_) | Mood::Refuse | Mood::Shut => None,
            Mood::TooMany(after) => Some(status(429, told(after))),
            Mood::SomeTooMany(percent, after) => {
                chance.percent(percent).then(|| status(429, told(after)))
            }
            Mood::Busy(after) => Some(status(503, told(after))),
            Mood::Status(code) => Some(status(code, None)),
            Mood::Some(percent, code) => chance.percent(percent).then(|| status(code, None)),
            Mood::Reset => {
                Some(Answer { end: base.start, head: base.start, complete: false, ..base.clone() })
            }
            Mood::Hang => Some(hang(base)),
        }
    }

    fn robots_answer(&self, asked: Asked<'_>, base: Answer) -> Answer {
        match self.robots_at(base.start) {
            RobotsAnswer::Text(_, etag)
                if etag.is_some() && etag.as_deref() == asked.if_none_match =>
            {
                Answer { status: Some(304), etag: etag.clone(), ..base }
            }
            RobotsAnswer::Text(text, etag) => {
                Answer { status: Some(200), body: Arc::clone(text), etag: etag.clone(), ..base }
            }
            RobotsAnswer::Status(code) => Answer { status: Some(*code), ..base },
            RobotsAnswer::Moved(to) => {
                Answer { status: Some(302), location: Some(Arc::clone(to)), ..base }
            }
            RobotsAnswer::Truncated => {
                let text: &[u8] = b"User-agent: *\nDisallow: /";
                Answer { status: Some(200), complete: false, body: text.into(), ..base }
            }
            RobotsAnswer::Hang => hang(&base),
        }
    }

    fn page_answer(
        &self,
        asked: Asked<'_>,
        path: &str,
        base: Answer,
        chance: &mut Chance,
    ) -> Answer {
        if path == "/" {
            return Answer { status: Some(200), ..base };
        }
        let Some(number) = path.rsplit('/').next().and_then(|n| n.parse::<u64>().ok()) else {
            return Answer { status: Some(404), ..base };
        };
        let mut own = Chance::new(self.seed ^ number.wrapping_mul(0x9E37_79B9));
        let kind = if self.oddity == Oddity::None { 99 } else { own.below(100) };
        let missing = [404, 404, 410, 401, 403, 451];
        match kind {
            0..=3 => Answer { status: Some(*own.pick(&missing)), ..base },
            4..=6 => {
                let to = format!("/p/{}", own.below(self.pages));
                Answer { status: Some(302), location: Some(to.into()), ..base }
            }
            7 if asked.url.scheme() == Scheme::Http => {
                let to = format!("https://{}/p/{number}", self.name);
                Answer { status: Some(301), location: Some(to.into()), ..base }
            }
            8 => Answer { status: Some(500), ..base },
            9 => Answer { status: Some(200), complete: false, ..base },
            // Broken for a while, then well.
            10 | 11 if chance.percent(50) => {
                Answer { status: Some(*own.pick(&[500, 503, 408, 502])), ..base }
            }
            12 => Answer { end: base.head + own.between(1, 8) * SECOND, status: Some(200), ..base },
            _ => self.good_page(asked, number, &mut own, base),
        }
    }

    fn good_page(&self, asked: Asked<'_>, number: u64, own: &mut Chance, base: Answer) -> Answer {
        let etag: Option<Arc<str>> =
            own.percent(40).then(|| format!("\"{:x}-{number}\"", self.seed).into());
        let cache_control: Option<Arc<str>> = match own.below(5) {
            0 => Some("max-age=60".into()),
            1 => Some("no-cache".into()),
            2 => Some("max-age=3600".into()),
            _ => None,
        };
        if etag.is_some() && etag.as_deref() == asked.if_none_match {
            return Answer { status: Some(304), etag, cache_control, ..base };
        }
        let mut body = String::new();
        if self.links {
            for _ in 0..4 {
                let to = own.below(self.pages);
                body.push_str(&format!("{}://{}/p/{to}\n", asked.url.scheme(), self.name));
            }
        }
        let body: Arc<[u8]> = body.into_bytes().into();
        Answer { status: Some(200), etag, cache_control, body, ..base }
    }

    /// A time as an HTTP-date of the host's own clock.
    fn date(&self, at: u64) -> Arc<str> {
        let secs = (at / SECOND).saturating_add_signed(self.skew);
        httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(secs)).into()
    }
}

/// Servers give up as well: nothing hangs for longer than a lease.
fn hang(base: &Answer) -> Answer {
    let until = base.start + 29 * SECOND;
    Answer { status: None, head: until, end: until, complete: false, ..base.clone() }
}

/// The address of the `n`-th server.
pub fn address(n: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(127, 0, (n / 250) as u8, (n % 250 + 1) as u8))
}
