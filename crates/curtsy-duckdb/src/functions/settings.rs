//! The settings that a crawl looks at.

use crate::duck::{Argument, Setting, Type};

/// Two of them are httpfs' own, with its defaults: whoever comes first adds them. None is DuckDB's.
pub(crate) fn all() -> Vec<Setting> {
    let text = |name, description| {
        let default = Argument::Text(String::new());
        Setting { name, ty: Type::Varchar, default, description }
    };
    vec![
        Setting {
            name: "http_timeout",
            ty: Type::Ubigint,
            default: Argument::Integer(30),
            description: "HTTP timeout read/write/connection/retry (in seconds)",
        },
        Setting {
            name: "http_keep_alive",
            ty: Type::Boolean,
            default: Argument::Boolean(true),
            description: "Keep alive connections. Setting this to false can help when running into connection failures",
        },
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
