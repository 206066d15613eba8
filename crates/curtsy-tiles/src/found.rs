//! A fact with where it was seen, before what says the same is merged.

use crate::tile::{TileFact, Via};

/// A fact, and the place where it was found.
#[derive(Clone, Debug)]
pub(crate) struct FoundFact {
    /// The fact.
    pub(crate) fact: TileFact,
    /// The number of the page.
    pub(crate) page: usize,
    /// What it was read out of.
    pub(crate) via: Via,
    /// The words it was read from.
    pub(crate) text: String,
    /// From 0 to 1.
    pub(crate) confidence: f32,
}

impl FoundFact {
    /// A fact that some words on a page state.
    pub(crate) fn new(
        fact: impl Into<TileFact>,
        page: usize,
        via: Via,
        text: impl Into<String>,
        confidence: f32,
    ) -> FoundFact {
        FoundFact { fact: fact.into(), page, via, text: text.into(), confidence }
    }
}

/// How sure structured data is.
pub(crate) const STRUCTURED: f32 = 0.92;
/// How sure a link is that was made for the purpose.
pub(crate) const LINKED: f32 = 0.9;
/// How sure tables and lists are.
pub(crate) const LISTED: f32 = 0.8;
/// How sure a pattern in text after a label is.
pub(crate) const LABELLED: f32 = 0.7;
/// How sure a pattern in running text is.
pub(crate) const PROSE: f32 = 0.6;
