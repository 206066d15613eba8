//! Style, script and icon: ours, embedded, known by the hash of their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::frame::PageTrouble;
use crate::secret::hash_hex;

struct Asset {
    name: &'static str,
    content_type: &'static str,
    text: &'static str,
}

const ASSETS: [Asset; 3] = [
    Asset {
        name: "style.css",
        content_type: "text/css; charset=utf-8",
        text: include_str!("../../assets/style.css"),
    },
    Asset {
        name: "curtsy.js",
        content_type: "text/javascript; charset=utf-8",
        text: include_str!("../../assets/curtsy.js"),
    },
    Asset {
        name: "icon.svg",
        content_type: "image/svg+xml",
        text: include_str!("../../assets/icon.svg"),
    },
];

/// What each is known by.
static TAGS: LazyLock<[String; 3]> =
    LazyLock::new(|| ASSETS.map(|asset| format!("\"{}\"", &hash_hex(asset.text)[..32])));

pub(super) async fn asset(
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, PageTrouble> {
    let found = ASSETS.iter().zip(TAGS.iter()).find(|(asset, _)| asset.name == name);
    let (asset, tag) = found.ok_or_else(|| PageTrouble::nothing("file"))?;
    let held = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_held = held.is_some_and(|held| held.split(',').any(|held| held.trim() == tag));
    let tag = HeaderValue::from_str(tag).expect("a tag is of hexadecimal digits");
    // Requested with every page and answered with few bytes if unchanged: updates show at once.
    let said = [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    Ok(match is_held {
        true => (StatusCode::NOT_MODIFIED, said).into_response(),
        false => {
            let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(asset.content_type))];
            (said, kind, asset.text).into_response()
        }
    })
}
