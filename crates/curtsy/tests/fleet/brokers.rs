//! Brokers that go away, refuse, and come back: events wait and nothing is fetched that can't be told.

use std::path::Path;
use std::time::{Duration, Instant};

use curtsy_testkit::services::{Broker, Proxy, Trouble};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};

use crate::fleet::{Consumer, Running, until};
use crate::trial::{Trial, kills};

/// "when the broker is away the worker stops claiming, and nothing is fetched that can't be kept"
#[test]
fn while_the_broker_is_away_nothing_is_fetched_that_cannot_be_kept() {
    let mut trial = Trial::new(3, 6, 200);
    let worker = trial.start();
    let end = Instant::now() + Duration::from_secs(60);
    while trial.fleet.events().len() < 20 {
        assert!(Instant::now() < end, "{}", trial.fleet.log());
        std::thread::sleep(Duration::from_millis(50));
    }
    trial.fleet.kafka.broker_down(1).unwrap();
    let asked = |trial: &Trial| trial.fleet.town.sites.as_ref().unwrap().log().len();
    // What is on its way is finished; then the hosts have their rest.
    let mut before = asked(&trial);
    let mut still = 0;
    while still < 8 {
        assert!(Instant::now() < end, "it does not stop: {}", trial.fleet.log());
        std::thread::sleep(Duration::from_millis(250));
        let now = asked(&trial);
        still = if now == before { still + 1 } else { 0 };
        before = now;
    }
    assert!(before < trial.urls.len(), "there is something left to do");
    trial.fleet.kafka.broker_up(1).unwrap();
    assert!(trial.urls.len() > 300 && !trial.fleet.log().is_empty());
    trial.outages += 1;
    trial.end("the broker away until nothing was left to do", vec![worker]);
}

/// Away for a moment, or for longer than an event may be on its way; refusals that pass: `CURTSY_KILLS=30` has it be thirty of them.
#[test]
fn brokers_that_are_away_or_refuse_lose_nothing() {
    let mut trial = Trial::new(9, 4, 20);
    let workers: Vec<Running> = (0..2).map(|_| trial.start()).collect();
    trial.work(2000, 2500);
    for n in 0..kills(3) {
        // Producers of events take their time to find a broker again.
        let before = trial.fleet.asked();
        until("a request", || {
            trial.refill();
            trial.fleet.asked() > before
        });
        trial.work(500, 1500);
        match n % 3 {
            0 => away(&mut trial, 200, 2500),
            1 => {
                let refusals = *trial.chance.pick(&REFUSALS);
                let times = 1 + trial.chance.below(8) as usize;
                trial.fleet.kafka.request_errors(RDKafkaApiKey::Produce, &vec![refusals; times]);
            }
            // Events are given back after ten seconds.
            _ if n % 6 == 5 => away(&mut trial, 11_000, 13_000),
            _ => away(&mut trial, 0, 300),
        }
        trial.outages += 1;
    }
    trial.end("brokers away or refusing", workers);
}

fn away(trial: &mut Trial, from: u64, to: u64) {
    trial.fleet.kafka.broker_down(1).unwrap();
    trial.work(from, to);
    trial.fleet.kafka.broker_up(1).unwrap();
}

/// What brokers say when they can't take an event now.
const REFUSALS: [RDKafkaRespErr; 6] = [
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
    RDKafkaRespErr::RD_KAFKA_RESP_ERR__TRANSPORT,
];

/// A broker of another make that keeps its data on a disk, and a trial that tells it.
fn with_broker(seed: u64, mut before: impl FnMut(&mut Broker)) -> (Broker, Trial) {
    let program = std::env::var("CURTSY_TANSU").expect("the program of a broker");
    let mut broker = Broker::with_topic(Path::new(&program), "webpage_log", 4);
    before(&mut broker);
    let mut trial = Trial::new(seed, 4, 20);
    trial.fleet.brokers = broker.address();
    trial.fleet.consumer = Consumer::Confluent;
    (broker, trial)
}

/// Workers for that broker. Events that time out get a new epoch of their producer, of which tansu 0.6.0 dies (`idempotent_message_check` panics, and nothing
/// is answered before its next start): so they must not.
fn patient(trial: &Trial) -> Vec<Running> {
    let settings = ["message.timeout.ms=120000", "reconnect.backoff.max.ms=500"];
    let args = ["--policy", "p.toml", "--kafka-set", settings[0], "--kafka-set", settings[1]];
    (0..2).map(|_| trial.fleet.start(&args)).collect()
}

/// Every event is as it was promised, and so is every page.
fn end_checked(trial: Trial, what: &str, workers: Vec<Running>) {
    trial.fleet.settle();
    let checked = trial.fleet.check_events();
    assert!(checked >= trial.urls.len(), "{checked} events for {} URLs", trial.urls.len());
    trial.end(what, workers);
}

/// From end to end: a broker that is killed in the midst of the stream and comes back with its data.
#[test]
#[ignore = "`CURTSY_TANSU` has to name the program of a broker (`./chaos` builds it)"]
fn a_broker_that_is_killed_and_keeps_its_data_loses_nothing() {
    let (mut broker, mut trial) = with_broker(10, |_| {});
    let workers = patient(&trial);
    trial.work(2000, 2500);
    for _ in 0..kills(3) {
        trial.work(500, 2000);
        broker.kill();
        trial.work(0, 1500);
        broker.run();
        trial.outages += 1;
    }
    end_checked(trial, "a broker on its disk killed", workers);
}

/// An event was kept, and nobody knows.
#[test]
#[ignore = "`CURTSY_TANSU` has to name the program of a broker (`./chaos` builds it)"]
fn answers_of_a_broker_that_are_lost_lose_nothing_else() {
    let mut line = None;
    let (_broker, mut trial) = with_broker(16, |broker| {
        let proxy = line.insert(Proxy::to(broker.port));
        broker.kill();
        broker.advertised = proxy.port;
        broker.run();
    });
    let proxy = line.unwrap();
    let workers = patient(&trial);
    trial.work(2000, 2500);
    for _ in 0..kills(6) {
        trial.work(300, 1000);
        let cuts = proxy.cuts();
        proxy.begin(Trouble::LoseAnswers { after: trial.chance.below(60) as usize });
        until("a lost answer", || {
            trial.refill();
            proxy.cuts() > cuts
        });
        proxy.heal();
        trial.outages += 1;
    }
    end_checked(trial, "answers of a broker lost", workers);
}

/// Brokers that have forgotten who tells them: librdkafka tells nothing any more after that, so a new producer has to.
#[test]
fn brokers_that_forget_the_producer_are_told_by_a_new_one() {
    let mut trial = Trial::new(15, 4, 20);
    let worker = trial.start();
    until("the first events", || !trial.fleet.events().is_empty());
    let forgotten = RDKafkaRespErr::RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
    trial.fleet.kafka.request_errors(RDKafkaApiKey::Produce, &[forgotten]);
    until("the worker's word", || {
        trial.refill();
        trial.fleet.log().contains("\"sink_away\"")
    });
    trial.queue(20);
    trial.outages += 1;
    trial.end("brokers that forget the producer", vec![worker]);
}
