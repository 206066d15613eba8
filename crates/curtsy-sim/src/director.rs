//! What happens to a run, and when: waves of work, kills, pauses, losses, steps of the clock.

use curtsy_engine::Point;

use crate::chance::Chance;
use crate::run::{Mode, Spec};
use crate::web::SECOND;

/// Something that the director does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Work for a host: so many pages.
    Wave { host: u64, pages: u64 },
    /// A worker dies when it next comes to a point.
    KillAt(usize, Point),
    /// A worker dies now.
    Kill(usize),
    /// A worker is told to finish, and starts anew.
    Restart(usize),
    /// A worker that died comes back.
    Return(usize),
    /// A worker stands still.
    Pause(usize, u64),
    /// The store loses its last writes.
    Lose(u64),
    /// The store loses everything.
    Empty,
    /// The store's clock steps by so many microseconds.
    Step(i64),
    /// Answers get lost, calls are refused or slow, until it clears.
    Weather,
    /// Fair weather again.
    Clear,
    /// The store is away.
    Away(u64),
    /// A worker's network is down.
    CutOff(usize, u64),
    /// A worker's proxy wants a password that it does not have.
    ProxyShut(usize, u64),
    /// The sink is away, or back.
    Sink(bool),
    /// A stop order, or its end.
    Stop(u64, bool),
}

/// The acts of a run, ordered by time. Faults end at `calm`.
pub(crate) fn acts(
    spec: &Spec,
    start: u64,
    calm: u64,
    end: u64,
    chance: &mut Chance,
) -> Vec<(u64, Act)> {
    let mut acts = Vec::new();
    for host in 0..spec.hosts as u64 {
        for _ in 0..spec.waves {
            let at = start + chance.below(calm - start);
            let pages = chance.between(1, spec.pages * 2);
            acts.push((at, Act::Wave { host, pages }));
        }
    }
    if spec.faults {
        let until = match spec.mode {
            Mode::Safety => calm,
            // Faults in the first part; what follows must be lively.
            Mode::Liveness => start + (calm - start) / 3,
        };
        faults(spec, start, until, chance, &mut acts);
    }
    if let Some(set) = &spec.set {
        if let Some(after) = set.stop_after {
            let at = start + after * SECOND;
            acts.extend((0..spec.hosts as u64).map(|host| (at, Act::Stop(host, true))));
            acts.extend((0..spec.hosts as u64).map(|host| (calm - SECOND, Act::Stop(host, false))));
        }
        if let Some(span) = set.proxy_shut {
            acts.extend((0..spec.workers).map(|n| (start, Act::ProxyShut(n, span * SECOND))));
        }
        if let Some(span) = set.away {
            let times = (1..).map(|n| start + n * 10 * span * SECOND);
            let times = times.take_while(|at| at + span * SECOND < calm);
            for at in times {
                if set.emptied {
                    acts.push((at - SECOND, Act::Empty));
                }
                acts.push((at, Act::Away(span * SECOND)));
            }
        }
    }
    lose_on_return(&mut acts);
    acts.retain(|(at, _)| *at < end);
    acts.sort_by_key(|(at, _)| *at);
    acts
}

/// A store that loses something while it is away shows that when it is back: from then on workers
/// can tell what they know.
fn lose_on_return(acts: &mut [(u64, Act)]) {
    let away: Vec<(u64, u64)> = acts
        .iter()
        .filter_map(|(at, act)| match act {
            Act::Away(span) => Some((*at, at + span)),
            _ => None,
        })
        .collect();
    for (at, act) in acts {
        if matches!(act, Act::Lose(_) | Act::Empty) {
            while let Some((_, back)) = away.iter().find(|(from, to)| (*from..*to).contains(at)) {
                *at = *back;
            }
        }
    }
}

fn faults(spec: &Spec, start: u64, until: u64, chance: &mut Chance, acts: &mut Vec<(u64, Act)>) {
    let span = until - start;
    let days = span as f64 / (86_400.0 * SECOND as f64);
    let times = |per_day: f64, chance: &mut Chance| -> Vec<u64> {
        let wanted = per_day * days;
        let extra = chance.below(1_000_000) as f64 / 1e6 < wanted.fract();
        let count = wanted as u64 + u64::from(extra);
        (0..count).map(|_| start + chance.below(span)).collect()
    };
    let workers = spec.workers as u64;
    for point in Point::ALL {
        for at in times(3.0, chance) {
            acts.push((at, Act::KillAt(chance.below(workers) as usize, point)));
        }
    }
    for at in times(4.0, chance) {
        acts.push((at, Act::Kill(chance.below(workers) as usize)));
    }
    for at in times(3.0, chance) {
        acts.push((at, Act::Restart(chance.below(workers) as usize)));
    }
    for at in times(12.0, chance) {
        let span = match chance.below(4) {
            0 => chance.between(1, 300) * 1_000,
            1 => chance.between(1, 5) * SECOND,
            2 => chance.between(5, 60) * SECOND,
            _ => chance.between(60, 600) * SECOND,
        };
        acts.push((at, Act::Pause(chance.below(workers) as usize, span)));
    }
    for at in times(4.0, chance) {
        acts.push((at, Act::Lose(chance.below(1_500_000))));
    }
    for at in times(2.0, chance) {
        acts.push((at, Act::Empty));
    }
    for at in times(4.0, chance) {
        let by = chance.pick(&[1_500_000, 10 * 1_000_000, 600 * 1_000_000, 3_600 * 1_000_000]);
        let back = chance.percent(50);
        acts.push((at, Act::Step(if back { -by } else { *by })));
    }
    for at in times(6.0, chance) {
        acts.push((at, Act::Weather));
        acts.push((at + chance.between(60, 600) * SECOND, Act::Clear));
    }
    for at in times(3.0, chance) {
        acts.push((at, Act::Away(chance.between(1, 90) * SECOND)));
    }
    for at in times(4.0, chance) {
        let span = chance.between(5, 180) * SECOND;
        // Our own network is down: usually for a whole machine, sometimes for one worker.
        let all = chance.percent(50);
        for worker in 0..spec.workers {
            if all || chance.below(workers) == 0 {
                acts.push((at, Act::CutOff(worker, span)));
            }
        }
    }
    for at in times(2.0, chance) {
        acts.push((at, Act::Sink(true)));
        acts.push((at + chance.between(1, 120) * SECOND, Act::Sink(false)));
    }
    for at in times(2.0, chance) {
        let host = chance.below(spec.hosts as u64);
        acts.push((at, Act::Stop(host, true)));
        let lifted = (at + chance.between(30, 3600) * SECOND).min(until - SECOND);
        acts.push((lifted, Act::Stop(host, false)));
    }
    for at in times(3.0, chance) {
        let worker = chance.below(workers) as usize;
        acts.push((at, Act::ProxyShut(worker, chance.between(5, 1800) * SECOND)));
    }
}
