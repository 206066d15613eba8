//! Signing in and out. A browser that is signed in may send forms.

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::frame::{FormFault, Frame, PageTrouble, answer};
use super::link::our_own;
use super::run::Bare;
use crate::app::App;
use crate::door::{BrowserSession, COOKIE, SESSION_SECONDS};

/// The page.
#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'p> {
    frame: Frame,
    next: &'p str,
    fault: Option<FormFault>,
    is_signed_in: bool,
}

/// What a link to the page brings.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginQuery {
    /// Signs in, once.
    code: String,
    /// Where to go on to.
    next: String,
}

/// The fields of the form. It has no token without a session; the door refuses requests from pages
/// of other sites.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct LoginForm {
    token: String,
    next: String,
}

pub(super) async fn show(
    State(app): State<App>,
    headers: HeaderMap,
    asked: Result<Query<LoginQuery>, QueryRejection>,
) -> Response {
    let Query(asked) = asked.unwrap_or_default();
    if asked.code.is_empty() {
        return page(&app, &headers, &asked.next, None);
    }
    match app.door.sign_in(&asked.code) {
        Some(session) => signed_in(&session, &asked.next),
        // A link that is followed again by somebody who is signed in by it is no mistake.
        None if app.door.session(&headers).is_some() => {
            Redirect::to(our_own(&asked.next)).into_response()
        }
        None => {
            let fault = "This link was used already, or is older than 15 minutes. Sign in with the token instead.";
            page(&app, &headers, &asked.next, Some(wrong(fault)))
        }
    }
}

pub(super) async fn sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    form: Result<Form<LoginForm>, FormRejection>,
) -> Response {
    let Form(typed) = form.unwrap_or_default();
    match app.door.sign_in(typed.token.trim()) {
        Some(session) => signed_in(&session, &typed.next),
        None => {
            let fault = wrong("This is not the token of this service.");
            page(&app, &headers, &typed.next, Some(fault))
        }
    }
}

pub(super) async fn sign_out(
    State(app): State<App>,
    headers: HeaderMap,
    form: Result<Form<Bare>, FormRejection>,
) -> Result<Response, PageTrouble> {
    let Form(form) = form.unwrap_or_default();
    app.door.may_change(&headers, Some(&form.csrf))?;
    app.door.sign_out(&headers);
    Ok(with_cookie("", 0, Redirect::to("/")))
}

fn wrong(message: &str) -> FormFault {
    FormFault { status: StatusCode::UNAUTHORIZED, ..FormFault::typed("token", message) }
}

fn page(app: &App, headers: &HeaderMap, next: &str, fault: Option<FormFault>) -> Response {
    let status = fault.as_ref().map_or(StatusCode::OK, |fault| fault.status);
    let title = if fault.is_some() { "Error: Sign in" } else { "Sign in" };
    let mut frame = Frame::of(app, headers, title, "/");
    let is_signed_in = frame.csrf().is_some();
    if !is_signed_in {
        // This is where one signs in: no link leads here again.
        frame.who = super::frame::Who::Anybody;
    }
    answer(app, status, &LoginPage { frame, next: our_own(next), fault, is_signed_in })
}

fn signed_in(session: &BrowserSession, next: &str) -> Response {
    let cookie = session.cookie.as_deref().unwrap_or_default();
    with_cookie(cookie, SESSION_SECONDS, Redirect::to(our_own(next)))
}

fn with_cookie(value: &str, seconds: u64, to: Redirect) -> Response {
    let cookie = format!("{COOKIE}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}");
    let cookie = HeaderValue::from_str(&cookie).expect("a session's name is of hexadecimal digits");
    ([(header::SET_COOKIE, cookie)], to).into_response()
}
