//! The limits of an exchange, from the constants that it goes by.

use curtsy_core::limits::{Bound, Hit, Limit};
use curtsy_core::policy::OWN_HEADERS_MAX;

use crate::coding::{STEP, gzip, zstd};
use crate::settings::SpeedFloor;
use crate::{callback, connection, head, line, outlet, own, pool, proxy, resolve};

/// The limits of this crate: time, heads, bodies, codings, connections and names.
pub fn limits() -> Vec<Limit> {
    let limit = |name, what, bound, outcome, hit| Limit { name, what, bound, outcome, hit };
    let bytes = |bytes: usize| Bound::Bytes(bytes as u64);
    let count = |count: usize| Bound::Count(count as u64);
    let floor = SpeedFloor::default();
    let (speed, head, interim) = (Some(Hit::Speed), Some(Hit::Head), Some(Hit::Interim));
    let (around, body, coding) = (Some(Hit::Around), Some(Hit::Body), Some(Hit::Coding));
    vec![
        limit(
            "own.headers",
            "headers that a policy adds for one's own host",
            count(OWN_HEADERS_MAX),
            "the policy is refused",
            None,
        ),
        limit(
            "own.value_bytes",
            "a header, a password or a cookie for one's own host",
            bytes(own::VALUE_BYTES_MAX),
            "the crawl does not begin",
            None,
        ),
        limit(
            "exchange.connect",
            "name lookup and TCP connect",
            Bound::Field("timeout.connect"),
            "`ConnectTimeout`",
            Some(Hit::Connect),
        ),
        limit(
            "exchange.tls",
            "the TLS handshake",
            Bound::Field("timeout.tls"),
            "`ConnectTimeout`",
            Some(Hit::Connect),
        ),
        limit(
            "exchange.first_byte",
            "the first byte of the answer",
            Bound::Field("timeout.first_byte"),
            "`FirstByteTimeout`",
            Some(Hit::FirstByte),
        ),
        limit(
            "exchange.whole",
            "the whole exchange, from the first write",
            Bound::Field("timeout.whole"),
            "`WholeTimeout`",
            Some(Hit::Whole),
        ),
        limit(
            "exchange.speed_bytes",
            "the fewest bytes of a body in each `exchange.speed_window`",
            Bound::Bytes(floor.bytes),
            "`TooSlow`",
            speed,
        ),
        limit(
            "exchange.speed_window",
            "the window of `exchange.speed_bytes`, and the time for a head that has begun",
            Bound::Within(floor.window),
            "`TooSlow`",
            speed,
        ),
        limit(
            "head.headers",
            "headers of an answer",
            count(connection::HEADERS_MAX),
            "`OverLimit`",
            head,
        ),
        limit(
            "head.bytes",
            "a head, and trailers",
            bytes(connection::HEAD_BYTES_MAX),
            "`OverLimit`; `Malformed` for trailers",
            head,
        ),
        limit(
            "head.interim",
            "interim (1xx) answers",
            Bound::Count(connection::INTERIM_MAX.into()),
            "`OverLimit`",
            interim,
        ),
        limit(
            "head.interim_bytes",
            "interim answers and the head together",
            Bound::Bytes(connection::INTERIM_BYTES_MAX),
            "`OverLimit`",
            interim,
        ),
        limit(
            "head.kept",
            "headers in a row besides those with a column",
            count(head::OTHERS_MAX),
            "the rest is left out",
            None,
        ),
        limit(
            "head.kept_bytes",
            "bytes of these further headers in a row",
            bytes(head::OTHERS_BYTES_MAX),
            "the rest is left out",
            None,
        ),
        limit(
            "body.bytes",
            "a body before and after decoding",
            Bound::Field("body.decoded_max"),
            "`OverLimit`",
            body,
        ),
        limit(
            "body.step",
            "bytes that a decoder may return beyond `body.bytes`",
            bytes(STEP),
            "memory never holds more",
            None,
        ),
        limit(
            "body.around_bytes",
            "bytes around a body (chunk headers, frames) that are always allowed",
            Bound::Bytes(line::OVERHEAD_MAX),
            "`OverLimit`",
            around,
        ),
        limit(
            "body.around_times",
            "bytes around a body, as a multiple of the body",
            Bound::Count(line::OVERHEAD_TIMES),
            "`OverLimit`",
            around,
        ),
        limit(
            "body.codings",
            "content codings of one body",
            Bound::Count(1),
            "`OverLimit` if several are nested, `Coding` if unknown or corrupt",
            coding,
        ),
        limit(
            "body.packed_bytes",
            "compressed bytes that are always allowed",
            Bound::Bytes(line::HOLLOW_MAX),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.packed_times",
            "compressed bytes, as a multiple of the decoded bytes",
            Bound::Count(line::HOLLOW_TIMES),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.gzip_members",
            "members of a gzip body",
            Bound::Count(gzip::MEMBERS_MAX.into()),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.zstd_hollow",
            "frames and blocks of zstd that decode to nothing",
            Bound::Count(zstd::HOLLOW_MAX.into()),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.zstd_window",
            "the window of zstd",
            Bound::Bytes(zstd::WINDOW_MAX),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.unwanted_bytes",
            "bytes that are read of a body that is not needed",
            Bound::Bytes(line::DRAIN_MAX),
            "the connection is closed",
            None,
        ),
        limit(
            "process.body_memory",
            "memory of the process for bodies",
            Bound::Field("slots.body_memory"),
            "reading waits; one body at a time continues, within a sixth of `timeout.whole`, else `Truncated`",
            None,
        ),
        limit(
            "process.connections",
            "connections of the process",
            Bound::Field("slots.total_connections"),
            "the oldest idle connection is closed, else the next connection waits",
            None,
        ),
        limit("process.idle", "an idle connection", Bound::Within(pool::IDLE_MAX), "closed", None),
        limit(
            "names.kept",
            "host names with stored addresses",
            count(resolve::NAMES_MAX),
            "expired names are removed, then half of all names; they are looked up again",
            None,
        ),
        limit(
            "guard.refusals",
            "hosts that the guard refused and that the report names",
            count(outlet::REFUSALS_MAX),
            "the others are left out",
            None,
        ),
        limit(
            "names.addresses",
            "addresses of one name that are tried",
            count(resolve::ADDRESSES_MAX),
            "the guard checks the rest, but they are not tried",
            None,
        ),
        limit(
            "names.lookups",
            "lookups at once",
            count(resolve::LOOKUPS_MAX),
            "the next one waits",
            None,
        ),
        limit(
            "proxy.head_bytes",
            "a proxy's answer to `CONNECT`",
            bytes(proxy::HEAD_BYTES_MAX),
            "`OverLimit`",
            Some(Hit::Proxy),
        ),
        limit(
            "callback.time",
            "one attempt to deliver a callback",
            Bound::Within(callback::WHOLE),
            "the attempt has failed",
            None,
        ),
        limit(
            "callback.message_bytes",
            "the message of a callback",
            bytes(callback::MESSAGE_BYTES_MAX),
            "the callback is not sent",
            None,
        ),
        limit(
            "callback.answer_bytes",
            "the answer to a callback, after its status",
            Bound::Bytes(callback::REST_BYTES),
            "the rest is not read",
            None,
        ),
        limit(
            "callback.answer_time",
            "reading that answer",
            Bound::Within(callback::REST),
            "the rest is not read",
            None,
        ),
    ]
}
