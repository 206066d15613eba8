//! Honest worlds that may be looked at while rules are developed.

mod archives;
mod shops;
mod software;
mod trees;

use crate::worlds::{WebWorld, WorldPurpose};

pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    let files: [&'static [WebWorld]; 4] =
        [&shops::WORLDS, &software::WORLDS, &archives::WORLDS, &trees::WORLDS];
    files.into_iter().flatten()
}

const PURPOSE: WorldPurpose = WorldPurpose::Development;
