//! What the head of a response means, in the store's clock.

use std::time::Duration;

use curtsy_core::headers::{Basis, CacheHeaders, CacheKind, freshness, http_date, retry_after};
use curtsy_core::host::{Class, Friction, Outcome, Problem};
use curtsy_core::policy::{CacheMode, Policy};
use curtsy_core::time::Time;

use crate::{CachedPage, Ending, Head, Page};

/// Returns how long a response asks us to wait, by the server's own clock if the head has its date.
fn wait_requested(head: &Head, now: Time) -> Option<Duration> {
    if head.retry_after.is_empty() {
        return None;
    }
    let date = head.date.as_deref().and_then(|date| http_date(date, now.secs() as i64));
    retry_after(head.retry_after.iter().map(String::as_str), date, now)
}

/// Returns the outcome of a response; `problem` says why its body could not be read.
pub(crate) fn outcome(
    head: &Head,
    problem: Option<Problem>,
    friction: Option<Friction>,
    now: Time,
) -> Outcome {
    let answered =
        Outcome::Answered { status: head.status, retry_after: wait_requested(head, now), friction };
    match problem {
        // A refusal is complete with its head: a broken body changes nothing.
        Some(problem) if answered.class() != Class::ToldToWait => Outcome::Failed(problem),
        _ => answered,
    }
}

/// Returns what is cached of a page whose exchange ended at `ended`; none if its head or the policy
/// forbids caching.
pub fn keep(head: &Head, policy: &Policy, ended: Time) -> Option<CachedPage> {
    let fresh_for = match policy.cache.mode {
        CacheMode::Off => return None,
        CacheMode::Fixed => policy.cache.ttl,
        CacheMode::Validators => Duration::ZERO,
        CacheMode::Http => {
            let said = freshness(&cache_headers(head), CacheKind::Private, ended);
            if !said.store {
                return None;
            }
            match said.basis {
                Basis::Said => said.fresh_for,
                Basis::Guessed | Basis::Nothing => policy.cache.ttl,
            }
        }
    };
    Some(CachedPage {
        fresh_until: ended + fresh_for,
        etag: head.etag.clone(),
        last_modified: head.last_modified.clone(),
    })
}

/// Returns how long after its freshness a cached page may be used while it is requested again.
pub fn stale_while_revalidate(head: &Head, now: Time) -> Duration {
    freshness(&cache_headers(head), CacheKind::Private, now).stale_while_revalidate
}

fn cache_headers(head: &Head) -> CacheHeaders<'_> {
    CacheHeaders {
        cache_control: head.cache_control.iter().map(String::as_str).collect(),
        expires: head.expires.as_deref(),
        date: head.date.as_deref(),
        age: head.age.as_deref(),
        last_modified: head.last_modified.as_deref(),
        ..CacheHeaders::default()
    }
}

/// Whether a status says that the page does not exist.
pub(crate) fn is_missing(status: u16) -> bool {
    matches!(status, 404 | 410)
}

/// Returns how a URL ends whose last response is cached. A crawl with other settings may have
/// fetched the page, so its content type is checked like that of a new response.
pub(crate) fn remembered(page: &Page, policy: &Policy) -> Ending {
    match page.head.status {
        200..300 if !policy.body.wants(page.head.content_type.as_deref()) => {
            Ending::Dead(Outcome::Failed(Problem::ContentType))
        }
        status if is_missing(status) => {
            Ending::Dead(Outcome::Answered { status, retry_after: None, friction: None })
        }
        _ => Ending::Cached,
    }
}

/// Whether a response has a part of the page only. No request asks for a part, so none can be
/// completed with another: it is a page that ends early.
pub(crate) fn is_part(status: u16) -> bool {
    status == 206
}

/// Whether a status is a redirect that is followed.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}
