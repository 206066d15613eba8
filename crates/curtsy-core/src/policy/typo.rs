//! Finds the known word that was probably meant.

/// Returns the known word that is nearest to the written one, if it is near enough.
///
/// A key whose last part is right counts as near, whatever its section: `ttl`, `cach.ttl`.
pub fn nearest<'k>(written: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if written.len() > LENGTH_MAX {
        return None;
    }
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let (written_last, mut best) = (last(written), None);
    for key in known {
        let whole = distance(written, key);
        let moved = written_last == last(key) && key.contains('.');
        let cost = if moved { whole.min(2) } else { whole };
        let near = moved || cost <= written.len().div_ceil(3).min(3);
        if near && best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, key));
        }
    }
    best.map(|(_, key)| key)
}

/// Returns the number of letters to insert, drop, change or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

const LENGTH_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_of_the_finger_finds_its_key() {
        let known = ["robots.ttl", "robots.deny_ttl", "cache.ttl", "pace.delay", "preset"];
        for (written, meant) in [
            ("robots.tll", Some("robots.ttl")),
            ("robot.ttl", Some("robots.ttl")),
            ("pace.dealy", Some("pace.delay")),
            ("delay", Some("pace.delay")),
            ("perset", Some("preset")),
            ("x", None),
            ("completely.different", None),
        ] {
            assert_eq!(nearest(written, known.into_iter()), meant, "`{written}`");
        }
        assert_eq!(
            nearest(&"x".repeat(100_000), known.into_iter()),
            None,
            "long keys cost nothing"
        );
    }
}
