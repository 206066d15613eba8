//! What a worker is asked to do: plain data that the command fills in.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use curtsy_core::policy::Policy;
use curtsy_engine::Point;
use curtsy_fetch::FetchSettings as Outlet;

/// A worker of a fleet.
#[derive(Clone, Debug)]
pub struct FleetSpec {
    /// Where host states and queues are.
    pub redis_url: String,
    /// Where pages are.
    pub cache_redis_url: String,
    /// Where events go.
    pub kafka_brokers: String,
    /// Further settings of librdkafka.
    pub kafka_settings: Vec<(String, String)>,
    /// What queues and topics are called.
    pub names: QueueNames,
    /// The longest time between two looks at an empty queue.
    pub poll: Duration,
    /// Its manners.
    pub policy: Arc<Policy>,
    /// Who it says it is.
    pub user_agent: String,
    /// Its way out.
    pub outlet: Outlet,
    /// Whether links that are found are fetched too, on the hosts that were asked for.
    pub follow: bool,
    /// Where health and metrics are told; none tells nobody.
    pub listen: Option<SocketAddr>,
    /// Where it keeps what it remembers.
    pub state_dir: PathBuf,
    /// Visits at once.
    pub visits: usize,
    /// Whether it ends when nothing is left to do.
    pub until_empty: bool,
    /// Whether an empty Redis is a new one: then nothing is waited for.
    pub new_store: bool,
    /// The point of a visit at which the worker dies, and how often it passes this point before.
    /// For tests.
    pub dies_at: Option<(Point, u32)>,
}

/// What queues and topics are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueNames {
    /// The queue of URLs.
    pub input_queue: String,
    /// Dead letters.
    pub dlq_queue: String,
    /// Entries that are no URLs, and URLs that nobody survives.
    pub rejected_queue: String,
    /// The topic of events.
    pub topic: String,
}

impl Default for QueueNames {
    fn default() -> QueueNames {
        QueueNames {
            input_queue: "crawler_queue".into(),
            dlq_queue: "page_fetcher_dlq".into(),
            rejected_queue: "page_fetcher_rejected".into(),
            topic: "webpage_log".into(),
        }
    }
}
