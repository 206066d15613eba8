//! What Redis means when it answers that it will not, and what to do about it.

use redis::{ErrorKind, RedisError};

/// Why Redis will not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The user or the password is not right.
    Login,
    /// This user may not do that.
    Right,
    /// A script came to something that its user may not do. What stands before it is done.
    RightHalfway,
    /// There is no room, or Redis is not ready: that may pass.
    Passing,
}

impl Refusal {
    /// The refusal that an error is; none if it is no refusal, or none that we know.
    pub(super) fn of(error: &RedisError) -> Option<Refusal> {
        let text = error.detail().unwrap_or_default();
        // Redis 7.0 tells the first without a code of its own, later ones the second.
        if ["The user executing the script", "ACL failure in script"]
            .iter()
            .any(|said| text.starts_with(said))
        {
            return Some(Refusal::RightHalfway);
        }
        if wants_login(error) {
            return Some(Refusal::Login);
        }
        match error.code() {
            Some("NOPERM") => Some(Refusal::Right),
            // A database that may not be selected comes without a code.
            _ if text.contains("has no permissions") => Some(Refusal::Right),
            Some("NOAUTH" | "WRONGPASS") => Some(Refusal::Login),
            _ if error.kind() == ErrorKind::AuthenticationFailed => Some(Refusal::Login),
            Some("OOM" | "READONLY" | "MISCONF" | "LOADING" | "BUSY") => Some(Refusal::Passing),
            _ => None,
        }
    }
}

/// Whether Redis wants a login first. It says so with a code of its own, but not to a command with
/// many arguments: that one it takes for an attempt to use up its memory.
fn wants_login(error: &RedisError) -> bool {
    let text = error.detail().unwrap_or_default();
    error.code() == Some("NOAUTH") || text.contains("unauthenticated ")
}

/// What Redis said, without anybody's password: in one line, and what to do in a second if we know that.
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
        Some("LOADING") => "this Redis is still reading its files\nhint: wait until it has",
        _ if wants_login(error) => {
            "this Redis wants a user and a password\nhint: `redis://USER:PASSWORD@HOST:PORT`"
        }
        _ if Refusal::of(error) == Some(Refusal::Login) => {
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

    /// An error as a server sends it.
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
            ("OOM command not allowed when used memory > 'maxmemory'.", Some(Refusal::Passing)),
            ("LOADING Redis is loading the dataset in memory", Some(Refusal::Passing)),
            ("NOPERM this user has no permissions to run the 'info' command", Some(Refusal::Right)),
            (
                "ERR The user executing the script can't run this command or subcommand script: d5, on @user_script:2.",
                Some(Refusal::RightHalfway),
            ),
            (
                "NOPERM ACL failure in script: User w has no permissions to run the 'zadd' command script: d5, on @user_script:2.",
                Some(Refusal::RightHalfway),
            ),
            ("NOAUTH Authentication required.", Some(Refusal::Login)),
            ("WRONGPASS invalid username-password pair or user is disabled.", Some(Refusal::Login)),
            ("ERR Protocol error: unauthenticated multibulk length", Some(Refusal::Login)),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", None),
        ] {
            assert_eq!(Refusal::of(&sent(line)), expected, "{line}");
        }
    }

    #[test]
    fn what_to_do_is_said_where_we_know_it() {
        let told = said(&sent("OOM command not allowed when used memory > 'maxmemory'."));
        assert!(told.contains("is full") && told.contains("\nhint: raise it"), "{told}");
        let told = said(&sent("ERR what is\nthis"));
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}
