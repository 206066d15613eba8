//! Which policy holds for a host?
//!
//! A policy may have a pace that is only for machines on the user's own networks. A host that turns
//! out to be on a public address gets the slower pace of public hosts.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use curtsy_core::policy::Policy;
use curtsy_core::url::HostKey;

use crate::bounded_set::BoundedSet;

/// The job's policy, and what was learnt about hosts that changes it.
pub(crate) struct HostPolicies {
    pub(crate) job: Arc<Policy>,
    /// Hosts on public addresses, if the policy has a pace that is too fast for them.
    public: RefCell<BoundedSet<HostKey>>,
}

impl HostPolicies {
    pub(crate) fn new(job: Arc<Policy>) -> HostPolicies {
        HostPolicies { job, public: RefCell::default() }
    }

    pub(crate) fn of(&self, host: &HostKey) -> Cow<'_, Policy> {
        match self.public.borrow().contains(host) {
            true => self.job.for_public_host(host.as_str()),
            false => self.job.for_host(host.as_str()),
        }
    }

    /// Notes that a host is on a public address. Returns whether its pace changes by that.
    pub(crate) fn note_public(&self, host: &HostKey) -> bool {
        self.job.is_too_fast_for_public(Some(host.as_str()))
            && self.public.borrow_mut().insert(host.clone())
    }
}
