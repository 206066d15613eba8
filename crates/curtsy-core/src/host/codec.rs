//! A host's state as bytes: a version, then postcard.
//!
//! Every store keeps these bytes and none looks inside. The first byte is the layout's version; a newer program reads older ones.

use std::time::Duration;

use super::HostState;

/// The layout that this program writes.
const LAYOUT: u8 = 3;
/// The layout whose last field said how many milliseconds before the last start the last connection was dialled.
const DIALLED_BEFORE: u8 = 2;
/// The layout before `unreached` and `dialled_at`, which stand last.
const WITHOUT_OUTAGES: u8 = 1;
/// How postcard writes an option that is none.
const NONE: u8 = 0;

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
            Some((&DIALLED_BEFORE, rest)) => dialled_before(rest),
            Some((&WITHOUT_OUTAGES, rest)) => {
                postcard::from_bytes(&[rest, &[NONE, NONE]].concat()).map_err(DecodeError::Damaged)
            }
            Some((&other, _)) => Err(DecodeError::Layout(other)),
        }
    }
}

/// A state of layout 2. Its last number takes the bytes from the last one without a high bit on: the field before it ends with such a byte.
fn dialled_before(bytes: &[u8]) -> Result<HostState, DecodeError> {
    let last = bytes.len().saturating_sub(1);
    let number = bytes[..last].iter().rposition(|byte| byte & 0x80 == 0).map_or(0, |at| at + 1);
    let (rest, number) = bytes.split_at(number);
    let ms: u16 = postcard::from_bytes(number).map_err(DecodeError::Damaged)?;
    let mut state: HostState =
        postcard::from_bytes(&[rest, &[NONE]].concat()).map_err(DecodeError::Damaged)?;
    let before = Duration::from_millis(u64::from(ms));
    state.dialled_at = state.last_start.map(|start| start.back(before));
    Ok(state)
}
