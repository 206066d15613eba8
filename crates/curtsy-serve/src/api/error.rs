//! Errors: a code for programs, and a sentence with a next step for people.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::db::DbError;
use crate::ingest::{OrderError, RunError};

/// An answer that says no.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    code: &'static str,
    /// The sentence; after a line break `hint: …`.
    message: String,
}

impl ApiError {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> ApiError {
        ApiError { status, code, message: message.into() }
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    pub(crate) fn unprocessable(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", message)
    }

    pub(crate) fn unauthorized(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    pub(crate) fn misdirected(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::MISDIRECTED_REQUEST, "wrong_host", message)
    }

    pub(crate) fn not_found(what: &str) -> ApiError {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    pub(crate) fn method_not_allowed() -> ApiError {
        let message = "this path has no such method: the header `Allow` names those that it has";
        ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message)
    }

    pub(crate) fn too_large(bytes: usize) -> ApiError {
        let message = format!("the body is longer than {bytes} bytes, which is the most");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message)
    }

    pub(crate) fn unsupported(message: impl Into<String>) -> ApiError {
        ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    }

    pub(crate) fn too_many() -> ApiError {
        let message = "too many requests from this address\nhint: wait a minute";
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message)
    }

    fn busy(message: String) -> ApiError {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
    }

    fn ours(message: String) -> ApiError {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    /// The sentence and the next step.
    pub(crate) fn said(&self) -> (&str, Option<&str>) {
        match self.message.split_once("\nhint: ") {
            Some((message, hint)) => (message, Some(hint)),
            None => (&self.message, None),
        }
    }
}

impl From<DbError> for ApiError {
    fn from(error: DbError) -> ApiError {
        ApiError::ours(error.to_string())
    }
}

impl From<OrderError> for ApiError {
    fn from(error: OrderError) -> ApiError {
        ApiError::unprocessable(error.to_string())
    }
}

impl From<RunError> for ApiError {
    fn from(error: RunError) -> ApiError {
        let message = error.to_string();
        match error {
            RunError::Busy | RunError::Ending => ApiError::busy(message),
            RunError::Spec(_) => ApiError::unprocessable(message),
            RunError::Crawl(_)
            | RunError::ServiceDatabase(_)
            | RunError::Thread(_)
            | RunError::Panic => ApiError::ours(message),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (message, hint) = self.said();
        let mut error = json!({"code": self.code, "message": message});
        if let Some(hint) = hint {
            error["hint"] = hint.into();
        }
        let body = Json(json!({"success": false, "error": error}));
        let mut response = (self.status, body).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
        }
        with_retry_after(response)
    }
}

/// Says when to come again, if that would help.
pub(crate) fn with_retry_after(mut response: Response) -> Response {
    let status = response.status();
    if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    }
    response
}
