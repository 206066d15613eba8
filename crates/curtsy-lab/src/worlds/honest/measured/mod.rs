//! Honest worlds that are only measured against.

mod families;
mod reading;
mod records;
mod reference;

use crate::worlds::{WebWorld, WorldPurpose};

pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    let files: [&'static [WebWorld]; 4] =
        [&reading::WORLDS, &records::WORLDS, &reference::WORLDS, &families::WORLDS];
    files.into_iter().flatten()
}

const PURPOSE: WorldPurpose = WorldPurpose::MeasuredOnly;
