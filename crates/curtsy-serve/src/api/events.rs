//! Live progress as server-sent events: `progress` whenever something changed, `done` at the end.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde_json::json;
use tokio::sync::watch::Receiver;

use super::body::PathParts;
use super::runs::find;
use super::{ApiError, body};
use crate::app::App;
use crate::ingest::Shown;

/// A line that keeps the connection open while nothing happens.
const ALIVE: Duration = Duration::from_secs(15);
/// Changes that come closer than this are told together.
const TOGETHER: Duration = Duration::from_millis(100);

pub(super) async fn events(
    State(app): State<App>,
    PathParts((slug, trace)): PathParts<(String, String)>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let slug = body::slug(&slug)?;
    let run = find(&app, &slug, &trace).await?;
    let first = match app.runs.live(&slug, &run.trace_id) {
        Some(live) => NextEvent::Now(live.follow()),
        None => NextEvent::Done(run.outcome),
    };
    let stream = unfold(first, |next| async move {
        match next {
            NextEvent::Now(hears) => Some(tell(hears)),
            NextEvent::Change(mut hears) => {
                tokio::time::sleep(TOGETHER).await;
                // Whoever told is gone: so is the run.
                let changed = hears.changed().await.is_ok();
                let outcome = hears.borrow().outcome.clone();
                Some(if changed { tell(hears) } else { (Ok(done(outcome)), NextEvent::Over) })
            }
            NextEvent::Done(outcome) => Some((Ok(done(outcome)), NextEvent::Over)),
            NextEvent::Over => None,
        }
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(ALIVE)))
}

/// What comes next on a stream.
enum NextEvent {
    Now(Receiver<Shown>),
    Change(Receiver<Shown>),
    Done(Option<String>),
    Over,
}

fn tell(mut hears: Receiver<Shown>) -> (Result<Event, Infallible>, NextEvent) {
    let shown = hears.borrow_and_update().clone();
    let text = serde_json::to_string(&shown).unwrap_or_default();
    let next = match shown.outcome {
        Some(outcome) => NextEvent::Done(Some(outcome)),
        None => NextEvent::Change(hears),
    };
    (Ok(Event::default().event("progress").data(text)), next)
}

fn done(outcome: Option<String>) -> Event {
    Event::default().event("done").data(json!({"outcome": outcome}).to_string())
}
