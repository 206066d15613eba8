//! Whoever attends to a crawl while it works: passes on what it is asked, and shows how it stands.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use curtsy_core::evidence::{Names, sentence};
use curtsy_core::host::Verdict;
use curtsy_engine::look;
use curtsy_store::Crawl;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch::Sender;

use crate::sharing::Sharing;
use crate::tally::Tally;
use crate::work::Crew;
use crate::{CrawlError, JobSpec, Progress, Waiting, Watch};

/// Hosts that wait, as many as anybody wants to read.
const WAITING_SHOWN: usize = 5;

/// The event loop of one thread.
pub(crate) fn runtime() -> Result<Runtime, CrawlError> {
    Builder::new_current_thread().enable_all().build().map_err(CrawlError::Runtime)
}

/// One who attends to a crawl.
pub(crate) struct Attendant<'a> {
    crew: &'a Crew<'a>,
    tally: &'a Tally,
    began: Instant,
    watch: &'a mut dyn Watch,
    warned: Warned,
}

impl<'a> Attendant<'a> {
    pub(crate) fn new(
        crew: &'a Crew<'a>,
        tally: &'a Tally,
        began: Instant,
        watch: &'a mut dyn Watch,
    ) -> Attendant<'a> {
        let mut warned = Warned::default();
        if let Some(said) = &crew.sharing_said {
            warned.say(said.clone(), watch);
        }
        Attendant { crew, tally, began, watch, warned }
    }

    /// Attends until the work is over.
    pub(crate) async fn attend<T>(
        &mut self,
        work: impl Future<Output = T>,
        mut asked: impl AsyncFnMut() -> std::io::Result<()>,
        told: &Sender<u32>,
    ) -> Result<T, CrawlError> {
        let mut work = pin!(work);
        let mut tick = tokio::time::interval(self.watch.every());
        loop {
            tokio::select! {
                over = &mut work => return Ok(over),
                heard = asked() => {
                    heard.map_err(CrawlError::Runtime)?;
                    told.send_modify(|times| *times += 1);
                    if *told.borrow() == 1 {
                        self.watch.note("stopping: what was sent is waited for; once more to end at once (nothing is lost either way)");
                    }
                }
                _ = tick.tick() => self.look().await,
            }
        }
    }

    /// What the user was warned of.
    pub(crate) fn said(mut self) -> Vec<String> {
        if let Some(sharing) = &self.crew.sharing {
            self.warned.sharing(sharing, self.watch);
        }
        self.warned.said
    }

    async fn look(&mut self) {
        let Crew { spec, crawl, sent, .. } = self.crew;
        let (rows, fetched, body_bytes, hosts) = self.tally.glance();
        let progress = Progress {
            rows,
            fetched,
            body_bytes,
            hosts,
            requests: sent.load(Ordering::Relaxed),
            queued: crawl.queued(),
            took: self.began.elapsed(),
            waiting: waiting(self.crew).await,
        };
        self.warned.look(crawl, spec, self.began.elapsed(), self.watch);
        self.warned.rows.look("rows", self.tally.trouble(), self.watch);
        if let Some(sharing) = &self.crew.sharing {
            self.warned.sharing(sharing, self.watch);
        }
        self.watch.see(&progress);
    }
}

/// Hosts with work that must wait, those that wait longest first, and whom they wait for. One that is being asked does not wait.
async fn waiting(crew: &Crew<'_>) -> Vec<Waiting> {
    let Crew { spec, crawl, .. } = crew;
    let handle = crawl.handle();
    let mut found = Vec::new();
    for (host, until, queued) in crawl.waiting(WAITING_SHOWN) {
        if crew.asking.is_asked(&host) {
            continue;
        }
        let now = crawl.now();
        let first = crawl.schedule(&host).ok().and_then(|(_, urls)| urls.into_iter().next());
        let product = spec.policy.product_token();
        let seen = match &first {
            Some(record) => look(&handle, &spec.policy, product, record, None).await.ok(),
            None => None,
        };
        let why = seen.as_ref().and_then(|seen| {
            let (verdict, gate) = seen.decision.findings.worst();
            let names = Names { robots: None, now };
            (verdict > Verdict::Go).then(|| sentence(gate, seen.decision.findings.of(gate), &names))
        });
        let why = why.unwrap_or_else(|| "its turn".to_owned());
        // A host that is visited is held longer than it waits.
        let until = match seen.map(|seen| seen.decision.findings.worst().0) {
            Some(Verdict::NotBefore(turn)) => until.min(turn),
            _ => until,
        };
        found.push(Waiting { wait: until - now, host, until, queued, why });
    }
    found
}

/// What a user was told about budgets and about the store.
#[derive(Default)]
struct Warned {
    said: Vec<String>,
    pages: bool,
    time: bool,
    store: Trouble,
    rows: Trouble,
    sharing: bool,
    evicted: bool,
}

/// What a user was told about something that could not be written.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn look(&mut self, what: &str, now: Option<String>, watch: &mut dyn Watch) {
        if now == self.0 {
            return;
        }
        match &now {
            Some(why) => watch.note(&format!("{what} can't be written: {why}")),
            None => watch.note(&format!("{what} can be written again")),
        }
        self.0 = now;
    }
}

impl Warned {
    fn look(&mut self, crawl: &Crawl, spec: &JobSpec, took: Duration, watch: &mut dyn Watch) {
        let budget = &spec.policy.budget;
        let part = |of: u64| of.saturating_mul(budget.warn_percent.into()) / 100;
        if let Some(max) = budget.pages
            && !self.pages
            && crawl.pages() >= part(max)
        {
            self.pages = true;
            self.say(format!("{} of {max} pages of the budget are used", crawl.pages()), watch);
        }
        if let Some(max) = budget.time
            && !self.time
            && took.as_secs() >= part(max.as_secs())
        {
            self.time = true;
            let percent = budget.warn_percent;
            self.say(format!("{percent} % of the time of the budget are used"), watch);
        }
        self.store.look("the store", crawl.trouble(), watch);
    }

    /// What is wrong with the page cache, or that it is full: each once.
    fn sharing(&mut self, sharing: &Sharing, watch: &mut dyn Watch) {
        if let (Some(why), false) = (sharing.pages.trouble(), self.sharing) {
            self.sharing = true;
            let why = why.lines().next().unwrap_or_default().to_owned();
            self.say(format!("the page cache is not used any more: {why}"), watch);
        }
        if sharing.pages.evicted() > 0 && !self.evicted {
            self.evicted = true;
            let text =
                "the page cache is full: its oldest pages make room (`--cache-max` sets its size)";
            self.say(text.to_owned(), watch);
        }
    }

    fn say(&mut self, text: String, watch: &mut dyn Watch) {
        watch.note(&text);
        self.said.push(text);
    }
}
