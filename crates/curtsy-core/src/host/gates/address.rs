//! Address: requests in flight on the address of a server, which many hosts may share.
//!
//! The address is known once a connection stands, and its slots are counted by the store, in the commit that grants a turn. So the gate
//! has nothing to find in a host's state: its finding comes from what the commit said, and before that it says that it has not looked.

use serde::{Deserialize, Serialize};

use super::{GateCheck, Telling};
use crate::host::{Finding, Verdict};
use crate::time::Time;

/// Keeps the number of requests in flight on an address.
pub(super) struct AddressGate;

/// What a store said about the slots of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressSlot {
    /// Requests on this address are not counted.
    Uncounted,
    /// One of so many slots was taken for the request.
    Held(u16),
    /// All slots are taken, until then at the latest.
    Full(Time),
}

/// What is known of the slots of the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AddressReason {
    /// All of them are taken.
    Taken,
    /// The request holds one of so many.
    Held {
        /// Slots of the address.
        slots: u16,
    },
    /// Requests on this address are not counted.
    Uncounted,
}

impl AddressSlot {
    /// The gate's finding.
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
