//! The errors with which Redis refuses a command, and their hints.

use redis::{ErrorKind, RedisError};

/// Why Redis refuses a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RedisRefusal {
    /// The user or the password is wrong.
    Login,
    /// The user lacks a right.
    Right,
    /// The user lacks a right for a command inside a script. Earlier commands of the script were
    /// run.
    RightHalfway,
    /// Redis has no room or is not ready. This may pass.
    Passing,
}

impl RedisRefusal {
    /// Returns the refusal of an error; `None` if it is not a known refusal.
    pub(super) fn of(error: &RedisError) -> Option<RedisRefusal> {
        let text = error.detail().unwrap_or_default();
        // Redis 7.0 sends the first text without an error code; later versions send the second.
        if ["The user executing the script", "ACL failure in script"]
            .iter()
            .any(|said| text.starts_with(said))
        {
            return Some(RedisRefusal::RightHalfway);
        }
        if wants_login(error) {
            return Some(RedisRefusal::Login);
        }
        match error.code() {
            Some("NOPERM") => Some(RedisRefusal::Right),
            // The error for a database that may not be selected has no code.
            _ if text.contains("has no permissions") => Some(RedisRefusal::Right),
            Some("NOAUTH" | "WRONGPASS") => Some(RedisRefusal::Login),
            _ if error.kind() == ErrorKind::AuthenticationFailed => Some(RedisRefusal::Login),
            Some("OOM" | "READONLY" | "MISCONF" | "LOADING" | "BUSY") => {
                Some(RedisRefusal::Passing)
            }
            _ => None,
        }
    }
}

/// Whether Redis demands a login. It does so with an error code, except for a command with many
/// arguments, which it takes for an attack on its memory.
fn wants_login(error: &RedisError) -> bool {
    let text = error.detail().unwrap_or_default();
    error.code() == Some("NOAUTH") || text.contains("unauthenticated ")
}

/// Returns Redis' message in one line without passwords, with a hint in a second line if there is
/// one.
pub(super) fn said(error: &RedisError) -> String {
    let known = match error.code() {
        Some("OOM") => {
            "this Redis is full (`maxmemory`) and takes nothing more; nothing is lost\nhint: raise it (`CONFIG SET maxmemory`), or make room: \
             `curtsy dlq purge`, pages in another Redis (PAGE_FETCHER_CACHE_REDIS_URL)"
        }
        Some("READONLY") => {
            "this Redis takes no writes: it is a replica\nhint: give the primary's address"
        }
        Some("MISCONF") => {
            "this Redis takes no writes, since it can't write to its own disk\nhint: see its log, and make room on its disk"
        }
        Some("LOADING") => "this Redis is still loading its files\nhint: wait until it is ready",
        _ if wants_login(error) => {
            "this Redis wants a user and a password\nhint: `redis://USER:PASSWORD@HOST:PORT`"
        }
        _ if RedisRefusal::of(error) == Some(RedisRefusal::Login) => {
            "this Redis does not know this user and password\nhint: `redis://USER:PASSWORD@HOST:PORT`; `ACL LIST` shows who is `on`"
        }
        _ => {
            let text = error.to_string();
            return text.lines().next().unwrap_or_default().to_owned();
        }
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::Value;

    /// Returns an error as a server sends it.
    fn sent(line: &str) -> RedisError {
        let value = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        match value {
            Value::ServerError(error) => error.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_refusal_is_known_by_what_redis_sends() {
        for (line, expected) in [
            (
                "OOM command not allowed when used memory > 'maxmemory'.",
                Some(RedisRefusal::Passing),
            ),
            ("LOADING Redis is loading the dataset in memory", Some(RedisRefusal::Passing)),
            (
                "NOPERM this user has no permissions to run the 'info' command",
                Some(RedisRefusal::Right),
            ),
            (
                "ERR The user executing the script can't run this command or subcommand script: d5, on @user_script:2.",
                Some(RedisRefusal::RightHalfway),
            ),
            (
                "NOPERM ACL failure in script: User w has no permissions to run the 'zadd' command script: d5, on @user_script:2.",
                Some(RedisRefusal::RightHalfway),
            ),
            ("NOAUTH Authentication required.", Some(RedisRefusal::Login)),
            (
                "WRONGPASS invalid username-password pair or user is disabled.",
                Some(RedisRefusal::Login),
            ),
            ("ERR Protocol error: unauthenticated multibulk length", Some(RedisRefusal::Login)),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", None),
        ] {
            assert_eq!(RedisRefusal::of(&sent(line)), expected, "{line}");
        }
    }

    #[test]
    fn known_refusals_have_a_hint() {
        let message = said(&sent("OOM command not allowed when used memory > 'maxmemory'."));
        assert!(message.contains("is full") && message.contains("\nhint: raise it"), "{message}");
        let message = said(&sent("ERR what is\nthis"));
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}
