//! Placeholder opened by the workspace commit; the crate follows.
