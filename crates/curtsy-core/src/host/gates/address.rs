//! The address gate: requests in flight to a server's address, which many hosts may share.
//!
//! The address is known once a connection stands, and the store counts its slots in the commit that
//! grants a turn. So the gate finds nothing in a host's state. Its finding is the result of that
//! commit; before the commit it says that it has not checked.

use serde::{Deserialize, Serialize};

use super::{GateCheck, Telling};
use crate::host::{Finding, Verdict};
use crate::time::Time;

/// Limits the requests in flight to an address.
pub(super) struct AddressGate;

/// The store's answer about the slots of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSlot {
    /// Requests on this address are not counted.
    Uncounted,
    /// The request holds one of this many slots.
    Held(u16),
    /// All slots are taken, until this time at the latest.
    Full(Time),
}

/// The state of the slots of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressReason {
    /// All slots are taken.
    Taken,
    /// The request holds a slot.
    Held {
        /// The number of slots of the address.
        slots: u16,
    },
    /// Requests on this address are not counted.
    Uncounted,
}

impl AddressSlot {
    /// Returns the finding of the gate.
    pub fn finding(self) -> Finding {
        match self {
            AddressSlot::Uncounted => Finding::go(AddressReason::Uncounted),
            AddressSlot::Held(slots) => Finding::go(AddressReason::Held { slots }),
            AddressSlot::Full(until) => {
                Finding::new(Verdict::NotBefore(until), AddressReason::Taken)
            }
        }
    }
}

impl GateCheck for AddressGate {
    type Reason = AddressReason;
    const NAME: &'static str = "address";
    const CLEAR: &'static str = "not looked at: no request was granted";

    fn sentence(reason: AddressReason, _: &Telling<'_>) -> String {
        match reason {
            AddressReason::Taken => "all slots of the server's address are taken".to_owned(),
            AddressReason::Held { slots: 1 } => "the only slot of the server's address".to_owned(),
            AddressReason::Held { slots } => {
                format!("one of {slots} slots of the server's address was free")
            }
            AddressReason::Uncounted => {
                "requests to this server's address are not limited".to_owned()
            }
        }
    }
}

tags! {
    AddressReason { 17 Taken, 28 Held { slots }, 29 Uncounted }
}
