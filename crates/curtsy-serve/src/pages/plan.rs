//! What a run would ask for, before it is begun.

use askama::Template;
use curtsy_core::evidence::{DiscoverySource, mode_name};
use curtsy_crawl::{CrawlReport, PageKind};

use super::frame::Frame;
use super::friction::{Signal, signals};
use super::import::ImportForm;
use super::link::{OutsideUrl, in_query};
use super::words::{self, millis, span};
use crate::ServeSpec;
use crate::ingest::{IngestOrder, Planned, SurveyPlan};
use crate::orbit::Slug;

/// The page.
#[derive(Template)]
#[template(path = "plan.html")]
pub(super) struct PlanPage<'p> {
    frame: Frame,
    slug: &'p Slug,
    typed: ImportForm,
    mode: &'static str,
    pages: u64,
    kinds: Vec<KindOfPages>,
    forbidden: Vec<PlannedPage>,
    /// Pages that were found; none if nothing was looked for.
    found: Option<u64>,
    sources: Vec<&'static str>,
    delay: String,
    delay_by: &'static str,
    takes: String,
    /// What was asked for to make the plan: `3 requests`.
    asked: Option<String>,
    friction: Vec<Signal>,
    /// The form again, with what was typed.
    back: String,
}

/// Pages that are about the same.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KindOfPages {
    pub(super) kind: &'static str,
    pub(super) pages: Vec<PlannedPage>,
}

/// A page of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlannedPage {
    pub(super) url: OutsideUrl,
    pub(super) kind: &'static str,
    pub(super) source: &'static str,
}

impl<'p> PlanPage<'p> {
    /// The plan of an automated mode.
    pub(super) fn of_survey(
        frame: Frame,
        slug: &'p Slug,
        typed: ImportForm,
        report: &CrawlReport,
        plan: &SurveyPlan,
    ) -> PlanPage<'p> {
        let ingest = &report.evidence.ingest;
        PlanPage {
            frame,
            slug,
            back: back(slug, &typed),
            typed,
            mode: mode_name(ingest.mode),
            pages: plan.pages.len() as u64,
            kinds: by_kind(plan.pages.iter().map(planned)),
            forbidden: plan.forbidden.iter().map(planned).collect(),
            found: Some(plan.found),
            sources: plan.sources.iter().copied().map(source).collect(),
            delay: words::delay(plan.delay_ms),
            delay_by: words::setter(plan.delay_by),
            takes: span(millis(plan.takes())),
            asked: Some(report.requests.values().sum())
                .filter(|asked| *asked > 0)
                .map(|asked| words::count(asked, "request")),
            friction: signals(&ingest.friction_signals),
        }
    }

    /// The plan of the user-assisted mode: the named pages. Needs no request.
    pub(super) fn of_named(
        spec: &ServeSpec,
        frame: Frame,
        slug: &'p Slug,
        typed: ImportForm,
        order: &IngestOrder,
    ) -> PlanPage<'p> {
        let delay = millis(spec.settled.policy.clone().with_mode(order.mode).pace.delay_max);
        let pages = order.user_urls.iter().map(|url| PlannedPage {
            url: OutsideUrl::new(url.as_str()),
            kind: PageKind::of(url).name(),
            source: "you",
        });
        PlanPage {
            frame,
            slug,
            back: back(slug, &typed),
            typed,
            mode: mode_name(order.mode),
            pages: order.user_urls.len() as u64,
            kinds: by_kind(pages),
            forbidden: Vec::new(),
            found: None,
            sources: Vec::new(),
            delay: words::delay(delay),
            delay_by: words::setter("mode"),
            takes: span(delay.saturating_mul(order.user_urls.len() as u64)),
            asked: None,
            friction: Vec::new(),
        }
    }
}

/// The form with what was typed; addresses that don't fit into a link are typed again.
fn back(slug: &Slug, typed: &ImportForm) -> String {
    let (url, mode) = (in_query(&typed.url), in_query(&typed.mode));
    let place = format!("/orbit/{slug}/import?url={url}&mode={mode}");
    let named = in_query(&typed.user_urls);
    match place.len() + named.len() {
        0..LINK_BYTES_MAX => format!("{place}&userUrls={named}"),
        _ => place,
    }
}

fn planned(page: &Planned) -> PlannedPage {
    PlannedPage { url: OutsideUrl::new(&page.url), kind: page.kind, source: source(page.source) }
}

fn source(source: DiscoverySource) -> &'static str {
    match source {
        DiscoverySource::Sitemap => "sitemap",
        DiscoverySource::Robots => "robots.txt",
        DiscoverySource::Homepage => "home page",
    }
}

/// Pages by what they are about, in the order in which kinds are wanted.
fn by_kind(pages: impl Iterator<Item = PlannedPage>) -> Vec<KindOfPages> {
    let mut kinds: Vec<KindOfPages> =
        PageKind::WORDS.iter().map(|&kind| KindOfPages { kind, pages: Vec::new() }).collect();
    for page in pages {
        if let Some(of_kind) = kinds.iter_mut().find(|of_kind| of_kind.kind == page.kind) {
            of_kind.pages.push(page);
        }
    }
    kinds.retain(|of_kind| !of_kind.pages.is_empty());
    kinds
}

/// Bytes of a link that every browser and proxy takes.
const LINK_BYTES_MAX: usize = 6_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, kind: &'static str) -> PlannedPage {
        PlannedPage { url: OutsideUrl::new(url), kind, source: "sitemap" }
    }

    #[test]
    fn pages_stand_by_kind_in_the_order_of_the_sample() {
        let pages =
            [page("/f", "faq"), page("/", "homepage"), page("/q", "faq"), page("/a", "about")];
        let kinds = by_kind(pages.into_iter());
        let shown: Vec<_> = kinds.iter().map(|kind| (kind.kind, kind.pages.len())).collect();
        assert_eq!(shown, [("homepage", 1), ("about", 1), ("faq", 2)]);
    }

    #[test]
    fn the_way_back_keeps_what_was_typed_while_it_fits() {
        let slug = Slug::parse("demo").unwrap();
        let typed = |user_urls: String| ImportForm {
            url: "a.test".into(),
            mode: "light".into(),
            user_urls,
            ..ImportForm::default()
        };
        let short = back(&slug, &typed("x\ny".into()));
        assert_eq!(short, "/orbit/demo/import?url=a.test&mode=light&userUrls=x%0Ay");
        let long = back(&slug, &typed("x".repeat(9_000)));
        assert_eq!(long, "/orbit/demo/import?url=a.test&mode=light");
    }
}
