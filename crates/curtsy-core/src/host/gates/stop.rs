//! The stop gate: a person's order to send no more requests to a host.

use serde::{Deserialize, Serialize};

use super::{GateCase, GateCheck, SlotEnds, Telling};
use crate::host::{Finding, HostState, Scene, Verdict};
use crate::time::Time;

/// Obeys stop orders.
pub(super) struct StopGate;

/// Why nothing of the host is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopReason {
    /// A person ordered it.
    Ordered,
}

impl GateCheck for StopGate {
    type Reason = StopReason;
    const NAME: &'static str = "stop";
    const CLEAR: &'static str = "no order to stop is in force";

    fn of_url(case: &GateCase<'_>) -> Finding {
        match case.scene.stopped {
            true => Finding::new(Verdict::NotBefore(Time::NEVER), StopReason::Ordered),
            false => Finding::CLEAR,
        }
    }

    fn earliest(_: &HostState, scene: &Scene<'_>, _: SlotEnds) -> Time {
        if scene.stopped { Time::NEVER } else { Time::START }
    }

    fn sentence(_: StopReason, _: &Telling<'_>) -> String {
        "somebody ordered us to stop asking this host".to_owned()
    }
}

tags! {
    StopReason { 25 Ordered }
}
