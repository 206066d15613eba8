//! `/orbit/:slug/import`: the three ways to bring a site in, and what was brought in before.

use askama::Template;
use axum::extract::rejection::{FormRejection, QueryRejection};
use axum::extract::{Form, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;

use super::frame::{FormFault, Frame, PageTrouble, answer, html, slug, trace};
use super::history::{self, Past};
use super::mode::{self, ModeChoice};
use super::plan::PlanPage;
use super::result::not_had;
use super::words::sentence;
use crate::ServeSpec;
use crate::api::ApiError;
use crate::app::App;
use crate::ingest::{IngestOrder, OrderError, RunError, URLS_MAX};
use crate::orbit::Slug;
use crate::records::{self, RunRecord};

/// Runs on one page of the history.
const RUNS_SHOWN: i64 = 25;

/// The page.
#[derive(Template)]
#[template(path = "import.html")]
pub(super) struct ImportPage<'p> {
    frame: Frame,
    slug: &'p Slug,
    tab: Tab,
    modes: [ModeChoice; 3],
    typed: ImportForm,
    brought: BroughtText,
    fault: Option<FormFault>,
    /// The run that the form's addresses come from.
    from: Option<String>,
    example: Option<&'p str>,
    past: Past,
    urls_max: usize,
}

/// What a part of the page is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Intelligence,
    Manual,
    History,
}

impl Tab {
    pub(super) const ALL: [Tab; 3] = [Tab::Intelligence, Tab::Manual, Tab::History];

    /// Its name in the address.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tab::Intelligence => "intelligence",
            Tab::Manual => "manual",
            Tab::History => "history",
        }
    }

    pub(super) fn heading(self) -> &'static str {
        match self {
            Tab::Intelligence => "Website Intelligence",
            Tab::Manual => "Manual import",
            Tab::History => "History",
        }
    }
}

/// What stands in the form of a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportForm {
    pub(super) csrf: String,
    pub(super) url: String,
    pub(super) mode: String,
    /// One address a line.
    pub(super) user_urls: String,
}

impl ImportForm {
    /// The order that it is.
    pub(super) fn order(&self, slug: Slug) -> Result<IngestOrder, FormFault> {
        let lines = self.user_urls.lines().map(str::trim).filter(|line| !line.is_empty());
        let urls: Vec<String> = lines.map(str::to_owned).collect();
        if self.url.trim().is_empty() && self.mode != "user_assisted" {
            return Err(FormFault::typed("url", "Type the address of the site."));
        }
        IngestOrder::read(slug, &self.url, &self.mode, &urls).map_err(FormFault::from)
    }
}

impl From<OrderError> for FormFault {
    fn from(error: OrderError) -> FormFault {
        match error {
            OrderError::Url { field, why } => {
                let mut lines = why.splitn(2, "\nhint: ");
                let message = sentence(lines.next().unwrap_or_default());
                FormFault { hint: lines.next().map(sentence), ..FormFault::typed(field, message) }
            }
            OrderError::Mode(_) => FormFault::typed("mode", "Choose one of the three modes."),
            OrderError::NotAssisted => FormFault::typed(
                "userUrls",
                "You named pages, but this mode chooses pages by itself. Choose the mode User-assisted, or leave this field empty.",
            ),
            OrderError::NoUrls => FormFault::typed(
                "userUrls",
                "Name at least one page: the mode User-assisted fetches just the pages that you name here.",
            ),
            OrderError::TooMany(given) => FormFault::typed(
                "userUrls",
                format!("These are {given} addresses, and {URLS_MAX} are the most."),
            ),
            OrderError::NothingBrought => {
                FormFault::typed("text", "There is nothing to import: the text or file is empty.")
            }
        }
    }
}

/// What stands in the form of an import by hand.
#[derive(Clone, Debug, Default)]
pub(super) struct BroughtText {
    pub(super) text: String,
    pub(super) source: String,
}

/// What a link to the page asks for.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ImportQuery {
    tab: String,
    url: String,
    mode: String,
    user_urls: String,
    /// A run whose pages could not be had: its form names them.
    from: String,
    before: String,
}

impl ImportQuery {
    fn tab(&self) -> Tab {
        Tab::ALL.into_iter().find(|tab| tab.name() == self.tab).unwrap_or_default()
    }
}

impl<'p> ImportPage<'p> {
    fn new(spec: &'p ServeSpec, slug: &'p Slug, frame: Frame, tab: Tab) -> ImportPage<'p> {
        let title = format!("{} · {slug}", tab.heading());
        ImportPage {
            frame: Frame { title, ..frame },
            slug,
            tab,
            modes: mode::choices(spec),
            typed: ImportForm { mode: "standard".to_owned(), ..ImportForm::default() },
            brought: BroughtText::default(),
            fault: None,
            from: None,
            example: spec.example.as_deref(),
            past: Past::default(),
            urls_max: URLS_MAX,
        }
    }

    /// Whether something is wrong with this field.
    fn is_wrong(&self, field: &str) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.is_of(field))
    }
}

/// The page's HTML, as whoever is not signed in sees it.
pub(super) fn import_html(spec: &ServeSpec, slug: &Slug) -> String {
    let frame = Frame::plain("", &place(slug, Tab::Intelligence));
    html(spec, &ImportPage::new(spec, slug, frame, Tab::Intelligence))
}

/// Where a part of the page is.
fn place(slug: &Slug, tab: Tab) -> String {
    format!("/orbit/{slug}/import?tab={}", tab.name())
}

/// The page with what was typed and what is wrong with it.
pub(super) fn wrong(
    app: &App,
    headers: &HeaderMap,
    slug: &Slug,
    typed: ImportForm,
    fault: FormFault,
) -> Response {
    let status = fault.status;
    let page = framed(app, headers, slug, Tab::Intelligence);
    answer(app, status, &ImportPage { typed, ..page.with(fault) })
}

/// The same for an import by hand.
pub(super) fn wrong_by_hand(
    app: &App,
    headers: &HeaderMap,
    slug: &Slug,
    brought: BroughtText,
    fault: FormFault,
) -> Response {
    let status = fault.status;
    let page = framed(app, headers, slug, Tab::Manual);
    answer(app, status, &ImportPage { brought, ..page.with(fault) })
}

fn framed<'p>(app: &'p App, headers: &HeaderMap, slug: &'p Slug, tab: Tab) -> ImportPage<'p> {
    let frame = Frame::of(app, headers, "", &place(slug, tab));
    ImportPage::new(&app.spec, slug, frame, tab)
}

impl ImportPage<'_> {
    /// With what is wrong; the title says so first, since that is what is read out first.
    fn with(mut self, fault: FormFault) -> Self {
        self.frame.title = format!("Error: {}", self.frame.title);
        self.fault = Some(fault);
        self
    }
}

pub(super) async fn show(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    asked: Result<Query<ImportQuery>, QueryRejection>,
) -> Result<Response, PageTrouble> {
    let slug = slug(&name)?;
    let Query(asked) = asked.unwrap_or_default();
    let mut page = framed(&app, &headers, &slug, asked.tab());
    match page.tab {
        Tab::Intelligence => {
            page.typed = prefilled(&app, &slug, &asked).await?;
            page.from = trace(&asked.from).ok();
        }
        Tab::Manual => page.brought.source = asked.url,
        Tab::History => {
            let (orbit, before) = (slug.clone(), asked.before.parse::<i32>().ok().map(i64::from));
            // One more than is shown tells whether there is more.
            let list =
                move |db: &mut _| RunRecord::list(db, orbit.as_str(), before, RUNS_SHOWN + 1);
            let runs = app.database.ask(list).await?;
            page.past = history::past(&runs, RUNS_SHOWN as usize, before.is_some());
        }
    }
    Ok(answer(&app, StatusCode::OK, &page))
}

/// What a link puts into the form.
async fn prefilled(app: &App, slug: &Slug, asked: &ImportQuery) -> Result<ImportForm, PageTrouble> {
    let known = mode::choices(&app.spec).iter().any(|choice| choice.value == asked.mode);
    let mode = if known { asked.mode.as_str() } else { "standard" };
    let assisted = mode == "user_assisted";
    let mut user_urls = asked.user_urls.clone();
    if let (true, Ok(from)) = (assisted && user_urls.is_empty(), trace(&asked.from)) {
        let orbit = slug.clone();
        let ask = move |db: &mut _| match RunRecord::find(db, orbit.as_str(), &from)? {
            Some(run) => Ok(not_had(&run, &records::pages(db, &from)?)),
            None => Ok(Vec::new()),
        };
        user_urls = app.database.ask(ask).await?.join("\n");
    }
    if assisted && user_urls.is_empty() {
        user_urls.clone_from(&asked.url);
    }
    Ok(ImportForm { csrf: String::new(), url: asked.url.clone(), mode: mode.to_owned(), user_urls })
}

/// What a form orders, if this browser may send it; else what was typed, and what is wrong with it.
fn ordered(
    app: &App,
    headers: &HeaderMap,
    slug: &Slug,
    form: Result<Form<ImportForm>, FormRejection>,
) -> Result<(ImportForm, IngestOrder), (ImportForm, FormFault)> {
    let Form(typed) = form.map_err(|rejected| {
        let mut fault = FormFault::typed("url", "The form could not be read. Send it again.");
        (fault.field, fault.status) = (None, rejected.status());
        (ImportForm::default(), fault)
    })?;
    let may_change = app.door.may_change(headers, Some(&typed.csrf)).map_err(FormFault::from);
    match may_change.and_then(|()| typed.order(slug.clone())) {
        Ok(order) => Ok((typed, order)),
        Err(fault) => Err((typed, fault)),
    }
}

/// Begins a run.
pub(super) async fn ingest(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    form: Result<Form<ImportForm>, FormRejection>,
) -> Result<Response, PageTrouble> {
    let slug = slug(&name)?;
    let (typed, order) = match ordered(&app, &headers, &slug, form) {
        Ok(ordered) => ordered,
        Err((typed, fault)) => return Ok(wrong(&app, &headers, &slug, typed, fault)),
    };
    let runs = app.runs.clone();
    let started = tokio::task::spawn_blocking(move || runs.start(order)).await;
    Ok(match started.unwrap_or(Err(RunError::Ending)) {
        Ok((live, _)) => {
            Redirect::to(&format!("/orbit/{slug}/runs/{}", live.trace)).into_response()
        }
        Err(error) => wrong(&app, &headers, &slug, typed, ApiError::from(error).into()),
    })
}

/// Shows what a run would ask for.
pub(super) async fn plan(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
    form: Result<Form<ImportForm>, FormRejection>,
) -> Result<Response, PageTrouble> {
    let slug = slug(&name)?;
    let (typed, order) = match ordered(&app, &headers, &slug, form) {
        Ok(ordered) => ordered,
        Err((typed, fault)) => return Ok(wrong(&app, &headers, &slug, typed, fault)),
    };
    let title = format!("Plan · {slug}");
    let frame = Frame::of(&app, &headers, &title, &place(&slug, Tab::Intelligence));
    if !order.mode.is_automated() {
        let page = PlanPage::of_named(&app.spec, frame, &slug, typed, &order);
        return Ok(answer(&app, StatusCode::OK, &page));
    }
    let runs = app.runs.clone();
    let planned = tokio::task::spawn_blocking(move || runs.plan(&order)).await;
    Ok(match planned.unwrap_or(Err(RunError::Ending)) {
        Ok((report, plan)) => {
            let page = PlanPage::of_survey(frame, &slug, typed, &report, &plan);
            answer(&app, StatusCode::OK, &page)
        }
        Err(error) => wrong(&app, &headers, &slug, typed, ApiError::from(error).into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong_field(url: &str, mode: &str, user_urls: &str) -> Option<&'static str> {
        let slug = Slug::parse("demo").unwrap();
        let typed = ImportForm {
            url: url.into(),
            mode: mode.into(),
            user_urls: user_urls.into(),
            ..ImportForm::default()
        };
        typed.order(slug).err().map(|fault| fault.field.expect("a field is at fault"))
    }

    #[test]
    fn what_is_wrong_is_said_beside_its_field() {
        let many = "https://a.test/x\n".repeat(URLS_MAX + 1);
        let cases = [
            ("https://a.test/", "light", "", None),
            ("a.test", "standard", " \r\n ", None),
            ("", "user_assisted", "https://a.test/\r\n\r\n https://a.test/b ", None),
            ("", "light", "", Some("url")),
            ("ftp://a.test/", "light", "", Some("url")),
            ("a.test", "", "", Some("mode")),
            ("a.test", "light", "https://a.test/", Some("userUrls")),
            ("a.test", "user_assisted", "", Some("userUrls")),
            ("a.test", "user_assisted", "javascript:alert(1)", Some("userUrls")),
            ("a.test", "user_assisted", many.as_str(), Some("userUrls")),
        ];
        for (url, mode, user_urls, field) in cases {
            assert_eq!(wrong_field(url, mode, user_urls), field, "{url} {mode} {user_urls:.40}");
        }
    }

    #[test]
    fn an_unknown_tab_is_the_first() {
        let tab = |name: &str| ImportQuery { tab: name.into(), ..ImportQuery::default() }.tab();
        assert_eq!((tab("manual"), tab("history")), (Tab::Manual, Tab::History));
        assert_eq!((tab(""), tab("<b>")), (Tab::Intelligence, Tab::Intelligence));
    }
}
