//! Ports that are never dialled: those of other protocols than HTTP.
//!
//! A URL chooses the port, and the author of a link chooses the path, which a line-based server
//! would read as commands. The list has the "bad ports" of the Fetch standard, which browsers
//! refuse too, and ports of databases, queues and remote desktops.
//!
//! Allowed networks are no exception: intranets have such servers. A site on such a port needs a
//! reverse proxy on another one.

/// Whether a port is never dialled.
pub(crate) fn is_spoken_for(port: u16) -> bool {
    BAD.binary_search(&port).is_ok() || STORES.binary_search(&port).is_ok()
}

/// <https://fetch.spec.whatwg.org/#port-blocking>, and 0, which is not a port.
const BAD: &[u16] = &[
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

/// SMB; SQL Server; Oracle; ZooKeeper; MySQL; remote desktop; PostgreSQL; AMQP; VNC; Redis;
/// Cassandra; Kafka; memcached; MongoDB.
const STORES: &[u16] =
    &[445, 1433, 1521, 2181, 3306, 3389, 5432, 5672, 5900, 6379, 9042, 9092, 11211, 27017];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_lists_are_in_order() {
        assert!(BAD.is_sorted_by(|a, b| a < b) && STORES.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn what_speaks_something_else_is_refused_and_web_servers_are_not() {
        for port in
            [0, 1, 22, 25, 53, 110, 143, 445, 587, 993, 3306, 5432, 6000, 6379, 10080, 11211]
        {
            assert!(is_spoken_for(port), "{port}");
        }
        for port in [80, 81, 443, 591, 3000, 5000, 8000, 8080, 8081, 8443, 8888, 9000, 9200, 65535]
        {
            assert!(!is_spoken_for(port), "{port}");
        }
    }
}
