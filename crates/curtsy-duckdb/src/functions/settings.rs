//! The settings that a crawl reads.

use crate::duck::{Argument, Setting, Type};

/// All settings. `http_timeout` and `http_keep_alive` belong to the extension httpfs and have its
/// defaults: the extension that is loaded first adds them. None is a setting of DuckDB itself.
pub(crate) fn all() -> Vec<Setting> {
    let setting = |name, ty, default, description| Setting { name, ty, default, description };
    let text = |name, about| setting(name, Type::Varchar, Argument::Text(String::new()), about);
    vec![
        setting(
            "http_timeout",
            Type::Ubigint,
            Argument::Integer(30),
            "HTTP timeout read/write/connection/retry (in seconds)",
        ),
        setting(
            "http_keep_alive",
            Type::Boolean,
            Argument::Boolean(true),
            "Keep alive connections. Setting this to false can help when running into connection failures",
        ),
        text(
            "curtsy_contact",
            "Who crawls: a mail address or the URL of a page, for the User-Agent",
        ),
        text("curtsy_policy", "A policy file, or the name of a preset"),
        text(
            "curtsy_allow_net",
            "Networks that may be crawled although they are not public, with commas between",
        ),
        text(
            "curtsy_resolve",
            "Hosts and the addresses that they are reached at, with commas between",
        ),
        text("curtsy_ca_file", "A file of certificates that are trusted too"),
        text("curtsy_ledger", "The file that remembers hosts between crawls"),
    ]
}
