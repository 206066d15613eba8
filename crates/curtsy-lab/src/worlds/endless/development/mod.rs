//! Endless worlds that may be looked at while rules are developed.

mod archives;
mod calendars;
mod folders;
mod forums;
mod sessions;
mod shops;
mod tarpits;

use crate::worlds::{WebWorld, WorldPurpose};

pub(super) fn worlds() -> impl Iterator<Item = &'static WebWorld> {
    let files: [&'static [WebWorld]; 7] = [
        &calendars::WORLDS,
        &sessions::WORLDS,
        &shops::WORLDS,
        &folders::WORLDS,
        &forums::WORLDS,
        &tarpits::WORLDS,
        &archives::WORLDS,
    ];
    files.into_iter().flatten()
}

const PURPOSE: WorldPurpose = WorldPurpose::Development;
