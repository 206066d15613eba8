//! Name lookup: pins first, then a cache, then the system's resolver. `localhost` and every name
//! below it are this machine; no server is asked for them (RFC 6761 §6.3).
//!
//! The system's resolver (`getaddrinfo`) knows the hosts file, local domains and split DNS, and
//! orders addresses by what the machine can reach (RFC 6724). It reports no TTL, so a response is
//! kept for a fixed time. Failures are kept too: thousands of URLs of a dead name cost two lookups
//! a minute.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use curtsy_core::url::HostKey;
use tokio::sync::Semaphore;

use crate::guard::Guard;
use crate::settings::NamePin;

/// The result of a lookup: the addresses in the order in which they are tried.
pub type Lookup<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Looks names up.
pub trait Resolve: Send + Sync {
    /// Looks a name up once.
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

/// Pins, the cache, and the resolver.
pub(crate) struct NameCache {
    pins: Vec<NamePin>,
    resolver: Arc<dyn Resolve>,
    cache: Mutex<HashMap<Box<str>, KnownName>>,
    lookups: Semaphore,
}

/// A cached name. Without addresses it does not resolve.
#[derive(Clone)]
struct KnownName {
    addresses: Arc<[IpAddr]>,
    until: Instant,
}

impl NameCache {
    pub(crate) fn new(pins: Vec<NamePin>, resolver: Arc<dyn Resolve>) -> NameCache {
        let lookups = Semaphore::new(LOOKUPS_MAX);
        NameCache { pins, resolver, cache: Mutex::default(), lookups }
    }

    /// Returns the addresses of a name; none if it does not resolve. An address that the guard
    /// refuses comes first.
    pub(crate) async fn addresses(&self, name: &str, guard: &Guard) -> Arc<[IpAddr]> {
        if let Some(pin) = self.pins.iter().find(|pin| pin.fits(name)) {
            return pin.addresses.as_slice().into();
        }
        if HostKey::parse(name).is_ok_and(|host| host.is_localhost()) {
            return Arc::new([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        if let Some(known) = self.known(name) {
            return known;
        }
        let _one = self.lookups.acquire().await.expect("never closed");
        // Another task may have looked it up meanwhile.
        if let Some(known) = self.known(name) {
            return known;
        }
        let mut addresses = self.resolver.lookup(name).await.unwrap_or_default();
        // All addresses are judged, however many there are: a forbidden one must not be cut off.
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

    /// Notes a lookup that took too long as a name that does not resolve.
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
        let known = KnownName { addresses: Arc::clone(&addresses), until: now + keep };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= NAMES_MAX {
            cache.retain(|_, known| known.until > now);
        }
        if cache.len() >= NAMES_MAX {
            // All are fresh: half of them are dropped and looked up again.
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

/// How long addresses are used. Most TTLs are about as long.
const KEEP_ANSWER: Duration = Duration::from_secs(300);
/// How long a name that does not resolve is not looked up again.
const KEEP_FAILURE: Duration = Duration::from_secs(30);
/// The largest number of cached names.
pub(crate) const NAMES_MAX: usize = 65_536;
/// The largest number of addresses of a name that are tried.
pub(crate) const ADDRESSES_MAX: usize = 32;
/// The largest number of lookups at once: each uses a thread.
pub(crate) const LOOKUPS_MAX: usize = 64;
