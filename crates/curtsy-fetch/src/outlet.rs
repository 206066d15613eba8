//! What the workers of a process share on their way out: TLS roots, names, the guard, and the caps.

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
use crate::resolve::{Names, OsResolver, Resolve};
use crate::settings::{Settings, SettingsError, SpeedFloor};
use crate::tls;

/// One for a process; cheap to clone, may go to every worker's thread.
#[derive(Clone)]
pub struct Outlet(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) timeouts: Timeouts,
    pub(crate) body: BodyPolicy,
    pub(crate) floor: SpeedFloor,
    pub(crate) idle_per_authority: usize,
    pub(crate) proxies: Proxies,
    pub(crate) guard: Guard,
    /// Whether addresses that the user allowed by name have their requests counted.
    pub(crate) count_allowed: bool,
    pub(crate) names: Names,
    pub(crate) manner: Manner,
    pub(crate) tls: Arc<ClientConfig>,
    /// Places for connections.
    pub(crate) places: Arc<Semaphore>,
    /// Workers that wait for a place: while there are any, nothing is kept idle.
    pub(crate) waiting: AtomicUsize,
    pub(crate) memory: BodyMemory,
    /// Hosts that the guard refused, by name.
    refusals: Mutex<BTreeMap<String, GuardRefusal>>,
}

impl Shared {
    /// Keeps a refusal for the report.
    pub(crate) fn note_refusal(&self, refusal: GuardRefusal) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        if refusals.len() < REFUSALS_MAX || refusals.contains_key(&refusal.host) {
            refusals.insert(refusal.host.clone(), refusal);
        }
    }
}

/// Refused hosts that are kept by name.
pub(crate) const REFUSALS_MAX: usize = 1000;

impl Outlet {
    /// An outlet that asks the operating system for names.
    pub fn new(settings: &Settings) -> Result<Outlet, SettingsError> {
        Outlet::with_resolver(settings, Arc::new(OsResolver))
    }

    /// An outlet with a resolver of one's own. Pins still come first.
    pub fn with_resolver(
        settings: &Settings,
        resolver: Arc<dyn Resolve>,
    ) -> Result<Outlet, SettingsError> {
        let shared = Shared {
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
            names: Names::new(settings.pins.clone(), resolver),
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

    /// Hosts that the guard refused until now, by name; a bounded number of them.
    pub fn refusals(&self) -> Vec<GuardRefusal> {
        let refusals = self.0.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.values().cloned().collect()
    }

    /// Which addresses may be dialled.
    pub fn guard(&self) -> &Guard {
        &self.0.guard
    }
}
