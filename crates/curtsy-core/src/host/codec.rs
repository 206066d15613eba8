//! A host's state as bytes: a version, then postcard.
//!
//! Every store keeps these bytes and none looks inside. The first byte is the layout's version; a newer program reads older ones.

use super::HostState;

/// The layout that this program writes.
const LAYOUT: u8 = 2;
/// The layout before `unreached` and `dialled_before_ms`, which stand last.
const WITHOUT_OUTAGES: u8 = 1;
/// How postcard writes those two where nothing is known.
const NO_OUTAGES: [u8; 2] = [0, 0];

/// Bytes that are not a host's state.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Written by a newer program, or not by us.
    #[error(
        "host state has layout {0}, this program reads up to {LAYOUT}\nhint: a newer curtsy wrote it; upgrade this one"
    )]
    Layout(u8),
    /// Damaged.
    #[error("host state is damaged")]
    Damaged(#[source] postcard::Error),
    /// Nothing at all.
    #[error("host state is empty")]
    Empty,
}

impl HostState {
    /// The state as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(LAYOUT);
        postcard::to_extend(self, bytes)
            .expect("a host state holds nothing that postcard can't write")
    }

    /// A state from bytes.
    pub fn decode(bytes: &[u8]) -> Result<HostState, DecodeError> {
        match bytes.split_first() {
            None => Err(DecodeError::Empty),
            Some((&LAYOUT, rest)) => postcard::from_bytes(rest).map_err(DecodeError::Damaged),
            Some((&WITHOUT_OUTAGES, rest)) => {
                postcard::from_bytes(&[rest, &NO_OUTAGES].concat()).map_err(DecodeError::Damaged)
            }
            Some((&other, _)) => Err(DecodeError::Layout(other)),
        }
    }
}
