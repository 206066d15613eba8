//! The signatures of bot walls, read from `signatures.txt`.

use std::sync::LazyLock;

use super::{Vendor, WallKind};

/// Signs that show a wall when they come together. All texts are in lower case.
pub(super) struct Signature {
    pub(super) vendor: Vendor,
    pub(super) kind: WallKind,
    pub(super) scope: SignatureScope,
    pub(super) signs: Vec<ChallengeSign>,
}

curtsy_core::word_enum! {
    /// The responses on which the signs of a signature count.
    pub(super) enum SignatureScope {
        /// Headers that are sent for nothing else.
        HeadersAlone = "headers-alone",
        /// Headers that mean a wall on a refusal.
        HeadersOfRefusal = "headers-of-refusal",
        /// A refusal.
        Refused = "refused",
        /// A 403, 429 or 503 with hardly any text.
        RefusedBare = "refused-bare",
        /// A refusal, or any response with hardly any text.
        RefusedOrBare = "refused-or-bare",
        /// A refusal, or any response almost without text: ordinary pages have the signs too.
        RefusedOrEmpty = "refused-or-empty",
        /// Any response: the signs are parts of the wall itself, not of ordinary pages.
        Structure = "structure",
    }
}

/// A sign of a bot wall.
pub(super) enum ChallengeSign {
    /// A header with this part in its value.
    Header(&'static str, &'static str),
    Title(&'static str),
    /// In a tag or a script.
    Markup(&'static str),
    /// In the visible text.
    Text(&'static str),
}

/// All signatures, in the order in which they are tried.
pub(super) static SIGNATURES: LazyLock<Vec<Signature>> = LazyLock::new(|| {
    let lines = include_str!("signatures.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    // The file is part of the program, and a test reads it: no input gets here.
    lines.map(|line| signature(line).expect("a line of `signatures.txt` is a signature")).collect()
});

fn signature(line: &'static str) -> Option<Signature> {
    let (head, signs) = line.split_once(": ")?;
    let mut words = head.split(' ');
    let kind = match words.next()? {
        "challenge" => WallKind::Challenge,
        "block" => WallKind::Block,
        _ => return None,
    };
    let vendor = Vendor::parse(words.next()?)?;
    let scope = SignatureScope::parse(words.next()?)?;
    let signs = signs.split(" + ").map(sign).collect::<Option<_>>()?;
    Some(Signature { vendor, kind, scope, signs })
}

fn sign(text: &'static str) -> Option<ChallengeSign> {
    let (place, text) = text.split_once(' ')?;
    Some(match place {
        "header" => {
            let (name, part) = text.split_once(' ').unwrap_or((text, ""));
            ChallengeSign::Header(name, part)
        }
        "title" => ChallengeSign::Title(text),
        "markup" => ChallengeSign::Markup(text),
        "text" => ChallengeSign::Text(text),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{ChallengeSign, SIGNATURES};
    use crate::challenge::WALL_HEADERS;

    #[test]
    fn every_line_is_a_signature_of_headers_that_are_read() {
        assert!(SIGNATURES.len() > 100);
        for sign in SIGNATURES.iter().flat_map(|signature| &signature.signs) {
            if let ChallengeSign::Header(name, _) = sign {
                assert!(WALL_HEADERS.contains(name), "{name}");
            }
        }
    }
}
