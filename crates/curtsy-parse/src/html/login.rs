//! Recognises pages that are a login form, as opposed to pages that also have one.
//!
//! A login is recognised by its structure: a form with one password field and hardly anything else.
//! A blog with a login in its sidebar, a shop with one in its header and an article about passwords
//! have text of their own, and a registration has more fields. What counts is the text outside of
//! the form, of navigation and of links.
//!
//! Words decide only between pages with the same structure: a login within a site's whole frame,
//! and a short page whose header has a login box. A page without a password field is not read here.
//! One with such a field is read a second time, by its tags alone.

use super::name::{
    A, ASIDE, BUTTON, DETAILS, DIALOG, ElementName, FOOTER, FORM, H1, H2, H3, HEADER, INPUT,
    LEGEND, NAV, OPTION, SCRIPT, SELECT, TEMPLATE, TEXTAREA, VOID,
};
use super::token::{HtmlToken, Tokens};
use super::{entity, fact};
use crate::login::{names_login, names_registration};

/// Returns whether a page is a login. `title` is the title of the page.
pub(super) fn is_login(text: &str, title: Option<&str>) -> bool {
    let look = LoginClues::at(text);
    look.forms.iter().any(|form| look.is_login(form, title.unwrap_or_default()))
}

/// The parts of a page that show a login.
#[derive(Debug, Default)]
struct LoginClues {
    /// The forms. The first one has what is in no form.
    forms: Vec<Form>,
    /// The texts of the headings.
    headings: String,
}

/// A form, or what is in none.
#[derive(Debug, Default)]
struct Form {
    /// Fields for a known password.
    passwords: usize,
    /// Fields for a new password.
    new_passwords: usize,
    /// Fields for a line of text.
    lines: usize,
    /// Fields for several lines of text.
    areas: usize,
    /// Whether the form can be sent.
    sends: bool,
    /// Whether a password field is in navigation, a header, a sidebar or a box that opens.
    aside: bool,
    /// Characters that are neither links nor navigation, without white space.
    prose: usize,
    /// Links that are no navigation.
    links: usize,
    /// The target of the form, and the texts of its buttons.
    words: String,
}

impl LoginClues {
    fn is_login(&self, form: &Form, title: &str) -> bool {
        let asks_for_one = form.passwords == 1 && form.new_passwords == 0;
        if !asks_for_one || form.lines > LINES_MAX || form.areas > 0 || !form.sends {
            return false;
        }
        let others = self.forms.iter().filter(|other| !std::ptr::eq(*other, form));
        let sum = |of: fn(&Form) -> usize| others.clone().map(of).sum::<usize>();
        // A page of forms is no login.
        if sum(|other| other.lines) > OTHER_LINES_MAX || sum(|other| other.areas) > 0 {
            return false;
        }
        let says = |is: fn(&str) -> bool| is(title) || is(&self.headings) || is(&form.words);
        if says(names_registration) && !says(names_login) {
            return false;
        }
        // The text of the form itself beyond labels and a hint.
        let prose = sum(|other| other.prose) + form.prose.saturating_sub(FORM_PROSE_MAX);
        let named = names_login(title) || names_login(&self.headings);
        let bare = prose <= BARE_PROSE_MAX && sum(|other| other.links) <= BARE_LINKS_MAX;
        !form.aside && (bare || named && prose <= FRAMED_PROSE_MAX)
            || named && prose <= ASIDE_PROSE_MAX
    }

    fn at(text: &str) -> LoginClues {
        let mut tokens = Tokens::new(text);
        let mut look = LoginClues { forms: vec![Form::default()], ..LoginClues::default() };
        let mut open = OpenTags::default();
        while let Some(token) = tokens.next(false) {
            match token {
                HtmlToken::Doctype { .. } => {}
                HtmlToken::Start { name, self_closing } => {
                    look.start(&mut open, &mut tokens, name, self_closing)
                }
                HtmlToken::End { name } => open.end(name),
                HtmlToken::Characters(_) => {
                    look.characters(&open, &entity::in_text(tokens.last_run()))
                }
            }
        }
        look
    }

    fn start(
        &mut self,
        open: &mut OpenTags,
        tokens: &mut Tokens<'_>,
        name: ElementName,
        self_closing: bool,
    ) {
        match name {
            SCRIPT => return tokens.script_contents(),
            TEXTAREA => self.form(open).areas += 1,
            INPUT => return self.input(open, tokens),
            FORM => {
                if self.forms.len() < FORMS_MAX {
                    self.forms.push(Form::default());
                }
                let action = attribute(tokens, "action");
                let form = self.forms.len() - 1;
                self.forms[form].words = action;
                open.start(name, FieldPlace { form: Some(form), ..open.place() });
                return;
            }
            BUTTON => self.form(open).sends = true,
            A => {
                // A script sends a link that looks like a button.
                let form = self.form(open);
                form.sends |= attribute(tokens, "class").contains("btn");
                form.links += usize::from(!open.place().aside);
            }
            _ => {}
        }
        if let Some(raw) = name.raw_text() {
            tokens.raw_contents(raw);
            return;
        }
        if !self_closing && !VOID.contains(&name) {
            let before = open.place();
            open.start(
                name,
                FieldPlace {
                    aside: before.aside || ASIDES.contains(&name) || is_named_aside(tokens),
                    link: before.link || name == A,
                    button: before.button || name == BUTTON,
                    control: before.control || matches!(name, BUTTON | SELECT | OPTION),
                    heading: before.heading || matches!(name, H1 | H2 | H3 | LEGEND),
                    hidden: before.hidden || name == TEMPLATE,
                    form: before.form,
                },
            );
        }
    }

    fn input(&mut self, open: &OpenTags, tokens: &Tokens<'_>) {
        let place = open.place();
        if place.hidden {
            return;
        }
        let (kind, completes) = (attribute(tokens, "type"), attribute(tokens, "autocomplete"));
        let words = attribute(tokens, "value");
        let form = self.form(open);
        match kind.as_str() {
            "password" => {
                match completes.as_str() {
                    "new-password" => form.new_passwords += 1,
                    _ => form.passwords += 1,
                }
                form.aside |= place.aside;
            }
            "submit" | "image" | "button" => {
                form.sends = true;
                if form.words.len() < WORDS_BYTES_MAX {
                    form.words.push_str(&words);
                }
            }
            "" | "text" | "email" | "tel" | "url" | "number" | "date" => form.lines += 1,
            _ => {}
        }
    }

    fn characters(&mut self, open: &OpenTags, text: &str) {
        let place = open.place();
        if place.hidden {
            return;
        }
        if place.heading && self.headings.len() < WORDS_BYTES_MAX {
            self.headings.push_str(text);
            self.headings.push(' ');
        }
        if place.button && self.form(open).words.len() < WORDS_BYTES_MAX {
            self.form(open).words.push_str(text);
        }
        if !place.aside && !place.link && !place.control {
            self.form(open).prose += text.chars().filter(|c| !c.is_whitespace()).count();
        }
    }

    fn form(&mut self, open: &OpenTags) -> &mut Form {
        &mut self.forms[open.place().form.unwrap_or_default()]
    }
}

/// The place of a form field in the page.
#[derive(Clone, Copy, Debug, Default)]
struct FieldPlace {
    form: Option<usize>,
    aside: bool,
    link: bool,
    button: bool,
    control: bool,
    heading: bool,
    hidden: bool,
}

/// The open elements, by their tags alone.
#[derive(Debug, Default)]
struct OpenTags {
    elements: Vec<(ElementName, FieldPlace)>,
}

impl OpenTags {
    fn place(&self) -> FieldPlace {
        self.elements.last().map_or(FieldPlace::default(), |(_, place)| *place)
    }

    fn start(&mut self, name: ElementName, place: FieldPlace) {
        if self.elements.len() < DEPTH_MAX {
            self.elements.push((name, place));
        }
    }

    /// Closes the last element of this name and the elements inside it. Ignores a tag that closes
    /// no element nearby.
    fn end(&mut self, name: ElementName) {
        let near = self.elements.iter().rev().take(NEAR);
        if let Some(back) = near.into_iter().position(|(other, _)| *other == name) {
            self.elements.truncate(self.elements.len() - 1 - back);
        }
    }
}

/// Returns an attribute of the last tag, decoded, in lower case; `""` if there is none.
fn attribute(tokens: &Tokens<'_>, name: &str) -> String {
    let value = tokens.attribute(name).map(|span| entity::in_attribute(span.of(tokens.text())));
    value.map_or(String::new(), |value| value.trim_matches(fact::WHITE).to_ascii_lowercase())
}

/// Returns whether the element's names say that it is beside the page's own text.
fn is_named_aside(tokens: &Tokens<'_>) -> bool {
    ["id", "class", "role"].iter().any(|name| {
        let value = attribute(tokens, name);
        !value.is_empty() && ASIDE_NAMES.split(' ').any(|word| value.contains(word))
    })
}

const ASIDES: [ElementName; 6] = [NAV, HEADER, FOOTER, ASIDE, DIALOG, DETAILS];
const ASIDE_NAMES: &str = "sidebar widget navbar nav- topbar toolbar dropdown offcanvas off-canvas \
    popup footer header- quick breadcrumb";

/// Limit of the lines of text in a login, beside the password: a name, a realm, a code.
const LINES_MAX: usize = 3;
/// Limits of the text beside a login form, in characters without white space, and of its links.
const BARE_PROSE_MAX: usize = 400;
const BARE_LINKS_MAX: usize = 20;
/// The same within the frame of a whole site, if title or heading name a login.
const FRAMED_PROSE_MAX: usize = 500;
/// The same if the form is beside the text.
const ASIDE_PROSE_MAX: usize = 150;
/// Limit of the lines of text in the rest of the page: a search, a newsletter.
const OTHER_LINES_MAX: usize = 2;
/// Limit of the labels and hints of a form.
const FORM_PROSE_MAX: usize = 400;
const FORMS_MAX: usize = 64;
const DEPTH_MAX: usize = 512;
const NEAR: usize = 64;
const WORDS_BYTES_MAX: usize = 4_096;
