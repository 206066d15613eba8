//! The queue over a real Redis whose answers get lost.
#![cfg(feature = "redis")]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use curtsy_engine::Source;
use curtsy_store::redis::{
    Empty, FleetQueue, LinkOptions, RedisLink, RedisScript, Wire, WireError,
};
use curtsy_testkit::services::Redis;
use redis::{Cmd, Commands, Value};

/// A link that loses every second answer.
struct Lossy {
    link: RedisLink,
    asked: Cell<u32>,
}

impl Wire for Lossy {
    async fn run(&self, script: &'static RedisScript, command: &Cmd) -> Result<Value, WireError> {
        let answer = self.link.run(script, command).await?;
        self.asked.set(self.asked.get() + 1);
        match self.asked.get() % 2 {
            0 => Ok(answer),
            _ => Err(WireError::Unknown("lost".into())),
        }
    }

    async fn greet_again(&self, known: Option<u64>) -> Result<(), WireError> {
        self.link.greet_again(known).await
    }
}

/// An entry is returned until it is known to be offered, however many answers get lost.
#[test]
fn an_entry_whose_answer_got_lost_is_given_again() {
    let server = Redis::forgetful();
    let mut db = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
    let urls: Vec<String> = (0..20).map(|n| format!("http://a.test/{n}")).collect();
    let _: () = db.rpush("q", &urls).unwrap();
    let options = LinkOptions { empty: Empty::New, ..LinkOptions::default() };
    let link = RedisLink::new(&server.url(), options).unwrap();
    let wire = Rc::new(Lossy { link, asked: Cell::new(0) });
    let queue = FleetQueue::new(Rc::clone(&wire), "w".into(), "q", "rejected");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut given = BTreeSet::new();
    for _ in 0..40 {
        for record in runtime.block_on(queue.next(3)) {
            let wish = record.wish.unwrap();
            assert!(
                given.insert((wish.spelt.clone(), wish.number)),
                "what was offered is not given again"
            );
        }
    }
    let spelt: BTreeSet<String> = given.into_iter().map(|(spelt, _)| spelt).collect();
    assert_eq!(spelt, urls.into_iter().collect());
    let claims: Vec<String> = db.lrange("curtsy:claims:w", 0, -1).unwrap();
    assert!(claims.is_empty(), "{claims:?}");
}
