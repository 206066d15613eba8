//! What a person brings by hand through the form: a text, a page, or a file.

use axum::extract::multipart::{Field, MultipartError, MultipartRejection};
use axum::extract::{Multipart, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};

use super::frame::{FormFault, PageTrouble, slug};
use super::import::{BroughtText, wrong_by_hand};
use crate::api::{ApiError, IMPORT_BYTES_MAX};
use crate::app::App;
use crate::ingest::{Brought, RunError};
use crate::orbit::Slug;

/// The most bytes of a form: more than a file may have, so that the page can say that it is too
/// large.
pub(crate) const FORM_BYTES_MAX: usize = 2 * IMPORT_BYTES_MAX;
/// Bytes of a field that is typed in one line.
pub(crate) const LINE_BYTES_MAX: usize = 4_096;

/// What the form sent.
#[derive(Default)]
struct SentForm {
    csrf: String,
    typed: BroughtText,
    file: Option<UploadedFile>,
}

struct UploadedFile {
    name: String,
    bytes: Vec<u8>,
}

pub(super) async fn import(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    form: Result<Multipart, MultipartRejection>,
) -> Result<Response, PageTrouble> {
    let slug = slug(&name)?;
    // Whoever is not signed in is told so before megabytes are read.
    if let Err(error) = app.door.may_change(&headers, None)
        && error.status == StatusCode::UNAUTHORIZED
    {
        return Ok(wrong_by_hand(&app, &headers, &slug, BroughtText::default(), error.into()));
    }
    let mut sent = SentForm::default();
    let read = match form {
        Ok(form) => read(form, &mut sent).await,
        Err(_) => Err(unread()),
    };
    let allowed = || app.door.may_change(&headers, Some(&sent.csrf)).map_err(FormFault::from);
    let brought = read.and_then(|()| allowed()).and_then(|()| brought(&slug, &sent));
    let brought = match brought {
        Ok(brought) => brought,
        Err(fault) => return Ok(wrong_by_hand(&app, &headers, &slug, sent.typed, fault)),
    };
    let runs = app.runs.clone();
    let imported = tokio::task::spawn_blocking(move || runs.import(brought)).await;
    Ok(match imported.unwrap_or(Err(RunError::Ending)) {
        Ok(answer) => Redirect::to(&format!("/orbit/{slug}/runs/{}", answer.evidence.trace_id))
            .into_response(),
        Err(error) => {
            let fault = ApiError::from(error).into();
            wrong_by_hand(&app, &headers, &slug, sent.typed, fault)
        }
    })
}

/// Reads the form's fields. What was read before something went wrong is kept.
async fn read(mut form: Multipart, sent: &mut SentForm) -> Result<(), FormFault> {
    while let Some(field) = form.next_field().await.map_err(broken)? {
        match field.name() {
            Some("csrf") => sent.csrf = line(field).await?,
            Some("source") => sent.typed.source = line(field).await?,
            Some("text") => {
                let bytes = bytes(field, "text").await?;
                sent.typed.text = String::from_utf8_lossy(&bytes).into_owned();
            }
            Some("file") => {
                // A form without a file has a file without a name.
                let name = field.file_name().unwrap_or_default().to_owned();
                let bytes = bytes(field, "file").await?;
                sent.file = (!name.is_empty()).then_some(UploadedFile { name, bytes });
            }
            _ => {}
        }
    }
    Ok(())
}

async fn line(field: Field<'_>) -> Result<String, FormFault> {
    let text = field.text().await.map_err(broken)?;
    if text.len() > LINE_BYTES_MAX {
        return Err(FormFault::typed(
            "source",
            format!("An address has at most {LINE_BYTES_MAX} bytes."),
        ));
    }
    Ok(text)
}

async fn bytes(field: Field<'_>, name: &'static str) -> Result<Vec<u8>, FormFault> {
    let bytes = field.bytes().await.map_err(broken)?;
    if bytes.len() > IMPORT_BYTES_MAX {
        return Err(too_large(name));
    }
    Ok(bytes.to_vec())
}

fn broken(error: MultipartError) -> FormFault {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => too_large("file"),
        _ => unread(),
    }
}

fn too_large(field: &'static str) -> FormFault {
    let message = "This is larger than 4 MiB, which is the most that can be imported at once.";
    FormFault { status: StatusCode::PAYLOAD_TOO_LARGE, ..FormFault::typed(field, message) }
}

fn unread() -> FormFault {
    let mut fault = FormFault::typed("text", "The form could not be read. Send it again.");
    (fault.field, fault.status) = (None, StatusCode::BAD_REQUEST);
    fault
}

/// What is to be read for tiles: the text or the file.
fn brought(slug: &Slug, sent: &SentForm) -> Result<Brought, FormFault> {
    let text = sent.typed.text.as_str();
    let (content_type, body) = match &sent.file {
        Some(_) if !text.trim().is_empty() => {
            return Err(FormFault::typed("file", "Give either a text or a file, not both."));
        }
        Some(file) => (of_file(&file.name)?, file.bytes.clone()),
        None => (of_text(text), text.as_bytes().to_vec()),
    };
    Ok(Brought::read(slug.clone(), Some(&sent.typed.source), content_type, body)?)
}

/// What a file is, by its name. Its charset is found in it.
fn of_file(name: &str) -> Result<&'static str, FormFault> {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match ending.as_deref() {
        Some("html" | "htm") => Ok("text/html"),
        Some("txt") => Ok("text/plain"),
        _ => Err(FormFault::typed("file", "A file to import ends in .html, .htm or .txt.")),
    }
}

/// What a text is: HTML begins with a tag.
fn of_text(text: &str) -> &'static str {
    match text.trim_start().starts_with('<') {
        true => "text/html; charset=utf-8",
        false => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str, file: Option<&str>) -> SentForm {
        let typed = BroughtText { text: text.into(), source: String::new() };
        let file = file.map(|name| UploadedFile { name: name.into(), bytes: b"<p>x".to_vec() });
        SentForm { typed, file, ..SentForm::default() }
    }

    #[test]
    fn a_file_is_known_by_its_ending() {
        assert_eq!(of_file("menu.HTML"), Ok("text/html"));
        assert_eq!(of_file("a.b.txt"), Ok("text/plain"));
        for bad in ["menu.pdf", "html", "", "x.html.exe"] {
            assert!(of_file(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn text_that_begins_with_a_tag_is_html() {
        assert_eq!(of_text("  \n<!doctype html>"), "text/html; charset=utf-8");
        assert_eq!(of_text("Open daily < 18:00"), "text/plain; charset=utf-8");
    }

    #[test]
    fn a_text_or_a_file_is_wanted_and_not_both() {
        let slug = Slug::parse("demo").unwrap();
        let field = |sent: &SentForm| brought(&slug, sent).err().and_then(|fault| fault.field);
        assert_eq!(field(&sent("x", None)), None);
        assert_eq!(field(&sent("", Some("x.txt"))), None);
        assert_eq!(field(&sent("x", Some("x.txt"))), Some("file"));
        assert_eq!(field(&sent(" \n", None)), Some("text"));
    }
}
