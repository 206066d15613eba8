//! Endless worlds that are only measured against.

mod commerce;
mod copies;
mod growth;
mod machines;
mod planners;
mod speech;

use crate::worlds::{WebWorld, WorldPurpose};

pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    let files: [&'static [WebWorld]; 6] = [
        &planners::WORLDS,
        &copies::WORLDS,
        &speech::WORLDS,
        &machines::WORLDS,
        &growth::WORLDS,
        &commerce::WORLDS,
    ];
    files.into_iter().flatten()
}

const PURPOSE: WorldPurpose = WorldPurpose::MeasuredOnly;
