//! A connection to Redis that is made again whenever it is lost.
//!
//! Whoever connects first asks whether everything may be done that has to be (see `rights`), then which life of the server this is (see `arrive.lua`):
//! until that is answered, nobody else gets the connection. So after a restart that may have lost something, nothing is read before the new
//! epoch has begun; and no script begins that would not be allowed to end.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, RedisError, Value};
use tokio::sync::Mutex;

use super::refusal::{Refusal, said};
use super::rights::Rights;
use super::script::{ARRIVE, Script};

/// A Redis that can't be connected to is tried so often.
const TRIED_EVERY: Duration = Duration::from_millis(100);

/// How scripts reach Redis.
pub trait Wire {
    /// Runs a script; the command names it by its hash.
    async fn run(&self, script: &'static Script, command: &Cmd) -> Result<Value, WireError>;
    /// Greets the server once more, because the store is empty, or is another one than the store
    /// that the caller knows by the epoch `known`.
    async fn greet_again(&self, known: Option<u64>) -> Result<(), WireError>;
}

/// Why a script gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WireError {
    /// It may have run or not.
    #[error("{0}")]
    Unknown(String),
    /// It surely did not run.
    #[error("{0}")]
    NotDone(String),
    /// It surely did not run, since Redis has no room or is not ready. That may pass.
    #[error("{0}")]
    Refused(String),
    /// This server must not be used as it is set up.
    #[error("{0}")]
    Unfit(String),
}

/// What an empty store means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// Everything may be lost: requests of before may still run.
    Lost,
    /// Nobody was ever here.
    New,
}

/// How a link behaves.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// How long nothing is granted in a new epoch: one lease, so that what was in flight before has ended.
    pub quiet: Duration,
    /// What a store means that is empty when it is first met.
    pub empty: Empty,
    /// Who asks.
    pub caller: Caller,
    /// What it must be allowed to do; what is missing is told before anything is done.
    pub rights: Rights,
}

/// Who asks a Redis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who reads or writes host states: whoever comes as one says which life of the server this is, so that nothing is lost unnoticed.
    Worker,
    /// Somebody who brings or takes what can be had again, pages or seeds. A guest greets nobody.
    Guest,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            timeout: Duration::from_secs(2),
            quiet: Duration::from_secs(31),
            empty: Empty::Lost,
            caller: Caller::Worker,
            rights: Rights::default(),
        }
    }
}

/// A connection to Redis for one worker.
pub struct Link {
    client: Client,
    options: LinkOptions,
    connected: RefCell<Option<MultiplexedConnection>>,
    /// Counts connections: a failure on an old one says nothing about a new one.
    connections: Cell<u64>,
    connecting: Mutex<()>,
    /// When connecting last failed, and why: visits are many, and each would try by itself.
    failed: RefCell<Option<(Instant, WireError)>>,
    trouble: RefCell<Option<String>>,
    /// Questions so far.
    asked: Cell<u64>,
    /// The epoch of the store that the caller of the last [`Wire::greet_again`] knows.
    known: Cell<Option<u64>>,
}

impl Link {
    /// A link to the Redis at an address (`redis://127.0.0.1:6379/0`). Nothing is connected yet.
    pub fn new(url: &str, options: LinkOptions) -> Result<Link, WireError> {
        let unfit = |e: RedisError| {
            WireError::Unfit(format!(
                "this is no address of a Redis: {e}\nhint: `redis://USER:PASSWORD@HOST:PORT/NUMBER`, with `%2F` for a `/` in a password"
            ))
        };
        let info = url.into_connection_info().map_err(unfit)?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(Link {
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

    /// What keeps the link from working at the moment.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Questions so far, each of them one way to Redis and back.
    pub fn round_trips(&self) -> u64 {
        self.asked.get()
    }

    /// Connects, unless it is connected: tells what is wrong before there is anything to do.
    pub async fn open(&self) -> Result<(), WireError> {
        self.connection().await.map(|_| ())
    }

    /// The connection, made if there is none.
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
        if self.options.caller == Caller::Guest {
            return Ok(connection);
        }
        let info: String = redis::cmd("INFO").query_async(&mut connection).await.map_err(failed)?;
        // Who may not ask has to reckon with the worst.
        let fsync: Vec<String> = redis::cmd("CONFIG")
            .arg(&["GET", "appendfsync"])
            .query_async(&mut connection)
            .await
            .unwrap_or_default();
        let server = Server::read(&info, fsync.get(1).map(String::as_str))?;
        // A store that is empty later is no new one.
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

    /// Whether everything may be done that has to be.
    async fn check_rights(&self, connection: &mut MultiplexedConnection) -> Result<(), WireError> {
        let Some(question) = self.options.rights.question() else { return Ok(()) };
        let may: Vec<u8> = question.query_async(connection).await.map_err(|e| self.failure(&e))?;
        match self.options.rights.missing(&may) {
            Some(missing) => Err(WireError::Unfit(format!("{missing}\n{}", self.grant()))),
            None => Ok(()),
        }
    }

    /// What a failure before anything was done means.
    fn failure(&self, error: &RedisError) -> WireError {
        let text = said(error);
        match Refusal::of(error) {
            Some(Refusal::Login) => WireError::Unfit(text),
            Some(Refusal::Right | Refusal::RightHalfway) => {
                WireError::Unfit(format!("{text}\n{}", self.grant()))
            }
            Some(Refusal::Passing) => WireError::Refused(text),
            None => WireError::NotDone(text),
        }
    }

    /// What to do about missing rights.
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
        let refusal = Refusal::of(&error);
        // Whoever lost a right is not let in again before it has all of them: a script that may do only half of its work must not begin.
        let forbidden = matches!(refusal, Some(Refusal::Right | Refusal::RightHalfway));
        if (lost || forbidden) && self.connections.get() == number {
            self.connected.replace(None);
        }
        let error = match lost || refusal == Some(Refusal::RightHalfway) {
            true => WireError::Unknown(said(&error)),
            false => self.failure(&error),
        };
        self.trouble.replace(Some(error.to_string()));
        Err(error)
    }
}

impl Wire for Link {
    async fn run(&self, script: &'static Script, command: &Cmd) -> Result<Value, WireError> {
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

/// Whether Redis has not seen a script since it started.
pub fn is_unknown_script(error: &RedisError) -> bool {
    error.code() == Some("NOSCRIPT")
}

/// The command that runs a script; its arguments follow.
pub(super) fn by_hash(script: &Script) -> Cmd {
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

/// What a Redis server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The name of this life of the server.
    pub run: String,
    /// Whether every write that it acknowledged outlives it.
    pub lossless: bool,
}

impl Server {
    /// Reads `INFO`, and `appendfsync` if that may be asked for. A server that could lose host states while it runs is refused.
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
        // A replica that was promoted may lack what its primary had acknowledged.
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
    fn a_server_that_keeps_every_write_is_told_from_one_that_may_not() {
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
