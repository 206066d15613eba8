//! What a run comes to, counted as rows are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use curtsy_core::evidence::friction_signal;
use curtsy_core::host::{AskKind, Gate, Outcome};
use curtsy_core::url::HostKey;
use curtsy_engine::{Batch, Boxed, Ending, Listener, Note, Row, Sink, SinkError, Step};

/// Hosts and signals that are kept by name.
pub(crate) const NAMES_MAX: usize = 10_000;

/// Counts what went out. It comes after the sinks that keep rows, so it counts what is kept, and knows when nothing is.
#[derive(Default)]
pub(crate) struct Tally {
    counted: Mutex<Counted>,
    /// Why the last rows could not be kept.
    trouble: Mutex<Option<String>>,
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// Pages by how they ended.
    pub(crate) endings: BTreeMap<&'static str, u64>,
    /// Refusals by gate.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Answers by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    pub(crate) rows: u64,
    pub(crate) fetched: u64,
    pub(crate) cached: u64,
    /// Pages by where their content comes from.
    pub(crate) sources: BTreeMap<&'static str, u64>,
    pub(crate) used: u64,
    pub(crate) sitemaps: u64,
    pub(crate) retries: u64,
    pub(crate) body_bytes: u64,
    pub(crate) hosts: BTreeSet<HostKey>,
    pub(crate) friction: Vec<String>,
}

impl Tally {
    pub(crate) fn counted(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why rows can't be kept, while they can't.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.in_trouble().clone()
    }

    fn in_trouble(&self) -> MutexGuard<'_, Option<String>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rows, pages fetched and bytes, without a copy.
    pub(crate) fn glance(&self) -> (u64, u64, u64, usize) {
        let counted = self.lock();
        (counted.rows, counted.fetched, counted.body_bytes, counted.hosts.len())
    }
}

impl Sink for Tally {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        *self.in_trouble() = None;
        let mut counted = self.lock();
        batch.rows.iter().for_each(|row| counted.row(row));
        batch.steps.iter().for_each(|step| counted.step(step));
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Listener for Tally {
    fn note(&self, note: Note<'_>) {
        if let Note::NotKept { why } = note {
            *self.in_trouble() = Some(why.to_owned());
        }
    }
}

impl Counted {
    fn row(&mut self, row: &Row) {
        if row.kind == AskKind::Sitemap {
            self.sitemaps += 1;
            if let Ending::Fetched(outcome) | Ending::Dead(outcome) = &row.ending {
                self.friction(outcome, &row.final_url);
            }
            return;
        }
        self.rows += 1;
        if self.hosts.len() < NAMES_MAX && !self.hosts.contains(row.url.host()) {
            self.hosts.insert(row.url.host().clone());
        }
        *self.endings.entry(ending_name(&row.ending)).or_default() += 1;
        match &row.ending {
            Ending::Fetched(outcome) => {
                self.fetched += 1;
                self.answer(outcome, row);
            }
            Ending::Dead(outcome) | Ending::LoginWall(outcome) => self.answer(outcome, row),
            Ending::Cached => self.cached += 1,
            Ending::Refused(gate) => *self.refused.entry(gate_name(*gate)).or_default() += 1,
            Ending::Unheard | Ending::LostRedirect => {}
        }
        if let Some(page) = &row.page {
            *self.sources.entry(page.source.name()).or_default() += 1;
        }
        if let Some(body) = row.page.as_ref().and_then(|p| p.body.as_ref()) {
            self.used += 1;
            self.body_bytes += body.len() as u64;
        }
    }

    fn answer(&mut self, outcome: &Outcome, row: &Row) {
        if let Some(status) = outcome.status() {
            *self.statuses.entry(status).or_default() += 1;
        }
        self.friction(outcome, &row.final_url);
    }

    fn step(&mut self, step: &Step) {
        if let curtsy_engine::Then::Retry(_) = step.then {
            self.retries += 1;
        }
        self.friction(&step.outcome, &step.url);
    }

    fn friction(&mut self, outcome: &Outcome, url: &curtsy_core::url::CrawlUrl) {
        if self.friction.len() < NAMES_MAX {
            self.friction.extend(friction_signal(outcome, url));
        }
    }
}

fn gate_name(gate: Gate) -> &'static str {
    gate.name()
}

/// The word for how a URL ended, in columns, reports and progress.
pub(crate) fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Fetched(_) => "fetched",
        Ending::Cached => "cached",
        Ending::Refused(_) => "refused",
        Ending::Dead(_) => "dead",
        Ending::Unheard => "unheard",
        Ending::LostRedirect => "lost_redirect",
        Ending::LoginWall(_) => "login_wall",
    }
}
