//! Reads pages: links, title, directives.
//!
//! [`HtmlPage::read`] is for the crawl: one pass over the text, then one parse for each different
//! reference. [`Markup`] is the step before: the facts of the finished tree's elements, in their
//! order.
//!
//! The reader is the HTML standard's own algorithm without the document: a tokenizer that returns
//! places in the text (`token`), and a tree builder that keeps an element's place in the tree only
//! while it may matter (`tree`). Tags alone are not enough: an unclosed link is opened again in the
//! next paragraph, a link in a table may move before it, a frameset removes the body.
//! `docs/internals/pages.md` compares this reader with a full parser.

mod address;
mod doctype;
mod entity;
mod fact;
mod login;
mod markup;
mod mention;
mod name;
mod page;
mod refresh;
mod shown;
mod token;
mod tree;

pub use address::Addresses;
pub use markup::{Directive, LinkReference, Markup};
pub use mention::{Mention, Use, mentions, places};
pub(crate) use page::ROBOTS_MAX;
pub use page::{HtmlPage, PageCut, PageLimits, PageLink};
pub use shown::{ShownPart, shown};
pub(crate) use token::ATTRIBUTES_MAX;
pub(crate) use tree::{NODES_MAX, STEPS_MAX};
