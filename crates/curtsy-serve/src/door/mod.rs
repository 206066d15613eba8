//! Who may come in, and what they may do.
//!
//! Changes need the bearer token, or a browser's session and the token in its forms (CSRF). Reading
//! is open on a loopback address, and needs one of these elsewhere. A request with a foreign `Host`
//! is refused (a foreign name that leads to this machine), and so is a change that comes from
//! another site's page. Sessions and tokens are kept as hashes only.

pub(crate) mod limit;
pub(crate) mod session;

use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Instant;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::ServeSpec;
use crate::api::{self, ApiError};
use crate::app::App;
use crate::db::{DbError, ServiceDatabase};
use crate::pages;
use crate::secret::{fits, hash_hex, new_token};

use limit::RateLimit;
use session::Sessions;
pub(crate) use session::{BrowserSession, COOKIE, SESSION_SECONDS};

/// Changing calls that one address may make in a minute.
pub(crate) const CHANGES_A_MINUTE: u32 = 600;
/// Wrong tokens and codes from one address in a minute.
pub(crate) const WRONG_A_MINUTE: u32 = 20;

/// The setting under which the token's hash is kept.
const TOKEN: &str = "token_sha256";

/// Keeps the door.
pub(crate) struct ServiceDoor {
    token_hash: String,
    sessions: Sessions,
    hosts: Vec<String>,
    public: bool,
    changes: Mutex<RateLimit>,
    wrong: Mutex<RateLimit>,
}

impl ServiceDoor {
    /// Opens the door; gives the token if it was made just now.
    pub(crate) fn open(
        spec: &ServeSpec,
        database: &ServiceDatabase,
    ) -> Result<(ServiceDoor, Option<String>), DbError> {
        let sql = "SELECT value FROM service_settings WHERE name = ?1";
        let kept: Option<String> = database.with(|db| db.first(sql, &[TOKEN.into()]))?;
        let (token_hash, new) = match (&spec.token, kept) {
            (Some(given), _) => (hash_hex(given), None),
            (None, Some(hash)) => (hash, None),
            (None, None) => {
                let token = rotate(database)?;
                (hash_hex(&token), Some(token))
            }
        };
        let port = spec.bind.port();
        let mut hosts = vec![spec.bind.to_string(), format!("localhost:{port}")];
        if spec.bind.ip().is_unspecified() || spec.bind.ip().is_loopback() {
            hosts.extend([format!("127.0.0.1:{port}"), format!("[::1]:{port}")]);
        }
        hosts.extend(spec.names.iter().map(|name| name.to_ascii_lowercase()));
        let door = ServiceDoor {
            token_hash,
            sessions: Sessions::default(),
            hosts,
            public: !spec.bind.ip().is_loopback(),
            changes: Mutex::new(RateLimit::new(CHANGES_A_MINUTE)),
            wrong: Mutex::new(RateLimit::new(WRONG_A_MINUTE)),
        };
        Ok((door, new))
    }

    /// A code that signs a browser in, once.
    pub(crate) fn sign_in_code(&self) -> String {
        self.sessions.new_code()
    }

    /// Opens a session for whoever has the token, or a code that was not used.
    pub(crate) fn sign_in(&self, given: &str) -> Option<BrowserSession> {
        let known = fits(given, &self.token_hash) || self.sessions.use_code(given);
        known.then(|| self.sessions.open())
    }

    /// Ends a session.
    pub(crate) fn sign_out(&self, headers: &HeaderMap) {
        self.sessions.close(headers);
    }

    /// The session of a request.
    pub(crate) fn session(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        self.sessions.find(headers)
    }

    /// Whether a request may change something: it has the token, or a session and its form's token.
    pub(crate) fn may_change(
        &self,
        headers: &HeaderMap,
        csrf: Option<&str>,
    ) -> Result<(), ApiError> {
        if let Some(token) = bearer(headers) {
            return match fits(token, &self.token_hash) {
                true => Ok(()),
                false => Err(ApiError::unauthorized("the token is not the one of this service")),
            };
        }
        let Some(session) = self.session(headers) else {
            return Err(ApiError::unauthorized(
                "this changes something, and needs the token: `Authorization: Bearer …`",
            ));
        };
        let header = headers.get("x-csrf-token").and_then(|value| value.to_str().ok());
        match csrf.or(header) == Some(&session.csrf) {
            true => Ok(()),
            false => Err(ApiError::forbidden(
                "the form's own token is missing or old\nhint: load the page again",
            )),
        }
    }

    /// Whether a request is meant for us: by its single `Host`, and by a target that is a whole URL
    /// (RFC 9112 §3.2.2).
    fn knows_host(&self, request: &Request) -> bool {
        let mut given = request.headers().get_all(header::HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return false };
        let knows = |host: &str| self.hosts.contains(&host.to_ascii_lowercase());
        let target = request.uri().authority();
        knows(host.to_str().unwrap_or_default())
            && target.is_none_or(|target| knows(target.as_str()))
    }

    /// Whether a request comes from one of our own pages, or from no page at all.
    fn comes_from_here(&self, headers: &HeaderMap) -> bool {
        let text =
            |name| headers.get(name).map(|value: &HeaderValue| value.to_str().unwrap_or("?"));
        let site = text("sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
        let origin = text("origin").is_none_or(|origin| {
            let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            host.is_some_and(|host| text("host").is_some_and(|own| own.eq_ignore_ascii_case(host)))
        });
        site && origin
    }
}

/// Makes a new token; the old one is worth nothing from now on.
pub(crate) fn rotate(database: &ServiceDatabase) -> Result<String, DbError> {
    let token = new_token();
    let hash = hash_hex(&token);
    database.transact(|db| {
        db.execute("DELETE FROM service_settings WHERE name = ?1", &[TOKEN.into()])?;
        let sql = "INSERT INTO service_settings (name, value) VALUES (?1, ?2)";
        db.execute(sql, &[TOKEN.into(), hash.into()])
    })?;
    Ok(token)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Every request passes here first, and every answer last.
pub(crate) async fn guard(
    State(app): State<App>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let path = request.uri().path().to_owned();
    // What another site's page has a browser send is not a guess of whoever sits before it.
    let from_here = app.door.comes_from_here(request.headers());
    let mut response = match admit(&app, peer, &request) {
        Ok(()) => next.run(request).await,
        Err(refused) => refused,
    };
    if response.status() == StatusCode::UNAUTHORIZED && from_here {
        app.door.wrong.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take(peer.ip());
    }
    let headers = response.headers_mut();
    for (name, value) in ALWAYS {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    app.health.timed(&path, began.elapsed());
    response
}

fn admit(app: &App, peer: SocketAddr, request: &Request) -> Result<(), Response> {
    let (door, headers, path) = (&app.door, request.headers(), request.uri().path());
    // A person is refused with a page.
    let refuse = |error: ApiError| match api::is_for_programs(path) {
        true => Err(error.into_response()),
        false => Err(pages::refused(error)),
    };
    if !door.knows_host(request) {
        return refuse(ApiError::misdirected(
            "the `Host` of this request is not a name of this service\nhint: `--name NAME` adds one",
        ));
    }
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if changes && !door.comes_from_here(headers) {
        return refuse(ApiError::forbidden("this request comes from a page of another site"));
    }
    let full = |limit: &Mutex<RateLimit>, take: bool| {
        let mut limit = limit.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match take {
            true => !limit.take(peer.ip()),
            false => limit.is_empty(peer.ip()),
        }
    };
    if full(&door.wrong, false) || (changes && full(&door.changes, true)) {
        return refuse(ApiError::too_many());
    }
    let open = path == "/login" || path == "/healthz" || path.starts_with("/assets/");
    let known = || {
        let by_token = bearer(headers).is_some_and(|token| fits(token, &door.token_hash));
        by_token || door.session(headers).is_some()
    };
    if door.public && !open && !known() {
        return match api::is_for_programs(path) {
            true => refuse(ApiError::unauthorized(
                "this service is not on a loopback address: reading needs the token too",
            )),
            false => Err(Redirect::to("/login").into_response()),
        };
    }
    Ok(())
}

/// Headers of every response: no foreign code, frames or images, no sniffing, no referrer.
const ALWAYS: &[(&str, &str)] = &[
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    // With `no-referrer` browsers say `Origin: null` with our own forms too.
    ("referrer-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];
