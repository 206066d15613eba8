//! The charts of a host, drawn on the server: risk over time, and requests against the delay.
//!
//! Both are points in a box of [`WIDTH`] × [`HEIGHT`]. The stylesheet has the looks, and the page
//! has the same figures as a table.

use curtsy_core::evidence::{read_timestamp, timestamp};
use curtsy_core::time::Time;
use serde_json::Value as Json;

use super::friction::Signal;
use super::link::OutsideUrl;
use super::words::{self, ShownMoment, span};
use crate::records::RequestRecord;

/// The box of a chart, and the room that its axes leave.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 600.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 224.0;

/// Points of the curve between two signals: it falls as a power of time, which is no straight line.
const POINTS_BETWEEN: u64 = 12;
/// Marks on the axis of time.
const TICKS: u64 = 4;
/// A chart shows so much time at least.
const SPAN_MIN_MICROS: u64 = 60_000_000;
const DAY_MICROS: f64 = 86_400e6;
/// Requests that are shown: the last ones.
const REQUESTS_SHOWN: usize = 60;

/// The box and where its axes are, for the template.
pub(super) struct Plot {
    pub(super) view_box: String,
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
    pub(super) width: f64,
    /// Where the names along the lower axis stand.
    pub(super) below: f64,
}

impl Plot {
    pub(super) fn new() -> Plot {
        Plot {
            view_box: format!("0 0 {WIDTH} {HEIGHT}"),
            left: LEFT,
            right: RIGHT,
            bottom: BOTTOM,
            width: RIGHT - LEFT,
            below: BOTTOM + 22.0,
        }
    }
}

/// A mark on an axis.
#[derive(Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) at: String,
    pub(super) label: String,
}

/// The risk of a host over time.
pub(super) struct RiskChart {
    pub(super) bands: [Band; 4],
    /// The curve, as `points` of a polyline.
    pub(super) line: String,
    /// Where signals came.
    pub(super) marks: Vec<(String, String)>,
    /// Moments along the lower axis.
    pub(super) ticks: Vec<Tick>,
    /// Scores along the left one.
    pub(super) scores: [Tick; 5],
    pub(super) rows: Vec<RiskEventRow>,
    /// The score at the end of the curve.
    pub(super) now: u8,
}

/// A level of risk, as a stripe.
pub(super) struct Band {
    pub(super) name: &'static str,
    pub(super) scores: &'static str,
    pub(super) y: String,
    pub(super) height: String,
    /// Where its name stands.
    pub(super) middle: String,
}

/// A signal and what it did to the score.
pub(super) struct RiskEventRow {
    pub(super) at: ShownMoment,
    pub(super) signal: Signal,
    pub(super) points: f64,
    pub(super) score: u8,
    pub(super) level: &'static str,
}

/// The levels of seed 004, each with its scores.
const LEVELS: [(&str, &str, f64, f64); 4] = [
    ("low", "0–20", 0.0, 20.0),
    ("medium", "21–50", 20.0, 50.0),
    ("high", "51–80", 50.0, 80.0),
    ("critical", "81–100", 80.0, 100.0),
];

/// A score after some time: a day leaves `daily` of it.
fn faded(score: f64, micros: u64, daily: f64) -> f64 {
    score * daily.powf(micros as f64 / DAY_MICROS)
}

struct ScoredSignal {
    at: Time,
    signal: String,
    points: f64,
}

fn friction(events: &Json) -> Vec<ScoredSignal> {
    let events = events.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut events: Vec<ScoredSignal> = events
        .iter()
        .filter_map(|event| {
            let at = read_timestamp(event["at"].as_str()?)?;
            let points = event["points"].as_f64()?.clamp(0.0, 100.0);
            Some(ScoredSignal { at, signal: event["signal"].as_str()?.to_owned(), points })
        })
        .collect();
    events.sort_by_key(|event| event.at);
    events
}

impl RiskChart {
    /// Draws the score that these signals make. None if there is no signal.
    pub(super) fn of(events: &Json, daily_percent: u8, now: Time) -> Option<RiskChart> {
        let events = friction(events);
        let first = events.first()?.at;
        let daily = f64::from(daily_percent) / 100.0;
        let end = now.max(events.last()?.at);
        let length = micros_between(first, end).max(SPAN_MIN_MICROS);
        let axis =
            Axis { from: end.micros().saturating_sub(length + length / 20), to: end.micros() };
        let mut line = vec![(axis.x(axis.from), y(0.0)), (axis.x(first.micros()), y(0.0))];
        let (mut marks, mut rows) = (Vec::new(), Vec::new());
        let (mut score, mut at) = (0.0, first);
        for event in events {
            fall(&mut line, &axis, (at, event.at), score, daily);
            score = faded(score, micros_between(at, event.at), daily) + event.points;
            (score, at) = (score.min(100.0), event.at);
            let x = axis.x(at.micros());
            line.push((x, y(score)));
            marks.push((number(x), number(y(score))));
            let rounded = score.round() as u8;
            rows.push(RiskEventRow {
                at: ShownMoment::at(at),
                signal: Signal::read(&event.signal),
                points: event.points,
                score: rounded,
                level: words::level(rounded),
            });
        }
        fall(&mut line, &axis, (at, end), score, daily);
        Some(RiskChart {
            bands: bands(),
            line: points(&line),
            marks,
            ticks: axis.ticks(),
            scores: [0, 20, 50, 80, 100]
                .map(|score| Tick { at: number(y(f64::from(score))), label: score.to_string() }),
            rows,
            now: faded(score, micros_between(at, end), daily).round() as u8,
        })
    }
}

/// The curve from one signal to the next.
fn fall(line: &mut Vec<(f64, f64)>, axis: &Axis, (from, to): (Time, Time), score: f64, daily: f64) {
    let length = micros_between(from, to);
    for part in 1..=POINTS_BETWEEN {
        let passed = length / POINTS_BETWEEN * part;
        line.push((axis.x(from.micros() + passed), y(faded(score, passed, daily))));
    }
}

fn bands() -> [Band; 4] {
    LEVELS.map(|(name, scores, from, to)| Band {
        name,
        scores,
        y: number(y(to)),
        height: number(y(from) - y(to)),
        middle: number((y(from) + y(to)) / 2.0 + 4.0),
    })
}

/// Where a score stands.
fn y(score: f64) -> f64 {
    BOTTOM - score / 100.0 * (BOTTOM - TOP)
}

fn micros_between(from: Time, to: Time) -> u64 {
    to.micros().saturating_sub(from.micros())
}

/// An axis of time.
struct Axis {
    from: u64,
    to: u64,
}

impl Axis {
    fn x(&self, at: u64) -> f64 {
        let part = at.saturating_sub(self.from) as f64 / (self.to - self.from).max(1) as f64;
        LEFT + part * (RIGHT - LEFT)
    }

    fn ticks(&self) -> Vec<Tick> {
        let length = self.to - self.from;
        let tick = |part: u64| {
            let at = self.from + length / TICKS * part;
            Tick { at: number(self.x(at)), label: hour(at, length) }
        };
        (0..=TICKS).map(tick).collect()
    }
}

/// A moment as an axis shows it: the shorter the axis, the finer.
fn hour(at: u64, length: u64) -> String {
    let text = timestamp(Time::from_micros(at));
    let part = match length {
        0..600_000_000 => 11..19,
        600_000_000..172_800_000_000 => 11..16,
        _ => 5..10,
    };
    text[part].to_owned()
}

/// A coordinate, to a tenth.
fn number(at: f64) -> String {
    format!("{at:.1}")
}

fn points(line: &[(f64, f64)]) -> String {
    let points: Vec<String> = line.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// The last requests to a host, each with how long after the one before it came.
pub(super) struct Timeline {
    pub(super) starts: Vec<Start>,
    /// The delay in force, as `points` of a polyline.
    pub(super) delay: String,
    /// Where that line ends.
    pub(super) delay_end: Option<String>,
    /// Spans along the left axis.
    pub(super) ticks: Vec<Tick>,
    pub(super) rows: Vec<RequestRow>,
}

/// A start of a request, as a mark.
#[derive(Debug, PartialEq)]
pub(super) struct Start {
    pub(super) x: String,
    pub(super) y: String,
    /// Whether the gap before it is longer than the chart is high.
    pub(super) is_longer: bool,
}

/// A request.
pub(super) struct RequestRow {
    pub(super) at: ShownMoment,
    pub(super) url: OutsideUrl,
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) gap: Option<String>,
    pub(super) delay: Option<String>,
    pub(super) delay_by: String,
}

/// A request and the time since the one before.
struct Gap<'r> {
    request: &'r RequestRecord,
    at: Time,
    ms: Option<u64>,
}

impl Timeline {
    /// Draws requests that are in their order. None if there is none.
    pub(super) fn of(requests: &[RequestRecord]) -> Option<Timeline> {
        let gaps = gaps(requests);
        let gaps = &gaps[gaps.len().saturating_sub(REQUESTS_SHOWN)..];
        if gaps.is_empty() {
            return None;
        }
        let delays = gaps.iter().filter_map(|gap| gap.request.delay_ms);
        // The delays fill the lower half: what is in the upper half waited longer than it had to.
        let highest = u64::try_from(delays.max().unwrap_or(0)).unwrap_or(0).max(500) * 2;
        let y = |ms: u64| BOTTOM - ms.min(highest) as f64 / highest as f64 * (BOTTOM - TOP);
        let step = (RIGHT - LEFT) / gaps.len() as f64;
        let x = |index: usize| LEFT + step * (index as f64 + 0.5);
        let start = |(index, gap): (usize, &Gap<'_>)| {
            let ms = gap.ms?;
            Some(Start { x: number(x(index)), y: number(y(ms)), is_longer: ms > highest })
        };
        let mut delay = Vec::new();
        for (index, gap) in gaps.iter().enumerate() {
            if let Some(ms) = gap.request.delay_ms.and_then(|ms| u64::try_from(ms).ok()) {
                delay.push((x(index) - step / 2.0, y(ms)));
                delay.push((x(index) + step / 2.0, y(ms)));
            }
        }
        let ticks = [0, highest / 4, highest / 2, highest / 4 * 3, highest]
            .map(|ms| Tick { at: number(y(ms)), label: span(ms) });
        Some(Timeline {
            starts: gaps.iter().enumerate().filter_map(start).collect(),
            delay: points(&delay),
            delay_end: delay.last().map(|(_, y)| number(*y)),
            ticks: ticks.into(),
            rows: gaps.iter().map(RequestRow::of).collect(),
        })
    }
}

fn gaps(requests: &[RequestRecord]) -> Vec<Gap<'_>> {
    let mut before = None;
    let timed =
        requests.iter().filter_map(|request| Some((request, read_timestamp(&request.asked_at)?)));
    timed
        .map(|(request, at)| {
            let ms = before.replace(at).map(|before| micros_between(before, at) / 1_000);
            Gap { request, at, ms }
        })
        .collect()
}

impl RequestRow {
    fn of(gap: &Gap<'_>) -> RequestRow {
        let request = gap.request;
        RequestRow {
            at: ShownMoment::at(gap.at),
            url: OutsideUrl::new(&request.url),
            kind: request.kind.replace('_', " "),
            status: match request.status_code {
                Some(status) => status.to_string(),
                None => request.outcome.clone(),
            },
            gap: gap.ms.map(span),
            delay: request.delay_ms.and_then(|ms| u64::try_from(ms).ok()).map(words::delay),
            delay_by: request.delay_by.as_deref().map(words::setter).unwrap_or("nobody").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const DAY: u64 = 86_400;

    fn event(secs: u64, signal: &str, points: u64) -> Json {
        json!({"at": timestamp(Time::from_secs(secs)), "signal": signal, "points": points})
    }

    fn scores(events: Vec<Json>, now: u64) -> (Vec<u8>, u8) {
        let chart = RiskChart::of(&Json::Array(events), 90, Time::from_secs(now)).unwrap();
        (chart.rows.iter().map(|row| row.score).collect(), chart.now)
    }

    #[test]
    fn points_add_up_and_fade_by_a_tenth_a_day() {
        let events = vec![event(DAY, "403:a.test/", 20), event(DAY, "403:a.test/x", 20)];
        assert_eq!(scores(events.clone(), DAY), (vec![20, 40], 40));
        assert_eq!(scores(events.clone(), 2 * DAY), (vec![20, 40], 36));
        let later = [events, vec![event(2 * DAY, "429:a.test/", 30)]].concat();
        assert_eq!(scores(later, 3 * DAY), (vec![20, 40, 66], 59));
    }

    #[test]
    fn a_score_is_never_above_a_hundred() {
        let events = (0..9).map(|n| event(DAY + n, "429:a.test/", 30)).collect();
        assert_eq!(scores(events, DAY + 9).0.last(), Some(&100));
    }

    #[test]
    fn signals_that_cannot_be_read_are_left_out() {
        let odd =
            json!([7, {"at": "x", "signal": "a", "points": 1}, {"at": "2026-01-01T00:00:00Z"}]);
        assert!(RiskChart::of(&odd, 90, Time::from_secs(DAY)).is_none());
        assert!(RiskChart::of(&json!("x"), 90, Time::from_secs(DAY)).is_none());
    }

    /// For any signals, nothing is outside of the box, and the curve goes from left to right.
    #[test]
    fn the_curve_stays_in_its_box() {
        let cases = [
            (vec![event(DAY, "a", 20)], DAY),
            (vec![event(DAY, "a", 20)], DAY - 60),
            (vec![event(DAY, "a", 20), event(40 * DAY, "a", 99)], 41 * DAY),
            (vec![event(5, "a", 100), event(1, "b", 100)], 6),
        ];
        for (events, now) in cases {
            let chart = RiskChart::of(&Json::Array(events), 90, Time::from_secs(now)).unwrap();
            let mut last = 0.0;
            for point in chart.line.split(' ') {
                let (x, y) = point.split_once(',').unwrap();
                let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
                assert!((LEFT..=RIGHT).contains(&x) && (TOP..=BOTTOM).contains(&y), "{point}");
                assert!(x >= last, "{point} after {last}");
                last = x;
            }
        }
    }

    #[test]
    fn bands_fill_the_box() {
        let bands = bands();
        let height: f64 = bands.iter().map(|band| band.height.parse::<f64>().unwrap()).sum();
        assert!((height - (BOTTOM - TOP)).abs() < 0.5);
        assert_eq!(bands[3].y, number(TOP));
    }

    fn request(ms: u64, delay_ms: Option<i64>) -> RequestRecord {
        RequestRecord {
            trace_id: "0".repeat(32),
            url: "http://a.test/".into(),
            kind: "page".into(),
            status_code: Some(200),
            outcome: "answered".into(),
            delay_ms,
            delay_by: Some("floor".into()),
            asked_at: timestamp(Time::from_micros(1_000_000_000_000 + ms * 1_000)),
        }
    }

    #[test]
    fn gaps_stand_beside_the_delay_in_force() {
        let requests = [request(0, None), request(800, Some(800)), request(61_000, Some(800))];
        let timeline = Timeline::of(&requests).unwrap();
        let gaps: Vec<_> = timeline.rows.iter().map(|row| row.gap.as_deref()).collect();
        assert_eq!(gaps, [None, Some("800 ms"), Some("1 min")]);
        assert_eq!(timeline.starts.len(), 2);
        // 800 of 1600 ms: half way up. A minute is off the chart.
        assert_eq!(timeline.starts[0].y, number((TOP + BOTTOM) / 2.0));
        assert!(timeline.starts[1].is_longer && !timeline.starts[0].is_longer);
        assert_eq!(timeline.starts[1].y, number(TOP));
    }

    #[test]
    fn only_the_last_requests_are_drawn() {
        let requests: Vec<_> = (0..200).map(|n| request(n * 800, Some(800))).collect();
        let timeline = Timeline::of(&requests).unwrap();
        assert_eq!((timeline.rows.len(), timeline.starts.len()), (60, 60));
        assert!(Timeline::of(&[]).is_none());
        let untimed = RequestRecord { asked_at: "x".into(), ..request(0, None) };
        assert!(Timeline::of(&[untimed]).is_none());
    }
}
