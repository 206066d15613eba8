//! All targets, one file each.

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

/// All targets, the slowest last.
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
