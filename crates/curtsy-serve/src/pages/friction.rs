//! Friction signals in plain words.

/// A friction signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Signal {
    /// As evidence has it: `403:example.com/admin`.
    pub(super) signal: String,
    /// What the site did.
    pub(super) what: &'static str,
    /// Where: host and path.
    pub(super) place: String,
}

impl Signal {
    pub(super) fn read(signal: &str) -> Signal {
        let (what, place) = signal.split_once(':').unwrap_or((signal, ""));
        Signal { signal: signal.to_owned(), what: meaning(what), place: place.to_owned() }
    }
}

pub(super) fn signals(signals: &[String]) -> Vec<Signal> {
    signals.iter().map(|signal| Signal::read(signal)).collect()
}

fn meaning(what: &str) -> &'static str {
    match what {
        "403" => "The site refused the page (403).",
        "429" => "The site said that requests come too fast (429).",
        "503" => "The site said that it is not available (503).",
        "challenge" => "The site showed a bot check instead of the page.",
        "unusual" => "The answer was empty or unusual.",
        _ => "The site did not give the page.",
    }
}

#[cfg(test)]
mod tests {
    use super::Signal;

    #[test]
    fn a_signal_is_told_apart_from_its_place() {
        let signal = Signal::read("challenge:walled.test:8080/");
        assert_eq!(signal.place, "walled.test:8080/");
        assert_eq!(signal.what, "The site showed a bot check instead of the page.");
        assert_eq!(Signal::read("what").what, "The site did not give the page.");
    }
}
