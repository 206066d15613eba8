//! The limits of an exchange, from the constants that it goes by.

use curtsy_core::limits::{Hit, Limit};
use curtsy_core::policy::OWN_HEADERS_MAX;

use crate::coding::{STEP, gzip, zstd};
use crate::settings::SpeedFloor;
use crate::{callback, connection, head, line, outlet, own, pool, proxy, resolve};

/// The limits of this crate: time, heads, bodies, codings, connections and names.
pub fn limits() -> Vec<Limit> {
    let floor = SpeedFloor::default();
    vec![
        Limit::count("own.headers", OWN_HEADERS_MAX),
        Limit::bytes("own.value_bytes", own::VALUE_BYTES_MAX),
        Limit::field("exchange.connect", "timeout.connect").hit(Hit::Connect),
        Limit::field("exchange.tls", "timeout.tls").hit(Hit::Connect),
        Limit::field("exchange.first_byte", "timeout.first_byte").hit(Hit::FirstByte),
        Limit::field("exchange.whole", "timeout.whole").hit(Hit::Whole),
        Limit::bytes("exchange.speed_bytes", floor.bytes).hit(Hit::Speed),
        Limit::within("exchange.speed_window", floor.window).hit(Hit::Speed),
        Limit::count("head.headers", connection::HEADERS_MAX).hit(Hit::Head),
        Limit::bytes("head.bytes", connection::HEAD_BYTES_MAX).hit(Hit::Head),
        Limit::count("head.interim", connection::INTERIM_MAX).hit(Hit::Interim),
        Limit::bytes("head.interim_bytes", connection::INTERIM_BYTES_MAX).hit(Hit::Interim),
        Limit::count("head.kept", head::OTHERS_MAX),
        Limit::bytes("head.kept_bytes", head::OTHERS_BYTES_MAX),
        Limit::field("body.bytes", "body.decoded_max").hit(Hit::Body),
        Limit::bytes("body.step", STEP),
        Limit::bytes("body.around_bytes", line::OVERHEAD_MAX).hit(Hit::Around),
        Limit::count("body.around_times", line::OVERHEAD_TIMES).hit(Hit::Around),
        Limit::count("body.codings", 1).hit(Hit::Coding),
        Limit::bytes("body.packed_bytes", line::HOLLOW_MAX).hit(Hit::Coding),
        Limit::count("body.packed_times", line::HOLLOW_TIMES).hit(Hit::Coding),
        Limit::count("body.gzip_members", gzip::MEMBERS_MAX).hit(Hit::Coding),
        Limit::count("body.zstd_hollow", zstd::HOLLOW_MAX).hit(Hit::Coding),
        Limit::bytes("body.zstd_window", zstd::WINDOW_MAX).hit(Hit::Coding),
        Limit::bytes("body.unwanted_bytes", line::DRAIN_MAX),
        Limit::field("process.body_memory", "slots.body_memory"),
        Limit::field("process.connections", "slots.total_connections"),
        Limit::within("process.idle", pool::IDLE_MAX),
        Limit::count("names.kept", resolve::NAMES_MAX),
        Limit::count("guard.refusals", outlet::REFUSALS_MAX),
        Limit::count("names.addresses", resolve::ADDRESSES_MAX),
        Limit::count("names.lookups", resolve::LOOKUPS_MAX),
        Limit::bytes("proxy.head_bytes", proxy::HEAD_BYTES_MAX).hit(Hit::Proxy),
        Limit::within("callback.time", callback::WHOLE),
        Limit::bytes("callback.message_bytes", callback::MESSAGE_BYTES_MAX),
        Limit::bytes("callback.answer_bytes", callback::REST_BYTES),
        Limit::within("callback.answer_time", callback::REST),
    ]
}
