//! Names that nobody can guess, and how they are kept: as hashes.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// A name of 32 hexadecimal digits that nobody else has and nobody can guess.
pub(crate) fn new_name() -> String {
    random_hex::<16>()
}

/// Whether a text can be such a name.
pub(crate) fn is_name(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A token of 64 hexadecimal digits.
pub(crate) fn new_token() -> String {
    random_hex::<32>()
}

fn random_hex<const N: usize>() -> String {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    HEXLOWER.encode(&bytes)
}

/// SHA-256 of a text, in hexadecimal digits.
pub(crate) fn hash_hex(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}

/// Whether a secret has this hash. The time to compare hashes reveals nothing of the secret.
pub(crate) fn fits(given: &str, hash: &str) -> bool {
    hash_hex(given) == hash
}
