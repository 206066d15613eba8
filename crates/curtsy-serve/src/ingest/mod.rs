//! A run: what a person or a product asks for, from the order to tiles and evidence.

mod callback;
mod import;
pub(crate) mod keeper;
mod live;
pub(crate) mod order;
pub(crate) mod run;
pub(crate) mod survey;

pub(crate) use import::{Brought, NOWHERE};
pub(crate) use live::{Live, Shown, Stop};
pub(crate) use order::{IngestOrder, OrderError, URLS_MAX, mode_of};
pub(crate) use run::{RunAnswer, RunError, Runs, now, now_text};
pub(crate) use survey::{Planned, SurveyPlan};
