//! How long pages and calls take, from the request read to the answer made.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Upper ends of the buckets, in milliseconds.
const BUCKETS: [u64; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 1_000, 10_000];

#[derive(Default)]
pub(super) struct Timing(Mutex<[LatencyHistogram; 2]>);

#[derive(Clone, Copy, Default)]
struct LatencyHistogram {
    counts: [u64; BUCKETS.len()],
    more: u64,
    micros: u64,
}

impl Timing {
    pub(super) fn note(&self, path: &str, took: Duration) {
        let api = usize::from(path.starts_with("/api/"));
        let mut timings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let histogram = &mut timings[api];
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        histogram.micros = histogram.micros.saturating_add(micros);
        match BUCKETS.iter().position(|max| micros <= max * 1_000) {
            Some(bucket) => histogram.counts[bucket] += 1,
            None => histogram.more += 1,
        }
    }

    pub(super) fn text(&self) -> String {
        let timings = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::from(
            "# HELP curtsy_serve_answer_seconds From the request read to the answer made.\n# TYPE curtsy_serve_answer_seconds histogram\n",
        );
        for (name, timing) in ["page", "api"].into_iter().zip(timings) {
            let mut sum = 0;
            for (max, count) in BUCKETS.iter().zip(timing.counts) {
                sum += count;
                let max = *max as f64 / 1000.0;
                text.push_str(&format!(
                    "curtsy_serve_answer_seconds_bucket{{of=\"{name}\",le=\"{max}\"}} {sum}\n"
                ));
            }
            sum += timing.more;
            let seconds = timing.micros as f64 / 1e6;
            text.push_str(&format!(
                "curtsy_serve_answer_seconds_bucket{{of=\"{name}\",le=\"+Inf\"}} {sum}\ncurtsy_serve_answer_seconds_sum{{of=\"{name}\"}} {seconds}\ncurtsy_serve_answer_seconds_count{{of=\"{name}\"}} {sum}\n"
            ));
        }
        text
    }
}
