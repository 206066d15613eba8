//! Large sites whose pages all deserve to be read.

mod catalogue;
mod development;
mod measured;

use super::WebWorld;

/// All honest worlds: those for development first.
pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    development::worlds().chain(measured::worlds())
}
