//! What the workers of a process share: TLS roots, names, the guard, and the limits.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};

use curtsy_core::policy::{BodyPolicy, Timeouts};
use rustls::ClientConfig;
use tokio::sync::Semaphore;

use crate::ask::Manner;
use crate::guard::{Guard, GuardRefusal};
use crate::memory::BodyMemory;
use crate::own;
use crate::proxies::Proxies;
use crate::resolve::{NameCache, OsResolver, Resolve};
use crate::settings::{FetchSettings, SettingsError, SpeedFloor};
use crate::tls;

/// The shared part of a process. Cheap to clone, and may be sent to every worker's thread.
#[derive(Clone)]
pub struct Outlet(pub(crate) Arc<OutletShared>);

pub(crate) struct OutletShared {
    pub(crate) timeouts: Timeouts,
    pub(crate) body: BodyPolicy,
    pub(crate) floor: SpeedFloor,
    pub(crate) idle_per_authority: usize,
    pub(crate) proxies: Proxies,
    pub(crate) guard: Guard,
    /// Whether `slots.per_address` applies to addresses that the user allowed.
    pub(crate) count_allowed: bool,
    pub(crate) names: NameCache,
    pub(crate) manner: Manner,
    pub(crate) tls: Arc<ClientConfig>,
    /// Places for connections.
    pub(crate) places: Arc<Semaphore>,
    /// Workers that wait for a place. Meanwhile no connection is kept idle.
    pub(crate) waiting: AtomicUsize,
    pub(crate) memory: BodyMemory,
    /// Hosts that the guard refused, by name.
    refusals: Mutex<BTreeMap<String, GuardRefusal>>,
}

impl OutletShared {
    /// Keeps a refusal for the report.
    pub(crate) fn note_refusal(&self, refusal: GuardRefusal) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < REFUSALS_MAX || refusals.contains_key(&refusal.host) {
            refusals.insert(refusal.host.clone(), refusal);
        }
    }
}

/// Refused hosts that are kept.
pub(crate) const REFUSALS_MAX: usize = 1000;

impl Outlet {
    /// Returns an outlet with the system's resolver.
    pub fn new(settings: &FetchSettings) -> Result<Outlet, SettingsError> {
        Outlet::with_resolver(settings, Arc::new(OsResolver))
    }

    /// Returns an outlet with another resolver. Pins still come first.
    pub fn with_resolver(
        settings: &FetchSettings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Outlet, SettingsError> {
        let shared = OutletShared {
            timeouts: settings.timeouts.clone(),
            body: settings.body.clone(),
            floor: settings.floor,
            idle_per_authority: settings.idle_per_authority,
            guard: match settings.public {
                true => Guard::new(settings.allow_net.clone()),
                false => Guard::only(settings.allow_net.clone()),
            }
            .naming(settings.named.clone()),
            count_allowed: settings.count_allowed,
            names: NameCache::new(settings.pins.clone(), resolver),
            manner: Manner::new(
                settings.from.as_deref(),
                settings.compress,
                settings.proxies.plain_login(),
                own::read(&settings.own, &settings.proxies)?,
            ),
            tls: tls::config(&settings.ca_pem, settings.http2)?,
            places: Arc::new(Semaphore::new(settings.connections_max.max(1) as usize)),
            waiting: AtomicUsize::new(0),
            memory: BodyMemory::new(
                settings.body_memory,
                settings.body.decoded_max,
                settings.connections_max,
            ),
            proxies: settings.proxies.clone(),
            refusals: Mutex::default(),
        };
        Ok(Outlet(Arc::new(shared)))
    }

    /// Returns the hosts that the guard has refused, a limited number.
    pub fn refusals(&self) -> Vec<GuardRefusal> {
        let refusals = self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.values().cloned().collect()
    }

    /// Returns the guard.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }
}
