//! The limits of an exchange, from the constants that it goes by.

use curtsy_core::limits::{Bound, Hit, Limit};
use curtsy_core::policy::OWN_HEADERS_MAX;

use crate::coding::{STEP, gzip, zstd};
use crate::settings::SpeedFloor;
use crate::{connection, head, line, outlet, own, pool, proxy, resolve};

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
            "a header, a password or a cookie for it",
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
            "the least that comes of a body in every window",
            Bound::Bytes(floor.bytes),
            "`TooSlow`",
            speed,
        ),
        limit(
            "exchange.speed_window",
            "that window, and a head that has begun",
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
            "these with the head",
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
            "their bytes",
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
            "what a decoder may give past it",
            bytes(STEP),
            "memory never holds more",
            None,
        ),
        limit(
            "body.around_bytes",
            "what comes around a body (chunk headers, frames), in any case",
            Bound::Bytes(line::OVERHEAD_MAX),
            "`OverLimit`",
            around,
        ),
        limit(
            "body.around_times",
            "and how many times the body",
            Bound::Count(line::OVERHEAD_TIMES),
            "`OverLimit`",
            around,
        ),
        limit(
            "body.codings",
            "content codings of one body",
            Bound::Count(1),
            "`OverLimit` if stacked, `Coding` if unknown or spoilt",
            coding,
        ),
        limit(
            "body.packed_bytes",
            "packed bytes, in any case",
            Bound::Bytes(line::HOLLOW_MAX),
            "`OverLimit`",
            coding,
        ),
        limit(
            "body.packed_times",
            "and how many times what they become",
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
            "frames and blocks of zstd that bring nothing",
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
            "what is read of a body that nobody wants",
            Bound::Bytes(line::DRAIN_MAX),
            "the connection is closed",
            None,
        ),
        limit(
            "process.body_memory",
            "bodies in memory, of the process",
            Bound::Field("slots.body_memory"),
            "reading waits; one body at a time goes on, in a sixth of `timeout.whole`, else `Truncated`",
            None,
        ),
        limit(
            "process.connections",
            "connections of the process",
            Bound::Field("slots.total_connections"),
            "the oldest idle one gives way, then dialling waits",
            None,
        ),
        limit("process.idle", "an idle connection", Bound::Within(pool::IDLE_MAX), "closed", None),
        limit(
            "names.kept",
            "names that are known at once",
            count(resolve::NAMES_MAX),
            "what is past its time goes, then any half: it is asked for again",
            None,
        ),
        limit(
            "guard.refusals",
            "hosts that the guard refused, by name, for the report",
            count(outlet::REFUSALS_MAX),
            "the others are left out",
            None,
        ),
        limit(
            "names.addresses",
            "addresses of one name that are tried",
            count(resolve::ADDRESSES_MAX),
            "the rest is judged and not tried",
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
    ]
}
