//! Names to addresses: pins first, then a cache, then the system's resolver.
//!
//! The system's resolver is asked (`getaddrinfo`), not one of our own: it knows the hosts file, the local domains and split DNS of an intranet,
//! it orders IPv4 and IPv6 by what the machine can reach (RFC 6724), and it costs no further crate. What it does not tell is a TTL, so an
//! answer is kept for a bound of our own. Failures are kept too: thousands of URLs of a dead name cost two lookups a minute.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::guard::Guard;
use crate::settings::NamePin;

/// The answer to a name: its addresses in the order in which they are tried.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Asks for the addresses of a name.
pub trait Resolve: Send + Sync {
    /// Looks a name up, once.
    fn lookup<'a>(&'a self, name: &'a str) -> Lookup<'a>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsResolver;

impl Resolve for OsResolver {
    fn lookup<'a>(&'a self, name: &'a str) -> Lookup<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Pins, the cache, and whom to ask.
pub(crate) struct Names {
    pins: Vec<NamePin>,
    resolver: Arc<dyn Resolve>,
    cache: Mutex<HashMap<Box<str>, Known>>,
    lookups: Semaphore,
}

/// What is known of a name. No addresses: it does not resolve.
#[derive(Clone)]
struct Known {
    addresses: Arc<[IpAddr]>,
    until: Instant,
}

impl Names {
    pub(crate) fn new(pins: Vec<NamePin>, resolver: Arc<dyn Resolve>) -> Names {
        let lookups = Semaphore::new(LOOKUPS_MAX);
        Names { pins, resolver, cache: Mutex::default(), lookups }
    }

    /// The addresses of a name that are tried; none if it does not resolve. If the guard refuses any of the answer, that one is first.
    pub(crate) async fn addresses(&self, name: &str, guard: &Guard) -> Arc<[IpAddr]> {
        if let Some(pin) = self.pins.iter().find(|pin| pin.fits(name)) {
            return pin.addresses.as_slice().into();
        }
        if let Some(known) = self.known(name) {
            return known;
        }
        let _one = self.lookups.acquire().await.expect("never closed");
        // Somebody may have asked while we waited.
        if let Some(known) = self.known(name) {
            return known;
        }
        let mut addresses = self.resolver.lookup(name).await.unwrap_or_default();
        // All of an answer is judged, however long it is: what refuses it must not be cut off.
        if let Some(at) = addresses.iter().position(|address| guard.judge(*address).is_err()) {
            addresses.swap(0, at);
        }
        addresses.truncate(ADDRESSES_MAX);
        let mut seen = Vec::with_capacity(addresses.len());
        addresses.retain(|address| {
            let new = !seen.contains(address);
            seen.push(*address);
            new
        });
        self.learn(name, addresses.into())
    }

    /// The addresses of a name as far as they are known without asking anybody.
    pub(crate) fn looked_up(&self, name: &str) -> Arc<[IpAddr]> {
        match self.pins.iter().find(|pin| pin.fits(name)) {
            Some(pin) => pin.addresses.as_slice().into(),
            None => self.known(name).unwrap_or_default(),
        }
    }

    /// A lookup that took too long: as a name that does not resolve.
    pub(crate) fn gave_up(&self, name: &str) {
        self.learn(name, Arc::new([]));
    }

    fn known(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = cache.get(name)?;
        (known.until > Instant::now()).then(|| Arc::clone(&known.addresses))
    }

    fn learn(&self, name: &str, addresses: Arc<[IpAddr]>) -> Arc<[IpAddr]> {
        let now = Instant::now();
        let keep = if addresses.is_empty() { KEEP_FAILURE } else { KEEP_ANSWER };
        let known = Known { addresses: Arc::clone(&addresses), until: now + keep };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= NAMES_MAX {
            cache.retain(|_, known| known.until > now);
        }
        if cache.len() >= NAMES_MAX {
            // All of them fresh: any half costs its lookups again, nothing else.
            let mut keep = false;
            cache.retain(|_, _| {
                keep = !keep;
                keep
            });
        }
        cache.insert(name.into(), known);
        addresses
    }
}

/// How long an answer is used: the system tells no TTL, and most are about this long.
const KEEP_ANSWER: Duration = Duration::from_secs(300);
/// How long a name that does not resolve is not asked again.
const KEEP_FAILURE: Duration = Duration::from_secs(30);
/// Names that are known at once.
pub(crate) const NAMES_MAX: usize = 65_536;
/// Addresses of one name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 32;
/// Lookups at once: each takes a thread for its time.
pub(crate) const LOOKUPS_MAX: usize = 64;
