//! A client with a permit: what the engine does around a line, in a few lines.

use std::cell::Cell;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::host::{
    Action, Approach, Ask, AskKind, HostState, JobView, LeaseId, Permit, Problem, Receipt,
    RobotsNews, Scene,
};
use curtsy_core::policy::{Policy, Preset};
use curtsy_core::robots::RobotsClass;
use curtsy_core::time::Time;
use curtsy_core::url::CrawlUrl;
use curtsy_engine::{Clock, Connected, Fetch, Head, Line, Mono, Reading, Request, Sent};
use curtsy_fetch::{HttpFetch, HttpLine, Outlet, Settings, SpeedFloor, TokioClock};

/// A worker's way to the web, and its clock.
pub(crate) struct Client {
    pub(crate) fetch: HttpFetch,
    pub(crate) clock: TokioClock,
}

/// Settings for loopback, with short waits.
pub(crate) fn settings() -> Settings {
    let mut policy = Policy::preset(Preset::Careful);
    policy.identity.contact = Some("me@example.org".to_owned());
    let mut settings = Settings::of(&policy);
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

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Client {
        let mut settings = settings();
        change(&mut settings);
        Client::of(&Outlet::new(&settings).unwrap())
    }

    pub(crate) fn of(outlet: &Outlet) -> Client {
        let clock = TokioClock::new();
        Client { fetch: HttpFetch::new(outlet, clock), clock }
    }

    /// Fetches a URL and says what came of it.
    pub(crate) async fn get(&self, url: &str) -> Got {
        self.ask(approach(url), &request()).await
    }

    /// A line that stands idle, or a new one.
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
        (approach, permit): (Approach, Permit),
        request: &Request,
    ) -> Got {
        let mut line = match self.line(&approach, Mono(0)).await {
            Ok(Connected { line, .. }) => line,
            Err(problem) => return Got::said(format!("no line: {problem:?}")),
        };
        self.send(&mut line, &permit, request).await
    }

    pub(crate) async fn send(
        &self,
        line: &mut HttpLine,
        permit: &Permit,
        request: &Request,
    ) -> Got {
        let written = Cell::new(None);
        let until = self.clock.mono() + Duration::from_secs(1);
        match line.send(permit, until, request, &written).await {
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
}

/// What went wrong; of a limit on size, which one it was.
fn told(problem: Problem) -> String {
    match problem {
        Problem::OverLimit(hit) => format!("over {}", hit.name()),
        problem => format!("{problem:?}"),
    }
}

/// What came of a request, in a few words, and the parts.
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

/// Asks one site once and compares what came of it.
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

/// A page's approach and open permit, as the core gives them.
pub(crate) fn approach(url: &str) -> (Approach, Permit) {
    granted(url, true)
}

/// The same for the robots.txt of a URL's authority.
pub(crate) fn robots(url: &str) -> (Approach, Permit) {
    granted(url, false)
}

fn granted(url: &str, robots_known: bool) -> (Approach, Permit) {
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
    let host = url.host().clone();
    let receipt = Receipt { host, version: 1, now, leases: vec![LeaseId(1)] };
    (approach, reserved.permit.open(&receipt).unwrap())
}

/// A moment that is past.
pub(crate) fn past(clock: &TokioClock) -> Mono {
    let until = clock.mono();
    std::thread::sleep(Duration::from_millis(2));
    until
}
