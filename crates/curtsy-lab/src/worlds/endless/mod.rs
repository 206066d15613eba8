//! Sites of a few dozen honest pages that also yield URLs without an end.

mod development;
mod measured;

use super::WebWorld;

/// All endless worlds: those for development first.
pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    development::worlds().chain(measured::worlds())
}
