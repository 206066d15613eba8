//! Everything that bytes are thrown at, each in a file of its own.

mod agree;
mod challenge;
mod coding;
mod exchange;
mod headers;
mod html;
mod policy;
mod robots;
mod sitemap;
mod url;

use crate::FuzzTarget;

/// Every target, the slowest last.
pub const TARGETS: &[&FuzzTarget] = &[
    &headers::TARGET,
    &url::TARGET,
    &robots::TARGET,
    &html::TARGET,
    &agree::TARGET,
    &sitemap::TARGET,
    &challenge::TARGET,
    &policy::TARGET,
    &coding::TARGET,
    &exchange::TARGET,
];
