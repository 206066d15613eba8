//! A connection to Redis that is opened again when it is lost.
//!
//! A new connection first checks the user's rights (see `rights`) and then whether the server has
//! restarted (see `arrive.lua`). Until both are done, no caller gets the connection. So after a
//! restart that may have lost something, nothing is read before the new epoch has begun, and no
//! script begins that its user may not finish.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use curtsy_engine::check::QUIET;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, RedisError, Value};
use tokio::sync::Mutex;

use super::refusal::{RedisRefusal, said};
use super::rights::Rights;
use super::script::{ARRIVE, RedisScript};

/// How often an unreachable Redis is tried.
const TRIED_EVERY: Duration = Duration::from_millis(100);

/// The way of scripts to Redis.
pub trait Wire {
    /// Runs a script. The command names the script by its hash.
    async fn run(&self, script: &'static RedisScript, command: &Cmd) -> Result<Value, WireError>;
    /// Runs `arrive.lua` again, because the store is empty, or is another one than the store that
    /// the caller knows by the epoch `known`.
    async fn greet_again(&self, known: Option<u64>) -> Result<(), WireError>;
}

/// Why a script has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WireError {
    /// The script may have run or not.
    #[error("{0}")]
    Unknown(String),
    /// The script has not run.
    #[error("{0}")]
    NotDone(String),
    /// The script has not run, because Redis has no room or is not ready. This may pass.
    #[error("{0}")]
    Refused(String),
    /// The server's configuration is not suitable.
    #[error("{0}")]
    Unfit(String),
}

/// The meaning of an empty store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// Everything may be lost, and earlier requests may still be running.
    Lost,
    /// The store is new.
    New,
}

/// Options of a link.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// How long to wait for an answer.
    pub timeout: Duration,
    /// How long nothing is granted in a new epoch: one lease, so that all earlier requests have
    /// ended.
    pub quiet: Duration,
    /// The meaning of a store that is empty at the first connection.
    pub empty: Empty,
    /// The kind of the client.
    pub caller: ClientKind,
    /// What the user must be allowed to do. Missing rights are reported before anything is done.
    pub rights: Rights,
}

/// The kind of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientKind {
    /// It reads or writes host states. It runs `arrive.lua`, so that no loss goes unnoticed.
    Worker,
    /// It reads or writes pages or seeds, which can be restored. It does not run `arrive.lua`.
    Guest,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            timeout: Duration::from_secs(2),
            quiet: QUIET,
            empty: Empty::Lost,
            caller: ClientKind::Worker,
            rights: Rights::default(),
        }
    }
}

/// A connection to Redis for one worker.
pub struct RedisLink {
    client: Client,
    options: LinkOptions,
    connected: RefCell<Option<MultiplexedConnection>>,
    /// Counts connections: a failure of an old one says nothing about a new one.
    connections: Cell<u64>,
    connecting: Mutex<()>,
    /// When connecting last failed, and why. There are many visits, and each would try.
    failed: RefCell<Option<(Instant, WireError)>>,
    trouble: RefCell<Option<String>>,
    asked: Cell<u64>,
    /// The epoch of the store that the caller of the last [`Wire::greet_again`] knows.
    known: Cell<Option<u64>>,
}

impl RedisLink {
    /// Returns a link to the Redis at an address (`redis://127.0.0.1:6379/0`). It is not connected
    /// yet.
    pub fn new(url: &str, options: LinkOptions) -> Result<RedisLink, WireError> {
        let unfit = |e: RedisError| {
            WireError::Unfit(format!(
                "this is no address of a Redis: {e}\nhint: `redis://USER:PASSWORD@HOST:PORT/NUMBER`, with `%2F` for a `/` in a password"
            ))
        };
        let info = url.into_connection_info().map_err(unfit)?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(RedisLink {
            client: Client::open(info).map_err(unfit)?,
            options,
            connected: RefCell::new(None),
            connections: Cell::new(0),
            connecting: Mutex::new(()),
            failed: RefCell::new(None),
            trouble: RefCell::new(None),
            asked: Cell::new(0),
            known: Cell::new(None),
        })
    }

    /// Returns why the link does not work at the moment.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Returns the number of round trips so far.
    pub fn round_trips(&self) -> u64 {
        self.asked.get()
    }

    /// Connects, so that errors show before there is work.
    pub async fn open(&self) -> Result<(), WireError> {
        self.connection().await.map(|_| ())
    }

    /// Returns the connection, and opens it if necessary.
    async fn connection(&self) -> Result<(MultiplexedConnection, u64), WireError> {
        if let Some(connection) = &*self.connected.borrow() {
            return Ok((connection.clone(), self.connections.get()));
        }
        let _first = self.connecting.lock().await;
        if let Some(connection) = &*self.connected.borrow() {
            return Ok((connection.clone(), self.connections.get()));
        }
        if let Some((at, error)) = &*self.failed.borrow()
            && at.elapsed() < TRIED_EVERY
        {
            return Err(error.clone());
        }
        let greeted = self.connect().await;
        self.failed.replace(greeted.as_ref().err().map(|error| (Instant::now(), error.clone())));
        match greeted {
            Ok(connection) => {
                self.trouble.replace(None);
                self.connected.replace(Some(connection.clone()));
                self.connections.set(self.connections.get() + 1);
                Ok((connection, self.connections.get()))
            }
            Err(error) => {
                self.trouble.replace(Some(error.to_string()));
                Err(error)
            }
        }
    }

    async fn connect(&self) -> Result<MultiplexedConnection, WireError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.options.timeout))
            .set_response_timeout(Some(self.options.timeout));
        let connecting = self.client.get_multiplexed_async_connection_with_config(&config);
        let failed = |e: RedisError| self.failure(&e);
        let mut connection = connecting.await.map_err(failed)?;
        self.check_rights(&mut connection).await?;
        if self.options.caller == ClientKind::Guest {
            return Ok(connection);
        }
        let info: String = redis::cmd("INFO").query_async(&mut connection).await.map_err(failed)?;
        // If the setting can't be read, the worst case is assumed.
        let fsync: Vec<String> = redis::cmd("CONFIG")
            .arg(&["GET", "appendfsync"])
            .query_async(&mut connection)
            .await
            .unwrap_or_default();
        let server = Server::read(&info, fsync.get(1).map(String::as_str))?;
        // A store that is empty later is not new.
        let empty = if self.connections.get() == 0 { self.options.empty } else { Empty::Lost };
        let options = LinkOptions { empty, ..self.options.clone() };
        let arrive = arrive(&server, "", &options, self.known.get());
        let mut command = redis::cmd("EVAL");
        command.arg(ARRIVE.text).arg(0).arg(&arrive[..]);
        let answer: Vec<String> = command.query_async(&mut connection).await.map_err(failed)?;
        match answer.first().map(String::as_str) {
            Some("version") => Err(WireError::Unfit(format!(
                "what is in this Redis was written by another version of curtsy (layout {})\nhint: \
                 use that version, or another database number",
                answer.get(1).map_or("unknown", String::as_str)
            ))),
            _ => Ok(connection),
        }
    }

    /// Checks that the user has all rights.
    async fn check_rights(&self, connection: &mut MultiplexedConnection) -> Result<(), WireError> {
        let Some(question) = self.options.rights.question() else { return Ok(()) };
        let may: Vec<u8> = question.query_async(connection).await.map_err(|e| self.failure(&e))?;
        match self.options.rights.missing(&may) {
            Some(missing) => Err(WireError::Unfit(format!("{missing}\n{}", self.grant()))),
            None => Ok(()),
        }
    }

    /// Returns the meaning of an error before anything was done.
    fn failure(&self, error: &RedisError) -> WireError {
        let text = said(error);
        match RedisRefusal::of(error) {
            Some(RedisRefusal::Login) => WireError::Unfit(text),
            Some(RedisRefusal::Right | RedisRefusal::RightHalfway) => {
                WireError::Unfit(format!("{text}\n{}", self.grant()))
            }
            Some(RedisRefusal::Passing) => WireError::Refused(text),
            None => WireError::NotDone(text),
        }
    }

    /// Returns a hint about missing rights.
    fn grant(&self) -> String {
        let user = self.client.get_connection_info().redis_settings().username();
        self.options.rights.hint(user.unwrap_or("default"))
    }

    fn note(&self, answer: Result<Value, RedisError>, number: u64) -> Result<Value, WireError> {
        let error = match answer {
            Ok(value) => {
                if self.trouble.borrow().is_some() {
                    self.trouble.replace(None);
                }
                return Ok(value);
            }
            Err(error) => error,
        };
        let lost = error.is_io_error() || error.is_connection_dropped() || error.is_timeout();
        let refusal = RedisRefusal::of(&error);
        // A user who lost a right gets no connection before it has all rights again: a script that
        // may do only half of its work must not begin.
        let forbidden = matches!(refusal, Some(RedisRefusal::Right | RedisRefusal::RightHalfway));
        if (lost || forbidden) && self.connections.get() == number {
            self.connected.replace(None);
        }
        let error = match lost || refusal == Some(RedisRefusal::RightHalfway) {
            true => WireError::Unknown(said(&error)),
            false => self.failure(&error),
        };
        self.trouble.replace(Some(error.to_string()));
        Err(error)
    }
}

impl Wire for RedisLink {
    async fn run(&self, script: &'static RedisScript, command: &Cmd) -> Result<Value, WireError> {
        let (mut connection, number) = self.connection().await?;
        self.asked.set(self.asked.get() + 1);
        let mut answer = command.query_async::<Value>(&mut connection).await;
        if answer.as_ref().is_err_and(is_unknown_script) {
            let load = redis::cmd("SCRIPT").arg("LOAD").arg(script.text).to_owned();
            if let Err(error) = load.query_async::<Value>(&mut connection).await {
                return self.note(Err(error), number);
            }
            answer = command.query_async::<Value>(&mut connection).await;
        }
        self.note(answer, number)
    }

    async fn greet_again(&self, known: Option<u64>) -> Result<(), WireError> {
        self.known.set(known);
        self.connected.replace(None);
        self.connection().await.map(|_| ())
    }
}

/// Whether Redis does not have a script since its last start.
pub fn is_unknown_script(error: &RedisError) -> bool {
    error.code() == Some("NOSCRIPT")
}

/// Returns the command that runs a script. Its arguments follow.
pub(super) fn by_hash(script: &RedisScript) -> Cmd {
    let mut command = redis::cmd("EVALSHA");
    command.arg(script.hash()).arg(0);
    command
}

/// Returns the arguments of `arrive.lua` for a worker that knows the store by the epoch `known`.
pub fn arrive(
    server: &Server,
    raw: &str,
    options: &LinkOptions,
    known: Option<u64>,
) -> [String; 6] {
    let flag = |is: bool| if is { "1" } else { "0" }.to_owned();
    [
        raw.to_owned(),
        server.run.clone(),
        flag(server.lossless),
        options.quiet.as_micros().to_string(),
        flag(options.empty == Empty::New),
        known.map(|epoch| epoch.to_string()).unwrap_or_default(),
    ]
}

/// What a Redis server reports of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// A name that changes with each start of the server.
    pub run: String,
    /// Whether no acknowledged write is lost at a restart.
    pub lossless: bool,
}

impl Server {
    /// Reads `INFO`, and `appendfsync` if it is known. A server that could lose host states while
    /// it runs is refused.
    pub fn read(info: &str, appendfsync: Option<&str>) -> Result<Server, WireError> {
        let of = |name: &str| {
            let mut lines = info.lines();
            lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
        };
        let unfit = |why: String| Err(WireError::Unfit(why));
        let version = of("redis_version").unwrap_or_default();
        let major: u32 = version.split('.').next().and_then(|v| v.parse().ok()).unwrap_or(0);
        if major < 7 {
            return unfit(format!("Redis `{version}` is too old: host states need 7.0 or later"));
        }
        if of("role").is_some_and(|role| role != "master") {
            return unfit(
                "this Redis is a replica: host states live on the primary\nhint: give the primary's address"
                    .into(),
            );
        }
        match of("maxmemory_policy") {
            Some("noeviction") | None => {}
            Some(policy) => {
                return unfit(format!(
                    "this Redis evicts (`maxmemory-policy {policy}`), and what it evicts first is when each \
                     host may be asked again\nhint: `CONFIG SET maxmemory-policy noeviction`; the pages may live in \
                     another Redis (PAGE_FETCHER_CACHE_REDIS_URL)"
                ));
            }
        }
        // A replica that was promoted may lack writes that its primary had acknowledged.
        let promoted = of("master_replid2").is_some_and(|id| id.bytes().any(|b| b != b'0'));
        let lossless = of("aof_enabled") == Some("1") && appendfsync == Some("always") && !promoted;
        Ok(Server { run: of("run_id").unwrap_or_default().to_owned(), lossless })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "# Server\r\nredis_version:7.0.15\r\nrun_id:abc\r\nmaxmemory_policy:noeviction\r\nrole:master\r\n\
        master_replid2:0000\r\naof_enabled:1\r\n";

    #[test]
    fn a_server_that_keeps_every_write_differs_from_one_that_may_not() {
        let read = |info: &str, fsync| Server::read(info, fsync).unwrap();
        assert_eq!(read(INFO, Some("always")), Server { run: "abc".into(), lossless: true });
        assert!(!read(INFO, Some("everysec")).lossless);
        assert!(!read(INFO, None).lossless, "who may not ask reckons with the worst");
        assert!(!read(&INFO.replace("aof_enabled:1", "aof_enabled:0"), Some("always")).lossless);
        assert!(!read(&INFO.replace("0000", "00f0"), Some("always")).lossless, "it was promoted");
    }

    #[test]
    fn a_server_that_evicts_or_only_copies_is_refused() {
        let refused = |from: &str, to: &str| {
            Server::read(&INFO.replace(from, to), None).unwrap_err().to_string()
        };
        assert!(refused("noeviction", "volatile-ttl").contains("volatile-ttl"));
        assert!(refused("role:master", "role:slave").contains("replica"));
        assert!(refused("7.0.15", "6.2.1").contains("6.2.1"));
    }
}
