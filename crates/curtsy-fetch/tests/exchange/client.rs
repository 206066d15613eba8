//! A client with real permits: the engine's steps around a line, in short.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, Ask, AskKind, HostState, JobView, LeaseId, Problem, Reserved, RobotsNews,
    Scene,
};
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::robots::RobotsClass;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::memory::{Control, Options};
use curtsy_engine::{
    Commit, Connected, Fetch, Grant, Head, Line, Mono, Permit, Reading, Request, Sent, Store,
};
use curtsy_fetch::{FetchSettings, HttpFetch, HttpLine, Outlet, SpeedFloor, TokioClock};
use futures_util::FutureExt;

/// A worker's way to the web, and its clock.
pub(crate) struct Client {
    pub(crate) fetch: HttpFetch,
    pub(crate) clock: TokioClock,
}

/// Settings for loopback, with short timeouts.
pub(crate) fn settings() -> FetchSettings {
    let mut policy = Policy::preset(Preset::Careful);
    policy.identity.contact = Some("me@example.org".to_owned());
    let mut settings = FetchSettings::of(&policy);
    settings.allow_net = vec!["127.0.0.0/8".parse().unwrap()];
    settings.timeouts.connect = Duration::from_secs(2);
    settings.timeouts.tls = Duration::from_secs(2);
    settings.timeouts.first_byte = Duration::from_millis(1_500);
    settings.timeouts.whole = Duration::from_secs(6);
    settings.floor = SpeedFloor { bytes: 1024, window: Duration::from_millis(700) };
    settings
}

impl Client {
    pub(crate) fn new() -> Client {
        Client::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut FetchSettings)) -> Client {
        let mut settings = settings();
        change(&mut settings);
        Client::of(&Outlet::new(&settings).unwrap())
    }

    pub(crate) fn of(outlet: &Outlet) -> Client {
        let clock = TokioClock::new();
        Client { fetch: HttpFetch::new(outlet, clock), clock }
    }

    /// Fetches a URL and returns the result.
    pub(crate) async fn get(&self, url: &str) -> Got {
        self.ask(approach(url), &request()).await
    }

    /// Returns an idle line, or a new one.
    pub(crate) async fn line(
        &self,
        approach: &Approach,
        turn: Mono,
    ) -> Result<Connected<HttpLine>, Problem> {
        match self.fetch.standing(approach, turn) {
            Some(line) => Ok(Connected { line, took: Duration::ZERO }),
            None => {
                let route = self.fetch.route(approach).await?;
                self.fetch.connect(approach, route).await
            }
        }
    }

    pub(crate) async fn ask(
        &self,
        (approach, booked): (Approach, Reserved),
        request: &Request,
    ) -> Got {
        let mut line = match self.line(&approach, Mono(0)).await {
            Ok(Connected { line, .. }) => line,
            Err(problem) => return Got::said(format!("no line: {problem:?}")),
        };
        self.send(&mut line, booked, request).await
    }

    pub(crate) async fn send(
        &self,
        line: &mut HttpLine,
        booked: Reserved,
        request: &Request,
    ) -> Got {
        let written = Cell::new(None);
        let permit = self.permit(booked, Duration::from_secs(1));
        let until = permit.until();
        match line.send(permit, request, &written).await {
            Sent::NotSent | Sent::Gone => {
                assert_eq!(written.get(), None);
                Got::said("not sent".to_owned())
            }
            Sent::Failed { sent, problem } => {
                assert_eq!(written.get(), Some(sent));
                Got::said(format!("sent, {}", told(problem)))
            }
            Sent::Answered { sent, first_byte, head } => {
                assert_eq!(written.get(), Some(sent));
                assert!(sent <= until && sent <= first_byte);
                let status = head.status;
                match line.body().await {
                    Reading::Whole(fetched) => {
                        let shown = match fetched.body.len() {
                            0..100 => String::from_utf8_lossy(&fetched.body).into_owned(),
                            long => format!("{long} bytes"),
                        };
                        Got { said: format!("{status} {shown}"), head: Arc::unwrap_or_clone(head) }
                    }
                    Reading::Failed(problem) => Got {
                        said: format!("{status}, {}", told(problem)),
                        head: Arc::unwrap_or_clone(head),
                    },
                }
            }
        }
    }

    /// Opens the permit of a booking: its state is committed to a store in memory, whose time is
    /// `span` before the last moment of the lease.
    pub(crate) fn permit(&self, booked: Reserved, span: Duration) -> Permit {
        let turn = booked.permit.turn();
        let (host, lease) = (turn.approach().url.host().clone(), turn.lease().id);
        let now = turn.send_by().back(span);
        let store = Control::new(Options::default(), move || now.micros()).handle(self.clock);
        let view = store.load(&host).now_or_never().expect("memory never waits").unwrap();
        let commit = Commit {
            host,
            version: view.version,
            epoch: view.epoch.id,
            state: Some(Arc::new(booked.state)),
            not_before: now,
            grant: Some(Grant { lease, url: None, charge: None, address: None }),
            release: None,
            robots: Vec::new(),
            urls: Vec::new(),
            exchanged: None,
        };
        let reply = curtsy_engine::commit(&store, &self.clock, &commit).now_or_never();
        let receipt = reply.expect("memory never waits").unwrap().receipt.expect("it is written");
        Permit::open(booked.permit, receipt).expect("the receipt of this lease")
    }
}

/// Returns the problem, and for a limit on size which limit it was.
fn told(problem: Problem) -> String {
    match problem {
        Problem::OverLimit(hit) => format!("over {}", hit.name()),
        problem => format!("{problem:?}"),
    }
}

/// The result of a request in a few words, and its parts.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) said: String,
    pub(crate) head: Head,
}

impl Got {
    fn said(said: String) -> Got {
        Got { said, head: Head::default() }
    }
}

/// Runs a test's future as a worker runs: on one thread.
pub(crate) fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Sends one request to a site and compares the result.
#[track_caller]
pub(crate) fn check(site: &super::site::Site, expected: &str) {
    let got = run(async { Client::new().get(&site.url("/")).await });
    assert_eq!(got.said, expected);
}

pub(crate) fn request() -> Request {
    Request {
        method: "GET",
        user_agent: "curtsy/0.1 (+me@example.org)".to_owned(),
        ..Request::default()
    }
}

/// Returns the approach and the booking of a page from core.
pub(crate) fn approach(url: &str) -> (Approach, Reserved) {
    booked(url, true)
}

/// Returns the same for the robots.txt of a URL's authority.
pub(crate) fn robots(url: &str) -> (Approach, Reserved) {
    booked(url, false)
}

fn booked(url: &str, robots_known: bool) -> (Approach, Reserved) {
    let url = CrawlUrl::parse(url).unwrap();
    let now = Time::from_secs(1_704_067_200);
    let policy = Policy::preset(Preset::Careful);
    let mut state = HostState::default();
    if robots_known {
        let absent = RobotsNews::Answer { class: RobotsClass::NoRules, file: None, told: None };
        state.learn_robots(&url.authority(), absent, &policy.robots, Some((now, now)), now);
    }
    let scene = Scene {
        policy: &policy,
        now,
        seed: 7,
        rules: None,
        job: JobView { started_at: now, pages: 0 },
        stopped: false,
        floor: None,
        quiet_until: None,
    };
    let ask = Ask {
        url: &url,
        kind: AskKind::Page,
        charged: false,
        fresh_until: None,
        retry_at: None,
        tries: 0,
        needs_word: false,
        slot_since: None,
    };
    let Action::Approach(approach) = state.admit(&ask, &scene).action else {
        panic!("`{url}` may be asked for");
    };
    let reserved = state.reserve(&approach, &ask, &scene, LeaseId(1)).unwrap();
    (approach, reserved)
}
