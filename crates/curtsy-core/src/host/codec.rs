//! Encodes a host's state: a version byte, then postcard.
//!
//! Every store keeps these bytes and reads none of them. A newer program reads older versions.

use std::time::Duration;

use super::HostState;

/// The layout that this program writes.
const LAYOUT: u8 = 3;
/// The version whose last field was the number of milliseconds between the last dial and the last
/// start.
const DIALLED_BEFORE: u8 = 2;
/// The version before `unreached` and `dialled_at`, which are the last fields.
const WITHOUT_OUTAGES: u8 = 1;
/// The byte that postcard writes for `None`.
const NONE: u8 = 0;

/// Bytes that are not a host's state.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Written by a newer program or by another one.
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
    /// Returns the state as bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(128);
        bytes.push(LAYOUT);
        postcard::to_extend(self, bytes)
            .expect("a host state holds nothing that postcard can't write")
    }

    /// Reads a state.
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

/// Reads version 2. Its last number begins after the last byte without a high bit: the field before
/// ends with such a byte.
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
