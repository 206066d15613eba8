//! Events to Kafka keep the contract of every sink, over a cluster of librdkafka's own.
#![cfg(feature = "kafka")]

use std::collections::BTreeMap;
use std::time::Duration;

use curtsy_engine::Sink;
use curtsy_sink::{KafkaSettings, KafkaSink};
use curtsy_testkit::sink::{KeptRow, SinkKind, SinkRig, keep_the_contract};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use serde_json::Value;

const TOPIC: &str = "webpage_log";
const PARTITIONS: i32 = 2;

struct InKafka(MockCluster<'static, DefaultProducerContext>);

impl SinkRig for InKafka {
    fn keeps(&self) -> SinkKind {
        SinkKind::Pages
    }

    fn open(&self) -> Box<dyn Sink + '_> {
        let settings = KafkaSettings {
            brokers: self.0.bootstrap_servers(),
            topic: TOPIC.into(),
            client: "contract".into(),
            more: Vec::new(),
            trace_id: "run-1".into(),
        };
        Box::new(KafkaSink::open(settings).unwrap())
    }

    /// The events, as a consumer is told to read them: each `event_id` counts once.
    fn kept(&self) -> Vec<KeptRow> {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.0.bootstrap_servers())
            .set("group.id", "contract")
            .set("enable.partition.eof", "true")
            .create()
            .unwrap();
        let mut all = TopicPartitionList::new();
        for partition in 0..PARTITIONS {
            all.add_partition_offset(TOPIC, partition, Offset::Beginning).unwrap();
        }
        consumer.assign(&all).unwrap();
        let mut urls = BTreeMap::new();
        let mut ended = 0;
        while ended < PARTITIONS {
            match consumer.poll(Duration::from_secs(30)).expect("a broker that answers") {
                Err(KafkaError::PartitionEOF(_)) => ended += 1,
                event => {
                    let event = event.unwrap();
                    let event: Value = serde_json::from_slice(event.payload().unwrap()).unwrap();
                    let text = |name: &str| event[name].as_str().unwrap().to_owned();
                    urls.insert(text("event_id"), text("url"));
                }
            }
        }
        urls.into_values().map(|url| KeptRow { url, ..KeptRow::default() }).collect()
    }
}

#[test]
fn events_to_kafka_keep_the_contract() {
    keep_the_contract(|| {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic(TOPIC, PARTITIONS, 1).unwrap();
        InKafka(cluster)
    });
}
