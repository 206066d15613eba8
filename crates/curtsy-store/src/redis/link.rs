//! A connection to Redis that is made again whenever it is lost.
//!
//! Whoever connects first asks which life of the server this is (see `arrive.lua`): until that is answered, nobody else gets the connection. So
//! after a restart that may have lost something, nothing is read before the new epoch has begun.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, Cmd, IntoConnectionInfo, RedisError, Value};
use tokio::sync::Mutex;

use super::script::{ARRIVE, Script};

/// How scripts reach Redis.
pub trait Wire {
    /// Runs a script; the command names it by its hash.
    async fn run(&self, script: &'static Script, command: &Cmd) -> Result<Value, WireError>;
    /// The store is empty: the server is greeted once more.
    async fn greet_again(&self) -> Result<(), WireError>;
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
    /// What this Redis is for.
    pub holds: Holds,
}

/// What a Redis is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Host states and queues: nothing there may be lost without being noticed.
    Hosts,
    /// Pages alone, which can be had again.
    Pages,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions {
            timeout: Duration::from_secs(2),
            quiet: Duration::from_secs(31),
            empty: Empty::Lost,
            holds: Holds::Hosts,
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
    trouble: RefCell<Option<String>>,
    /// Questions so far.
    asked: Cell<u64>,
}

impl Link {
    /// A link to the Redis at an address (`redis://127.0.0.1:6379/0`). Nothing is connected yet.
    pub fn new(url: &str, options: LinkOptions) -> Result<Link, WireError> {
        let unfit = |e: RedisError| WireError::Unfit(format!("the address of Redis: {e}"));
        let info = url.into_connection_info().map_err(unfit)?;
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        Ok(Link {
            client: Client::open(info).map_err(unfit)?,
            options,
            connected: RefCell::new(None),
            connections: Cell::new(0),
            connecting: Mutex::new(()),
            trouble: RefCell::new(None),
            asked: Cell::new(0),
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

    /// Runs a command that is no script.
    pub async fn command(&self, command: &Cmd) -> Result<Value, WireError> {
        self.asked.set(self.asked.get() + 1);
        let (mut connection, number) = self.connection().await?;
        let answer = command.query_async::<Value>(&mut connection).await;
        self.note(answer, number)
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
        let greeted = self.connect().await;
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
        let mut connection = connecting.await.map_err(|e| WireError::NotDone(said(&e)))?;
        if self.options.holds == Holds::Pages {
            return Ok(connection);
        }
        let not_done = |e: RedisError| WireError::NotDone(said(&e));
        let info: String =
            redis::cmd("INFO").query_async(&mut connection).await.map_err(not_done)?;
        // Who may not ask has to reckon with the worst.
        let fsync: Vec<String> = redis::cmd("CONFIG")
            .arg(&["GET", "appendfsync"])
            .query_async(&mut connection)
            .await
            .unwrap_or_default();
        let server = Server::read(&info, fsync.get(1).map(String::as_str))?;
        // A store that is empty later is no new one.
        let empty = if self.connections.get() == 0 { self.options.empty } else { Empty::Lost };
        let arrive = arrive(&server, "", &LinkOptions { empty, ..self.options.clone() });
        let load = redis::cmd("EVAL").arg(ARRIVE.text).arg(0).to_owned();
        let mut command = load;
        for part in &arrive {
            command.arg(part);
        }
        let answer: Vec<String> = command.query_async(&mut connection).await.map_err(not_done)?;
        match answer.first().map(String::as_str) {
            Some("version") => Err(WireError::Unfit(format!(
                "what is in this Redis was written by another version of curtsy (layout {})\nhint: \
                 use that version, or another database number",
                answer.get(1).map_or("unknown", String::as_str)
            ))),
            _ => Ok(connection),
        }
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
        self.trouble.replace(Some(said(&error)));
        let lost = error.is_io_error() || error.is_connection_dropped() || error.is_timeout();
        if lost && self.connections.get() == number {
            self.connected.replace(None);
        }
        Err(match lost {
            true => WireError::Unknown(said(&error)),
            false => WireError::NotDone(said(&error)),
        })
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

    async fn greet_again(&self) -> Result<(), WireError> {
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

/// What a worker tells the store on arrival, for `arrive.lua`.
pub fn arrive(server: &Server, raw: &str, options: &LinkOptions) -> [String; 5] {
    let flag = |is: bool| if is { "1" } else { "0" }.to_owned();
    [
        raw.to_owned(),
        server.run.clone(),
        flag(server.lossless),
        options.quiet.as_micros().to_string(),
        flag(options.empty == Empty::New),
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

/// What Redis said, in one line and without anybody's password.
fn said(error: &RedisError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
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
