//! The rights that a user of Redis needs: with exactly these a link opens, and each missing one is
//! named before anything is done.
#![cfg(feature = "redis")]

use std::rc::Rc;

use curtsy_store::redis::{ClientKind, Empty, LinkOptions, RedisLink, Rights, WireError, fleet};
use curtsy_testkit::services::Redis;
use redis::Connection;

const LISTS: [&str; 3] = ["crawler_queue", "page_fetcher_dlq", "page_fetcher_rejected"];

struct Door {
    server: Redis,
    admin: Connection,
    runtime: tokio::runtime::Runtime,
}

impl Door {
    fn new() -> Door {
        let server = Redis::forgetful();
        let admin = redis::Client::open(server.url()).unwrap().get_connection().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Door { server, admin, runtime }
    }

    /// A user `w` with the password `s3cret` and only these rights.
    fn let_in<'a>(&mut self, rights: impl Iterator<Item = &'a str>) {
        let mut command = redis::cmd("ACL");
        command.arg(&["SETUSER", "w", "reset", "on", ">s3cret"]);
        rights.for_each(|right| {
            command.arg(right);
        });
        command.query::<()>(&mut self.admin).unwrap();
        // Scripts that the server knows need not be loaded.
        redis::cmd("SCRIPT").arg("FLUSH").query::<()>(&mut self.admin).unwrap();
    }

    fn knock(&self, caller: ClientKind, rights: &Rights) -> Result<(), WireError> {
        let url = format!("redis://w:s3cret@127.0.0.1:{}/0", self.server.port);
        let options = LinkOptions {
            caller,
            rights: rights.clone(),
            empty: Empty::New,
            ..LinkOptions::default()
        };
        let link = Rc::new(RedisLink::new(&url, options).unwrap());
        self.runtime.block_on(async {
            link.open().await?;
            fleet::status(&link, &LISTS).await.map(|_| ())
        })
    }
}

/// Returns a line without its first three words.
fn words(line: &str) -> Vec<String> {
    line.split(' ').skip(3).map(str::to_owned).collect()
}

#[test]
fn every_right_of_a_worker_is_needed_and_no_other() {
    let mut door = Door::new();
    let rights = Rights::of_worker(&LISTS);
    let all = words(&rights.line("w"));
    door.let_in(all.iter().map(String::as_str));
    door.knock(ClientKind::Worker, &rights).unwrap();
    assert!(all.len() > 40, "{all:?}");
    for missing in all.iter().filter(|right| *right != "+select") {
        door.let_in(all.iter().filter(|right| *right != missing).map(String::as_str));
        let WireError::Unfit(told) = door.knock(ClientKind::Worker, &rights).unwrap_err() else {
            panic!("{missing} is not missed");
        };
        // A key is reported by its pattern, a command by its name.
        let name = missing.trim_start_matches(['+', '~']).split('|').next().unwrap();
        assert!(told.to_lowercase().contains(name), "{missing}: {told}");
        let (_, hint) = told.split_once("\nhint: ").expect(&told);
        assert!(hint.contains("ACL SETUSER w ~crawler_queue"), "{told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
}

#[test]
fn the_command_in_the_hint_grants_the_rights() {
    let mut door = Door::new();
    let rights = Rights::of_worker(&LISTS);
    door.let_in(["+eval"].into_iter());
    let told = door.knock(ClientKind::Worker, &rights).unwrap_err().to_string();
    assert!(told.contains("may not run"), "{told}");
    let line = told.split('`').find(|part| part.starts_with("ACL SETUSER")).unwrap();
    let mut words = line.split(' ');
    let mut command = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query::<()>(&mut door.admin).unwrap();
    door.knock(ClientKind::Worker, &rights).unwrap();
}

#[test]
fn read_only_rights_differ_from_write_rights() {
    let mut door = Door::new();
    let rights = Rights::of_pages();
    let all: Vec<String> = words(&rights.line("w"))
        .iter()
        .map(|word| word.replace("~webpage", "%R~webpage"))
        .collect();
    door.let_in(all.iter().map(String::as_str));
    let told = door.knock(ClientKind::Guest, &rights).unwrap_err().to_string();
    assert!(told.contains("`SET` on `webpage:*`") && !told.contains("`GET`"), "{told}");
}

#[test]
fn a_wrong_password_is_reported_and_not_shown() {
    let mut door = Door::new();
    let told = door.knock(ClientKind::Worker, &Rights::default()).unwrap_err();
    assert!(matches!(told, WireError::Unfit(_)), "{told:?}");
    assert!(told.to_string().contains("does not know this user"), "{told}");
    redis::cmd("CONFIG")
        .arg(&["SET", "requirepass", "other"])
        .query::<()>(&mut door.admin)
        .unwrap();
    let link = RedisLink::new(&door.server.url(), LinkOptions::default()).unwrap();
    let told = door.runtime.block_on(link.open()).unwrap_err().to_string();
    assert!(told.contains("wants a user and a password"), "{told}");
}
