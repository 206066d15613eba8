//! What stands around every page, and how a page becomes an answer.

use askama::Template;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};

use super::link::{in_query, our_own};
use super::words::sentence;
use crate::ServeSpec;
use crate::api::{ApiError, with_retry_after};
use crate::app::App;
use crate::db::DbError;
use crate::health::shown;
use crate::ingest::RunError;
use crate::orbit::Slug;
use crate::secret::is_name;

/// What stands around a page.
pub(super) struct Frame {
    /// What the page is, for its title.
    pub(super) title: String,
    pub(super) who: Who,
    /// The page's own place, to come back to after signing in.
    pub(super) here: String,
    /// Seconds after which a browser without script loads the page again.
    pub(super) refresh: Option<u32>,
}

/// Who looks at the page.
pub(super) enum Who {
    /// A browser with a session; its forms hold this.
    SignedIn(String),
    /// Somebody who may look.
    SignedOut,
    /// A page that asks for nobody's name.
    Anybody,
}

impl Frame {
    /// The frame of a page for whoever asks.
    pub(super) fn of(app: &App, headers: &HeaderMap, title: &str, here: &str) -> Frame {
        let who = match app.door.session(headers) {
            Some(session) => Who::SignedIn(session.csrf),
            None => Who::SignedOut,
        };
        Frame { who, ..Frame::plain(title, here) }
    }

    /// The frame of a page that is the same for all.
    pub(super) fn plain(title: &str, here: &str) -> Frame {
        let (title, here) = (title.to_owned(), our_own(here).to_owned());
        Frame { title, who: Who::Anybody, here, refresh: None }
    }

    /// What a form holds; none if forms can't be sent.
    pub(super) fn csrf(&self) -> Option<&str> {
        match &self.who {
            Who::SignedIn(csrf) => Some(csrf),
            Who::SignedOut | Who::Anybody => None,
        }
    }

    /// Where to sign in, and come back.
    pub(super) fn sign_in(&self) -> String {
        format!("/login?next={}", in_query(&self.here))
    }

    pub(super) fn is_signed_out(&self) -> bool {
        matches!(self.who, Who::SignedOut)
    }
}

/// The HTML of a page.
pub(super) fn html(spec: &ServeSpec, page: &impl Template) -> String {
    let html =
        page.render().expect("a page is written into memory, and what it shows can be shown");
    shown(spec, html)
}

/// A page as an answer.
pub(super) fn answer(app: &App, status: StatusCode, page: &impl Template) -> Response {
    (status, Html(html(&app.spec, page))).into_response()
}

/// A page that can't be shown, and what is shown instead.
#[derive(Debug)]
pub(super) struct PageTrouble {
    status: StatusCode,
    heading: &'static str,
    message: String,
    hint: Option<String>,
}

#[derive(Template)]
#[template(path = "trouble.html")]
struct TroublePage<'t> {
    frame: Frame,
    trouble: &'t PageTrouble,
}

impl PageTrouble {
    /// There is no such thing.
    pub(super) fn nothing(what: &str) -> PageTrouble {
        PageTrouble {
            status: StatusCode::NOT_FOUND,
            heading: "Nothing here",
            message: format!("There is no such {what}."),
            hint: Some("Check the address, or begin at the first page.".to_owned()),
        }
    }
}

impl From<ApiError> for PageTrouble {
    fn from(error: ApiError) -> PageTrouble {
        let (message, hint) = error.said();
        let heading = match error.status.is_server_error() {
            true => "This did not work",
            false => "This can’t be done",
        };
        PageTrouble {
            status: error.status,
            heading,
            message: sentence(message),
            hint: hint.map(sentence),
        }
    }
}

impl From<DbError> for PageTrouble {
    fn from(error: DbError) -> PageTrouble {
        ApiError::from(error).into()
    }
}

impl From<RunError> for PageTrouble {
    fn from(error: RunError) -> PageTrouble {
        ApiError::from(error).into()
    }
}

impl IntoResponse for PageTrouble {
    fn into_response(self) -> Response {
        let page = TroublePage { frame: Frame::plain(self.heading, "/"), trouble: &self };
        let html =
            page.render().expect("a page is written into memory, and what it shows can be shown");
        with_retry_after((self.status, Html(html)).into_response())
    }
}

/// The orbit of a path.
pub(super) fn slug(text: &str) -> Result<Slug, PageTrouble> {
    Slug::parse(text).ok_or_else(|| PageTrouble::nothing("orbit"))
}

/// The name of a run in a path.
pub(super) fn trace(text: &str) -> Result<String, PageTrouble> {
    is_name(text).then(|| text.to_owned()).ok_or_else(|| PageTrouble::nothing("run"))
}

/// What is wrong with a form, beside the field that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FormFault {
    /// The `name` of the field; none if it is about the form as a whole.
    pub(super) field: Option<&'static str>,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) status: StatusCode,
}

impl FormFault {
    /// Something that was typed can't be used.
    pub(super) fn typed(field: &'static str, message: impl Into<String>) -> FormFault {
        FormFault {
            field: Some(field),
            message: message.into(),
            hint: None,
            status: StatusCode::UNPROCESSABLE_ENTITY,
        }
    }

    /// Whether it is about this field.
    pub(super) fn is_of(&self, field: &str) -> bool {
        self.field == Some(field)
    }
}

impl From<ApiError> for FormFault {
    fn from(error: ApiError) -> FormFault {
        let (message, hint) = error.said();
        let message = match error.status {
            StatusCode::UNAUTHORIZED => {
                "You are not signed in, or your session is over.".to_owned()
            }
            _ => sentence(message),
        };
        FormFault { field: None, message, hint: hint.map(sentence), status: error.status }
    }
}
