//! What a request asks of a world, taken apart.

use super::fixed::FixedPages;
use super::page::WorldPage;
use super::text::WorldText;

/// The path and query of a request, as sent.
pub(super) struct WorldTarget<'t> {
    /// The world's name: texts follow from it.
    pub(super) world: &'static str,
    pub(super) whole: &'t str,
    pub(super) path: &'t str,
    /// What follows the first `?`.
    pub(super) query: &'t str,
    fixed: &'t FixedPages,
}

impl<'t> WorldTarget<'t> {
    pub(super) fn new(
        world: &'static str,
        whole: &'t str,
        fixed: &'t FixedPages,
    ) -> WorldTarget<'t> {
        let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
        WorldTarget { world, whole, path, query, fixed }
    }

    /// The honest page at another target, as a copy of it would show it.
    pub(super) fn copy_of(&self, target: &str) -> Option<WorldPage> {
        self.fixed.page(&WorldTarget::new(self.world, target, self.fixed))
    }

    /// The honest pages' targets.
    pub(super) fn honest(&self) -> &'t [String] {
        self.fixed.targets()
    }

    /// The value of the first parameter of this name, as sent.
    pub(super) fn param(&self, name: &str) -> Option<&'t str> {
        let mut pairs = self.query.split(['&', ';']);
        pairs.find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
    }

    /// The value of a parameter as a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.param(name)?.parse().ok()
    }

    /// The segments of the path that are not empty.
    pub(super) fn parts(&self) -> Vec<&'t str> {
        self.path.split('/').filter(|part| !part.is_empty()).collect()
    }

    /// The path after this prefix.
    pub(super) fn below(&self, prefix: &str) -> Option<&'t str> {
        self.path.strip_prefix(prefix)
    }

    /// The number between these texts, if the path is exactly that.
    pub(super) fn number_in(&self, before: &str, after: &str) -> Option<u32> {
        self.path.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
    }

    /// The text of this world under this key.
    pub(super) fn words(&self, key: impl AsRef<str>) -> WorldText {
        WorldText::of(self.world, key.as_ref())
    }

    /// A text of this very request.
    pub(super) fn own_words(&self) -> WorldText {
        WorldText::of(self.world, self.whole)
    }
}
