//! The robots gate: what robots.txt says, and when it is fetched.
//!
//! Robots.txt is requested before anything else of an authority, and again when its time is over.

mod state;

use serde::{Deserialize, Serialize};

pub use state::{Chase, RobotsId, RobotsNews, RobotsStanding, RobotsState};

use super::{Errand, GateCase, GateCheck, RequestNews, Tagged, Telling};
use crate::evidence::{FindingsReader, FindingsWriter, rule_text};
use crate::host::{
    AUTHORITIES_MAX, Ask, AskKind, BookedTurn, Finding, HostChanges, HostState, MARGIN_MIN,
    Observation, RequestKind, Scene, Verdict,
};
use crate::robots::RobotsClass;
use crate::time::Time;

/// Obeys robots.txt.
pub(super) struct RobotsGate;

/// What robots.txt says, or why it says nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RobotsReason {
    /// No robots.txt of this authority has been requested yet.
    Unknown,
    /// The robots.txt that is held is past its time.
    Due,
    /// It is being fetched right now.
    Asked,
    /// The rules allow the URL, by this line or by no line.
    Allows {
        /// The text.
        file: RobotsId,
        /// The deciding line, counted from one; `None` if no rule matches.
        line: Option<u32>,
        /// Whether that text is current.
        standing: Confidence,
    },
    /// The rules forbid the URL, by this line.
    Forbids {
        /// The text.
        file: RobotsId,
        /// The deciding line.
        line: Option<u32>,
        /// Whether that text is current.
        standing: Confidence,
    },
    /// The site has no robots.txt (404 and the like): no rules.
    Absent,
    /// 401 or 403 on robots.txt, which the policy treats as a refusal.
    Refused,
    /// robots.txt could not be fetched. Nothing else is requested until the next try.
    Unreachable,
    /// robots.txt could not be fetched. The policy continues with low confidence.
    UnreachableAllowed,
    /// Robots.txt itself, or a hop of its redirect: robots rules do not apply.
    Exempt,
    /// The host has more authorities than are kept.
    AuthorityLimit,
}

/// The confidence of a robots verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Confidence {
    /// The text was served within its TTL.
    Current,
    /// robots.txt is unreachable now. This is the last good copy.
    LastGood,
}

impl GateCheck for RobotsGate {
    type Reason = RobotsReason;
    const NAME: &'static str = "robots";
    const CLEAR: &'static str = "robots.txt is not against it";

    fn of_url(case: &GateCase<'_>) -> Finding {
        case.host.said_by_robots(case.ask, case.scene)
    }

    fn of_request(case: &GateCase<'_>, errand: &Errand) -> Option<Finding> {
        (errand.kind == RequestKind::Robots).then(|| case.host.robots_request(case.ask, case.scene))
    }

    fn learn(host: &mut HostState, heard: &RequestNews<'_>, _: &mut HostChanges) {
        let policy = &heard.scene.policy.robots;
        if let Some((turn, seen)) = heard.ended()
            && let Some(news) = &seen.robots
        {
            let authority = turn.approach().authority();
            // Without a byte sent, the server has not seen the request.
            let asked = seen.sent.map(|_| asked_when(turn, seen));
            host.learn_robots(&authority, news.clone(), policy, asked, heard.scene.now);
        }
        if let Some((turn, seen)) = heard.ended_late()
            && let Some(news) = &seen.robots
            && matches!(news, RobotsNews::Answer { class: RobotsClass::Unreachable, .. })
        {
            let authority = turn.approach().authority();
            let known = host.robots_of(&authority);
            if known.is_none_or(|known| known.asked_at < turn.at()) {
                let asked = Some(asked_when(turn, seen));
                host.learn_robots(&authority, news.clone(), policy, asked, heard.at);
            }
        }
    }

    fn restore(host: &mut HostState, remembered: &HostState, _: Time) {
        for theirs in remembered.all_robots() {
            match host.robots_mut(theirs.scheme, theirs.port) {
                Some(ours) if theirs.is_newer_than(ours) => {
                    let older = ours.clone();
                    ours.clone_from(theirs);
                    ours.keep_good(&older);
                }
                Some(ours) => ours.keep_good(theirs),
                None => host.add_robots(theirs.clone()),
            }
        }
    }

    fn sentence(reason: RobotsReason, telling: &Telling<'_>) -> String {
        let by_line = |line: Option<u32>, verb: &str, without: &str, standing: Confidence| {
            let copy = standing.words();
            let Some(line) = line else { return format!("{without}{copy}") };
            let rule = telling.names.robots.and_then(|robots| rule_text(robots, line));
            let rule = rule.map_or(String::new(), |rule| format!(": `{rule}`"));
            format!("robots.txt line {line} {verb} it{rule}{copy}")
        };
        let plain = match reason {
            RobotsReason::Unknown => "robots.txt is not known yet and is asked for first",
            RobotsReason::Due if telling.waits() => {
                "robots.txt is asked for again when its time is over"
            }
            RobotsReason::Due => "robots.txt is past its time and is asked for again first",
            RobotsReason::Asked => "robots.txt is being asked for right now",
            RobotsReason::Allows { line, standing, .. } => {
                let without = "no rule of robots.txt matches, so it is allowed";
                return by_line(line, "allows", without, standing);
            }
            RobotsReason::Forbids { line, standing, .. } => {
                return by_line(line, "forbids", "robots.txt forbids it", standing);
            }
            RobotsReason::Absent => "the site has no robots.txt, so there are no rules",
            RobotsReason::Refused => {
                "the site refuses its robots.txt, and the policy takes that as a no"
            }
            RobotsReason::Unreachable => {
                "robots.txt could not be had, so nothing else may be asked"
            }
            RobotsReason::UnreachableAllowed => {
                "robots.txt could not be fetched: allowed, low confidence"
            }
            RobotsReason::Exempt => "robots.txt has no say in requests for robots.txt",
            RobotsReason::AuthorityLimit => {
                return format!(
                    "robots.txt is kept for {AUTHORITIES_MAX} authorities of a host, and this is one more"
                );
            }
        };
        plain.to_owned()
    }
}

impl Tagged for RobotsReason {
    fn write(self, out: &mut FindingsWriter) -> u8 {
        match self {
            RobotsReason::Unknown => 1,
            RobotsReason::Due => 2,
            RobotsReason::Asked => 3,
            RobotsReason::Allows { file, line, standing } => {
                write_rule(out, file, line, standing);
                4
            }
            RobotsReason::Forbids { file, line, standing } => {
                write_rule(out, file, line, standing);
                5
            }
            RobotsReason::Absent => 6,
            RobotsReason::Refused => 7,
            RobotsReason::Unreachable => 8,
            RobotsReason::UnreachableAllowed => 9,
            RobotsReason::Exempt => 10,
            RobotsReason::AuthorityLimit => 11,
        }
    }

    fn read(tag: u8, input: &mut FindingsReader<'_>) -> Option<RobotsReason> {
        Some(match tag {
            1 => RobotsReason::Unknown,
            2 => RobotsReason::Due,
            3 => RobotsReason::Asked,
            4 => {
                let (file, line, standing) = read_rule(input)?;
                RobotsReason::Allows { file, line, standing }
            }
            5 => {
                let (file, line, standing) = read_rule(input)?;
                RobotsReason::Forbids { file, line, standing }
            }
            6 => RobotsReason::Absent,
            7 => RobotsReason::Refused,
            8 => RobotsReason::Unreachable,
            9 => RobotsReason::UnreachableAllowed,
            10 => RobotsReason::Exempt,
            11 => RobotsReason::AuthorityLimit,
            _ => return None,
        })
    }
}

impl Confidence {
    fn words(self) -> &'static str {
        match self {
            Confidence::Current => "",
            Confidence::LastGood => " (the last good copy; robots.txt can't be had now)",
        }
    }
}

impl HostState {
    /// Returns what robots.txt says about the URL.
    fn said_by_robots(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        if ask.kind == AskKind::RobotsHop {
            return Finding::go(RobotsReason::Exempt);
        }
        let authority = ask.url.authority();
        let policy = &scene.policy.robots;
        let Some(known) = self.robots_of(&authority) else {
            return match self.has_room_for(&authority) {
                true => Finding::go(RobotsReason::Unknown),
                false => Finding::never(RobotsReason::AuthorityLimit),
            };
        };
        let past = scene.now >= known.good_until(policy);
        match (known.ruling(policy, scene.now), scene.rules) {
            (Some(_), _) if past => Finding::go(RobotsReason::Due),
            (Some((file, standing)), Some(rules)) => {
                let answer = rules.decide(ask.url.path_and_query());
                let line = answer.rule.map(|r| r.line);
                if answer.allowed {
                    Finding::go(RobotsReason::Allows { file, line, standing })
                } else {
                    Finding::never(RobotsReason::Forbids { file, line, standing })
                }
            }
            (Some(_), None) => Finding::go(RobotsReason::Unknown),
            (None, _) if past => Finding::go(RobotsReason::Due),
            (None, _) => known.without_text(policy, scene.now),
        }
    }

    /// Returns when the request for robots.txt may start.
    fn robots_request(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> Finding {
        let Some(known) = self.robots_of(&ask.url.authority()) else {
            return Finding::go(RobotsReason::Unknown);
        };
        let due = known.due(&scene.policy.robots);
        match known.standing {
            RobotsStanding::Rules if self.text_missing(ask, scene) => {
                Finding::go(RobotsReason::Unknown)
            }
            // No request of this job has reached the site yet: settings or names may be right by
            // now.
            RobotsStanding::Unreachable(_) if self.failed_before(scene) => {
                Finding::go(RobotsReason::Due)
            }
            RobotsStanding::Unreachable(_) => {
                Finding::wait(due, scene.now, RobotsReason::Unreachable)
            }
            _ => Finding::wait(due, scene.now, RobotsReason::Due),
        }
    }

    /// Returns whether robots.txt is unknown, or will be past its time when this request could
    /// start.
    pub(in crate::host) fn robots_needed(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> bool {
        let Some(known) = self.robots_of(&ask.url.authority()) else { return true };
        let policy = &scene.policy.robots;
        if let RobotsStanding::Chasing(chase) = &known.standing
            && scene.now < chase.deadline
        {
            return false;
        }
        let waits_anyway = known.ruling(policy, scene.now).is_none()
            && known.without_text(policy, scene.now).verdict > Verdict::Go;
        // A turn may be booked up to a window ahead, and be used a window later.
        let latest = scene.now + HostState::window(scene.policy.slots.per_host) * 2;
        waits_anyway || self.text_missing(ask, scene) || latest >= known.good_until(policy)
    }

    /// Returns whether the text of the ruling robots.txt is not at hand. It is requested again.
    fn text_missing(&self, ask: &Ask<'_>, scene: &Scene<'_>) -> bool {
        let known = self.robots_of(&ask.url.authority());
        let rules = known.and_then(|r| r.ruling(&scene.policy.robots, scene.now));
        rules.is_some() && scene.rules.is_none()
    }
}

/// Returns the earliest and the latest time of a request for robots.txt.
fn asked_when(turn: &BookedTurn, seen: &Observation) -> (Time, Time) {
    let latest = seen.first_byte.or(seen.sent).unwrap_or(turn.send_by()) + MARGIN_MIN;
    (turn.at(), latest)
}

fn write_rule(out: &mut FindingsWriter, file: RobotsId, line: Option<u32>, standing: Confidence) {
    out.bytes(&file.0);
    // One number has the line, its presence and the standing. Most are below 32 and take one byte.
    let line = line.map_or(0, |line| u64::from(line) + 1);
    out.number(line << 1 | u64::from(standing == Confidence::LastGood));
}

fn read_rule(input: &mut FindingsReader<'_>) -> Option<(RobotsId, Option<u32>, Confidence)> {
    let file = RobotsId(input.bytes()?);
    let number = input.number()?;
    let line = match number >> 1 {
        0 => None,
        line => Some(u32::try_from(line - 1).ok()?),
    };
    let standing = match number & 1 {
        0 => Confidence::Current,
        _ => Confidence::LastGood,
    };
    Some((file, line, standing))
}
