//! What only tests use: the contracts of stores, sinks and caches, and real servers that a test
//! starts. The crate is only ever a dev-dependency.
//!
//! A contract is a list of checks, each named after one promise of a trait of the engine. A new
//! implementation adds a rig, which opens it and reads back what it keeps, and no checks.
//! `docs/internals/contracts.md` lists who keeps which contract.

pub mod cache;
pub mod services;
pub mod sink;
pub mod store;

use std::panic::AssertUnwindSafe;

/// Runs a future to its end on a runtime that belongs to this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: tokio::runtime::Runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime of one thread");
    }
    RUNTIME.with(|runtime| runtime.block_on(future))
}

/// Runs every check, and panics with the names of those that fail.
fn keep<C: FnOnce()>(checks: impl IntoIterator<Item = (&'static str, C)>) {
    let mut broken = Vec::new();
    for (name, check) in checks {
        if let Err(cause) = std::panic::catch_unwind(AssertUnwindSafe(check)) {
            let text = cause.downcast_ref::<String>().map(String::as_str);
            let text = text.or(cause.downcast_ref::<&str>().copied()).unwrap_or("panicked");
            broken.push(format!("{name}: {text}"));
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

/// Makes checks of functions that take a rig, each with a rig of its own.
macro_rules! checks {
    ($make:ident: $($name:ident),+ $(,)?) => {
        [$((stringify!($name), &(|| $name(&$make())) as &dyn Fn())),+]
    };
}
use checks;
