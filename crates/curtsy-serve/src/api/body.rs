//! What a request brings: the names in its path and its body, read strictly.

use std::fmt;
use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{ApiError, BODY_BYTES_MAX};
use crate::orbit::Slug;
use crate::secret::is_name;

/// The names in a path, as they were meant: `%61` is `a`. What is no text is refused.
pub(super) struct PathParts<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for PathParts<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PathParts<T>, ApiError> {
        let read = Path::from_request_parts(parts, state).await;
        let Path(names) =
            read.map_err(|_| ApiError::bad_request("the path is no text in UTF-8"))?;
        Ok(PathParts(names))
    }
}

/// The orbit of a path.
pub(super) fn slug(text: &str) -> Result<Slug, ApiError> {
    Slug::parse(text).ok_or_else(|| {
        ApiError::bad_request("an orbit's slug has 1 to 64 lower-case letters, digits and hyphens, with no hyphen at its ends")
    })
}

/// The name of a run.
pub(super) fn trace(text: &str) -> Result<&str, ApiError> {
    if is_name(text) { Ok(text) } else { Err(ApiError::not_found("run")) }
}

/// A JSON body, and nothing that only looks like one.
pub(super) fn json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<T, ApiError> {
    let body = bytes(headers, body, BODY_BYTES_MAX)?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("application/json")) {
        return Err(ApiError::unsupported("the body must be `Content-Type: application/json`"));
    }
    let read = serde_json::from_slice(&body).map(|Object(read)| read);
    read.map_err(|error| match error.classify() {
        serde_json::error::Category::Data => ApiError::unprocessable(error.to_string()),
        _ => ApiError::bad_request(format!("the body is not JSON: {error}")),
    })
}

/// A value that is written as an object. Without this, serde also reads a list of the fields.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Object<T>, D::Error> {
        struct FieldsVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for FieldsVisitor<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        from.deserialize_map(FieldsVisitor(PhantomData)).map(Object)
    }
}

/// The bytes of a body that is not packed.
pub(super) fn bytes(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    max: usize,
) -> Result<Bytes, ApiError> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(ApiError::unsupported(
            "packed bodies are not read: leave `Content-Encoding` out",
        ));
    }
    body.map_err(|rejected| match rejected.status().as_u16() {
        413 => ApiError::too_large(max),
        _ => ApiError::bad_request(format!("the body could not be read: {rejected}")),
    })
}
