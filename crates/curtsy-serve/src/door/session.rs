//! Browsers that are signed in. Sessions go with the process: whoever comes later signs in again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, header};

use crate::secret::{hash_hex, new_token};

/// The cookie's name.
pub(crate) const COOKIE: &str = "curtsy_session";
/// How long a session lasts.
pub(crate) const SESSION_SECONDS: u64 = 12 * 3600;
/// How long a code can be used.
pub(crate) const CODE_SECONDS: u64 = 15 * 60;
/// Sessions at once; the oldest goes.
pub(crate) const SESSIONS_MAX: usize = 1_000;

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct BrowserSession {
    /// What the cookie holds; only known when the session is opened.
    pub(crate) cookie: Option<String>,
    /// What its forms hold.
    pub(crate) csrf: String,
}

#[derive(Default)]
pub(super) struct Sessions {
    open: Mutex<HashMap<String, (String, Instant)>>,
    codes: Mutex<Vec<(String, Instant)>>,
}

impl Sessions {
    pub(super) fn new_code(&self) -> String {
        let code = new_token();
        let until = Instant::now() + Duration::from_secs(CODE_SECONDS);
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.push((hash_hex(&code), until));
        code
    }

    pub(super) fn use_code(&self, given: &str) -> bool {
        let (hash, now) = (hash_hex(given), Instant::now());
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        codes.retain(|(_, until)| *until > now);
        let found = codes.iter().position(|(code, _)| *code == hash);
        found.map(|at| codes.swap_remove(at)).is_some()
    }

    pub(super) fn open(&self) -> BrowserSession {
        let (cookie, csrf) = (new_token(), new_token());
        let until = Instant::now() + Duration::from_secs(SESSION_SECONDS);
        let mut open = self.lock();
        if open.len() >= SESSIONS_MAX
            && let Some(oldest) = open.iter().min_by_key(|(_, (_, until))| *until)
        {
            let oldest = oldest.0.clone();
            open.remove(&oldest);
        }
        open.insert(hash_hex(&cookie), (csrf.clone(), until));
        BrowserSession { cookie: Some(cookie), csrf }
    }

    pub(super) fn find(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        let hash = hash_hex(cookie(headers)?);
        let open = self.lock();
        let (csrf, until) = open.get(&hash)?;
        (*until > Instant::now()).then(|| BrowserSession { cookie: None, csrf: csrf.clone() })
    }

    pub(super) fn close(&self, headers: &HeaderMap) {
        if let Some(cookie) = cookie(headers) {
            self.lock().remove(&hash_hex(cookie));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, (String, Instant)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut parts = all.flat_map(|line| line.split(';')).map(str::trim);
    parts.find_map(|part| part.strip_prefix(COOKIE)?.strip_prefix('='))
}
