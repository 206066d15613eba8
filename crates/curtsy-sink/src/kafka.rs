//! Events of fetched pages, for a fleet's consumers.
//!
//! A batch is accepted when the brokers have acknowledged all of its events (`acks=all`,
//! idempotent). If an event fails, the batch is refused and comes again. This process does not
//! repeat acknowledged events. An event that another process repeats has the same `event_id`.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

use curtsy_core::evidence::{WebpageEvent, event_key};
use curtsy_engine::{Batch, Boxed, Row, Sink, SinkError};
use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::future_producer::DeliveryFuture;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

/// The time for the delivery of an event, after which its batch is refused. Fetching stops long
/// before.
pub(crate) const TOLD_WITHIN: Duration = Duration::from_secs(10);
/// How long an event waits for its batch.
const LINGER_MS: &str = "5";
/// The longest wait before librdkafka connects to a broker again; its default is ten seconds.
const RECONNECT_MS: &str = "1000";
/// The time for the brokers to describe the topic.
pub(crate) const TOPIC_WITHIN: Duration = Duration::from_secs(5);

/// The brokers and the topic.
#[derive(Clone, Debug)]
pub struct KafkaSettings {
    /// Brokers to begin with: `host:port,host:port`.
    pub brokers: String,
    /// The topic.
    pub topic: String,
    /// The client id.
    pub client: String,
    /// Further settings of librdkafka, by its names.
    pub more: Vec<(String, String)>,
    /// The trace id of the run.
    pub trace_id: String,
}

/// Publishes events to Kafka.
pub struct KafkaSink {
    producer: RefCell<FutureProducer>,
    settings: KafkaSettings,
    /// Acknowledged events of a batch that was refused.
    told: RefCell<HashSet<String>>,
    published: Cell<u64>,
}

/// An error of Kafka.
#[derive(Debug, thiserror::Error)]
pub enum KafkaFault {
    /// A setting is wrong.
    #[error("kafka: {0}\nhint: settings are those of librdkafka, like `message.max.bytes`")]
    Settings(KafkaError),
    /// The topic does not exist.
    #[error(
        "kafka: topic `{topic}` does not exist at `{brokers}`\nhint: create it (`kafka-topics --create --topic {topic} …`) or set \
         PAGE_FETCHER_WEBPAGE_LOG_TOPIC"
    )]
    NoTopic {
        /// The topic.
        topic: String,
        /// The brokers.
        brokers: String,
    },
    /// No broker answered.
    #[error("kafka: no broker of `{brokers}` answers: {source}")]
    Away {
        /// The brokers.
        brokers: String,
        /// The error of librdkafka.
        source: KafkaError,
    },
}

impl KafkaSink {
    /// Returns a sink that is not connected yet.
    pub fn open(settings: KafkaSettings) -> Result<KafkaSink, KafkaFault> {
        let producer = producer(&settings).map_err(KafkaFault::Settings)?;
        Ok(KafkaSink {
            producer: RefCell::new(producer),
            settings,
            told: RefCell::default(),
            published: Cell::new(0),
        })
    }

    /// Returns a check that the topic exists. The check waits for the brokers, so it needs a thread
    /// of its own.
    pub fn check(&self) -> impl FnOnce() -> Result<(), KafkaFault> + Send + 'static {
        let (client, settings) = (self.producer.borrow().clone(), self.settings.clone());
        move || {
            let away = |source| KafkaFault::Away { brokers: settings.brokers.clone(), source };
            let told = client.client().fetch_metadata(Some(&settings.topic), TOPIC_WITHIN);
            let told = told.map_err(away)?;
            let mut errors = told.topics().iter().filter_map(|topic| topic.error());
            match errors.any(|error| is_missing(error.into())) {
                false => Ok(()),
                true => {
                    let KafkaSettings { topic, brokers, .. } = settings;
                    Err(KafkaFault::NoTopic { topic, brokers })
                }
            }
        }
    }

    /// Returns the number of acknowledged events.
    pub fn published(&self) -> u64 {
        self.published.get()
    }

    fn send(&self, row: &Row) -> Result<Option<(String, DeliveryFuture)>, KafkaError> {
        let Some(page) = row.webpage() else { return Ok(None) };
        let event = WebpageEvent::new(page, &self.settings.trace_id);
        if self.told.borrow().contains(&event.event_id) {
            return Ok(None);
        }
        let value = serde_json::to_vec(&event).expect("an event is plain data");
        let key = event_key(event.url);
        let record = FutureRecord::to(&self.settings.topic).key(&key[..]).payload(&value);
        let sent = self.producer.borrow().send_result(record).map_err(|(error, _)| error)?;
        Ok(Some((event.event_id, sent)))
    }

    async fn tell(&self, batch: &Batch) -> Result<(), KafkaError> {
        let mut failed = None;
        let mut on_the_way = Vec::with_capacity(batch.rows.len());
        for row in &batch.rows {
            match self.send(row) {
                Ok(sent) => on_the_way.extend(sent),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        for (id, delivery) in on_the_way {
            match delivery.await {
                Ok(Ok(_)) => {
                    self.published.set(self.published.get() + 1);
                    self.told.borrow_mut().insert(id);
                }
                Ok(Err((error, _))) => failed = Some(error),
                Err(_) => failed = Some(KafkaError::Canceled),
            }
        }
        match failed {
            Some(error) => {
                self.renew();
                Err(error)
            }
            None => {
                self.told.borrow_mut().clear();
                Ok(())
            }
        }
    }

    /// Replaces a producer that librdkafka has given up after a fatal error, for example if the
    /// brokers forgot the producer. Events that are repeated because of this have the same
    /// `event_id`.
    fn renew(&self) {
        let given_up = self.producer.borrow().client().fatal_error().is_some();
        if let Some(new) = given_up.then(|| producer(&self.settings).ok()).flatten() {
            drop(self.producer.replace(new));
        }
    }
}

fn is_missing(error: RDKafkaErrorCode) -> bool {
    matches!(error, RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic)
}

fn producer(settings: &KafkaSettings) -> Result<FutureProducer, KafkaError> {
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", &settings.brokers)
        .set("client.id", &settings.client)
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("compression.type", "zstd")
        .set("linger.ms", LINGER_MS)
        .set("reconnect.backoff.max.ms", RECONNECT_MS)
        .set("message.timeout.ms", TOLD_WITHIN.as_millis().to_string());
    for (name, value) in &settings.more {
        config.set(name, value);
    }
    config.create()
}

impl Sink for KafkaSink {
    fn write<'a>(&'a self, batch: &'a Batch) -> Boxed<'a, Result<(), SinkError>> {
        Box::pin(async move {
            let rows = batch.rows.len();
            self.tell(batch).await.map_err(|e| SinkError { rows, why: format!("kafka: {e}") })
        })
    }
}
