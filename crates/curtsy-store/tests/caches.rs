//! The page caches of a ledger and of Redis keep the contract of every cache, and the pages in
//! Redis keep that of every sink.

mod place;

use std::time::Duration;

use curtsy_core::policy;
use curtsy_engine::Cache;
use curtsy_store::{LedgerPlace, MachineStore, Options, ReadableTables};
use curtsy_testkit::cache::{CacheRig, keep_the_contract};

use place::Folder;

/// The pages of a ledger, and what must live as long as its tables.
struct InLedger<K>(LedgerPlace, K);

impl<K> CacheRig for InLedger<K> {
    fn open(&self) -> Box<dyn Cache + '_> {
        let risk = policy::Risk {
            active: true,
            early_stop: 3,
            daily_percent: 90,
            delay: [Duration::ZERO; 3],
        };
        let options = Options { shows: ReadableTables::RiskAndPages(risk), ..Options::default() };
        let crawl = MachineStore::open_passing(&self.0, options).unwrap();
        Box::new(crawl.handle().cache())
    }
}

#[test]
fn the_pages_of_a_ledger_in_sqlite_keep_the_contract() {
    keep_the_contract(|| {
        let folder = Folder::new("caches");
        InLedger(LedgerPlace::from(folder.ledger()), folder)
    });
}

#[cfg(feature = "postgres")]
#[test]
fn the_pages_of_a_ledger_in_postgres_keep_the_contract() {
    let server = curtsy_testkit::services::Postgres::start();
    keep_the_contract(|| InLedger(LedgerPlace::Postgres(server.database()), ()));
}

#[cfg(feature = "redis")]
mod in_redis {
    use std::rc::Rc;

    use curtsy_core::evidence::cache_key;
    use curtsy_core::url::CrawlUrl;
    use curtsy_engine::Sink;
    use curtsy_store::redis::{Empty, FleetPages, LinkOptions, RedisLink};
    use curtsy_testkit::services::Redis;
    use curtsy_testkit::sink::{KeptRow, SinkKind, SinkRig};
    use redis::Commands;

    use super::*;

    /// A database of a Redis that is empty at first.
    struct InRedis(String);

    impl InRedis {
        fn new(server: &Redis) -> InRedis {
            let rig = InRedis(server.url());
            let _: () = redis::cmd("FLUSHALL").query(&mut rig.db()).unwrap();
            rig
        }

        fn db(&self) -> redis::Connection {
            redis::Client::open(&*self.0).unwrap().get_connection().unwrap()
        }

        fn pages(&self) -> FleetPages<RedisLink> {
            let options = LinkOptions { empty: Empty::New, ..LinkOptions::default() };
            let link = RedisLink::new(&self.0, options).unwrap();
            FleetPages::new(Rc::new(link), Duration::from_secs(3_600))
        }
    }

    impl CacheRig for InRedis {
        fn open(&self) -> Box<dyn Cache + '_> {
            Box::new(self.pages())
        }
    }

    impl SinkRig for InRedis {
        fn keeps(&self) -> SinkKind {
            SinkKind::Pages
        }

        fn open(&self) -> Box<dyn Sink + '_> {
            Box::new(self.pages())
        }

        /// The contents by the names under which consumers look for them.
        fn kept(&self) -> Vec<KeptRow> {
            let mut db = self.db();
            let names: Vec<String> = db.keys("webpage:*").unwrap();
            let row = |name: String| {
                let url: String = db.get(&name).unwrap();
                let parsed = CrawlUrl::parse(&url).unwrap();
                assert_eq!(name, cache_key(parsed.as_str()));
                KeptRow { url, ..KeptRow::default() }
            };
            names.into_iter().map(row).collect()
        }
    }

    #[test]
    fn the_pages_in_redis_keep_the_contract_of_a_cache() {
        let server = Redis::forgetful();
        keep_the_contract(|| InRedis::new(&server));
    }

    #[test]
    fn the_pages_in_redis_keep_the_contract_of_a_sink() {
        let server = Redis::forgetful();
        curtsy_testkit::sink::keep_the_contract(|| InRedis::new(&server));
    }
}
