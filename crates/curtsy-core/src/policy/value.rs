//! The kinds of values that a field may have: allowed values, reading and writing.
//!
//! A value is TOML (a file) or plain text (a variable, a flag). The same kind reads both, so both
//! have the same bounds and the same error messages.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::Growth;
use super::amount::{
    read_growth, read_jitter, read_range, read_size, read_span, write_growth, write_jitter,
    write_range, write_size, write_span,
};
use super::identity::{contact_reaches, product_names};
use super::own::{self, BasicAuth, Secret};
use super::typo::nearest;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum FieldValue {
    /// No limit or no contact, written as the kind's word for absence.
    Absent,
    /// A span of time.
    Span(Duration),
    /// The least and the largest value of a random span.
    Range(Duration, Duration),
    /// A list of spans.
    Spans(Vec<Duration>),
    /// A number of things.
    Count(u64),
    /// A number of bytes.
    Size(u64),
    /// On or off.
    Switch(bool),
    /// One of a few words.
    Word(&'static str),
    /// How waits grow.
    Growth(Growth),
    /// The least and the largest share that is added at random, in percent.
    Jitter(u8, u8),
    /// A piece of text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
    /// The place of a secret.
    Secret(Secret),
    /// Headers by name, each with the place of its value.
    Headers(Vec<(String, Secret)>),
    /// A user and the place of the password.
    BasicAuth(BasicAuth),
}

/// The allowed values of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// A span within bounds. `absent` is the word for "no span", if that is allowed.
    Span {
        /// The shortest allowed span.
        min: Duration,
        /// The longest allowed span.
        max: Duration,
        /// The word for "none".
        absent: Option<&'static str>,
    },
    /// A span, or two with `..` between them.
    Range {
        /// The largest allowed upper end.
        max: Duration,
    },
    /// Three spans, none shorter than the one before.
    ThreeSpans {
        /// The longest allowed span.
        max: Duration,
    },
    /// A whole number within bounds. `absent` is the word for "no limit", if that is allowed.
    Count {
        /// The smallest allowed number.
        min: u64,
        /// The largest allowed number.
        max: u64,
        /// The word for "none".
        absent: Option<&'static str>,
    },
    /// A size within bounds.
    Size {
        /// The smallest allowed size.
        min: u64,
        /// The largest allowed size.
        max: u64,
    },
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `x2` or `fibonacci`.
    Growth,
    /// `10..20%` or `none`.
    Jitter,
    /// `product/version`.
    Product,
    /// A mail address or a page of a person, or `none`.
    Contact,
    /// Media types, with wildcards.
    MediaTypes,
    /// `{ env = "NAME" }` or `{ file = "/path" }`.
    Secret,
    /// Names of headers, each with the place of a secret.
    Headers,
    /// `{ user = "me", password = … }` with the place of a secret.
    BasicAuth,
    /// `https://example.org:8443`.
    Origin,
}

impl ValueKind {
    /// Reads the value of a variable or a flag.
    pub fn read_text(&self, text: &str) -> Option<FieldValue> {
        match self {
            ValueKind::Switch => match text {
                "true" => Some(FieldValue::Switch(true)),
                "false" => Some(FieldValue::Switch(false)),
                _ => None,
            },
            ValueKind::Count { absent, .. } if *absent == Some(text) => Some(FieldValue::Absent),
            ValueKind::Count { .. } => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                self.count(digits.then(|| text.parse().ok()).flatten()?)
            }
            ValueKind::ThreeSpans { .. } | ValueKind::MediaTypes => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                self.list(&parts.collect::<Vec<_>>())
            }
            _ => self.word(text),
        }
    }

    /// Reads the value in a file.
    pub fn read_toml(&self, value: &DeValue<'_>) -> Option<FieldValue> {
        match (self, value) {
            (ValueKind::Switch, DeValue::Boolean(on)) => Some(FieldValue::Switch(*on)),
            (ValueKind::Switch, _) => None,
            (ValueKind::Count { .. }, DeValue::Integer(number)) => {
                self.count(u64::from_str_radix(number.as_str(), number.radix()).ok()?)
            }
            (ValueKind::Count { absent, .. }, DeValue::String(word)) => {
                (*absent == Some(word.as_ref())).then_some(FieldValue::Absent)
            }
            (ValueKind::ThreeSpans { .. } | ValueKind::MediaTypes, DeValue::Array(parts)) => {
                let parts = parts.iter().map(|part| part.get_ref().as_str());
                self.list(&parts.collect::<Option<Vec<_>>>()?)
            }
            (ValueKind::ThreeSpans { .. } | ValueKind::MediaTypes, _) => None,
            // Zero needs no unit.
            (ValueKind::Span { .. } | ValueKind::Range { .. }, DeValue::Integer(number)) => {
                self.word(number.as_str()).filter(|_| number.as_str() == "0")
            }
            (ValueKind::Secret, value) => secret(value).map(FieldValue::Secret),
            (ValueKind::Headers, DeValue::Table(table)) => {
                let read = |(name, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
                    let name = name.get_ref().as_ref();
                    own::is_header(name).then_some(())?;
                    Some((name.to_owned(), secret(value.get_ref())?))
                };
                let headers = table.iter().map(read).collect::<Option<Vec<_>>>()?;
                let names: BTreeSet<_> =
                    headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
                let fits = names.len() == headers.len();
                let fits = fits && (1..=own::HEADERS_MAX).contains(&headers.len());
                fits.then_some(FieldValue::Headers(headers))
            }
            (ValueKind::BasicAuth, DeValue::Table(table)) if table.len() == 2 => {
                let user =
                    table.get("user")?.get_ref().as_str().filter(|user| own::is_user(user))?;
                let password = secret(table.get("password")?.get_ref())?;
                Some(FieldValue::BasicAuth(BasicAuth { user: user.to_owned(), password }))
            }
            (ValueKind::Headers | ValueKind::BasicAuth, _) => None,
            (_, DeValue::String(text)) => self.word(text),
            _ => None,
        }
    }

    /// Writes a value as TOML.
    pub fn write_toml(&self, value: &FieldValue) -> String {
        match value {
            FieldValue::Count(_) | FieldValue::Switch(_) => self.write_text(value),
            FieldValue::Spans(spans) => list_of(spans.iter().map(|span| write_span(*span))),
            FieldValue::Texts(texts) => list_of(texts.iter().cloned()),
            FieldValue::Secret(_) | FieldValue::Headers(_) | FieldValue::BasicAuth(_) => {
                self.write_text(value)
            }
            _ => quoted(&self.write_text(value)),
        }
    }

    /// Writes a value in the spelling of a variable or a flag.
    pub fn write_text(&self, value: &FieldValue) -> String {
        match value {
            FieldValue::Absent => self.absent().unwrap_or("none").to_owned(),
            FieldValue::Span(span) => write_span(*span),
            FieldValue::Range(low, high) => write_range((*low, *high)),
            FieldValue::Spans(spans) => {
                spans.iter().map(|span| write_span(*span)).collect::<Vec<_>>().join(",")
            }
            FieldValue::Count(count) => count.to_string(),
            FieldValue::Size(bytes) => write_size(*bytes),
            FieldValue::Switch(on) => on.to_string(),
            FieldValue::Word(word) => (*word).to_owned(),
            FieldValue::Growth(growth) => write_growth(*growth),
            FieldValue::Jitter(low, high) => write_jitter((*low, *high)),
            FieldValue::Text(text) => text.clone(),
            FieldValue::Texts(texts) => texts.join(","),
            FieldValue::Secret(secret) => secret.write_toml(),
            FieldValue::Headers(headers) => {
                let written = |(name, secret): &(String, Secret)| {
                    format!("{} = {}", quoted_key(name), secret.write_toml())
                };
                format!("{{ {} }}", headers.iter().map(written).collect::<Vec<_>>().join(", "))
            }
            FieldValue::BasicAuth(BasicAuth { user, password }) => {
                format!("{{ user = {}, password = {} }}", quoted(user), password.write_toml())
            }
        }
    }

    /// Returns the allowed values, as the end of a sentence that begins with "expected".
    pub fn would_do(&self) -> String {
        let or = |absent: &Option<&str>| match absent {
            Some(word) => format!(", or `{word}`"),
            None => String::new(),
        };
        match self {
            ValueKind::Span { min, max, absent } => format!(
                "a span such as `200ms`, `3s`, `15m` or `1h30m`, from `{}` to `{}`{}",
                write_span(*min),
                write_span(*max),
                or(absent)
            ),
            ValueKind::Range { max } => format!(
                "a span such as `3s`, or a range such as `200ms..500ms`, up to `{}`",
                write_span(*max)
            ),
            ValueKind::ThreeSpans { max } => format!(
                "three spans, none shorter than the one before, such as `800ms`, `1200ms`, `2s`, up to `{}`",
                write_span(*max)
            ),
            ValueKind::Count { min, max, absent } => {
                format!("a whole number from {min} to {max}{}", or(absent))
            }
            ValueKind::Size { min, max } => format!(
                "a size in `B`, `KiB`, `MiB` or `GiB` such as `10MiB`, from `{}` to `{}`",
                write_size(*min),
                write_size(*max)
            ),
            ValueKind::Switch => "`true` or `false`".to_owned(),
            ValueKind::Word(words) => either(words),
            ValueKind::Growth => {
                format!("`fibonacci`, or a factor from `x1` to `x{GROWTH_MAX}` such as `x2`")
            }
            ValueKind::Jitter => {
                "`none`, or a part of the wait such as `10%` or `10..20%`, up to `100%`".to_owned()
            }
            ValueKind::Product => {
                "`product/version` such as `curtsy/1.0`, the product in letters, `-` and `_`"
                    .to_owned()
            }
            ValueKind::Contact => {
                "a mail address or an http(s) page such as `me@example.org`, or `none`".to_owned()
            }
            ValueKind::MediaTypes => {
                "a list of media types such as `text/html` or `text/*`, at most 64".to_owned()
            }
            ValueKind::Secret => format!("{SECRET}, never the value itself"),
            ValueKind::Headers => format!(
                "up to {} headers such as `{{ X-Preview = {{ env = \"NAME\" }} }}`, each with {SECRET}, never the value itself; \
                 not those of framing, identity, caching or a proxy",
                own::HEADERS_MAX
            ),
            ValueKind::BasicAuth => format!(
                "`{{ user = \"me\", password = {{ env = \"NAME\" }} }}`, the password as {SECRET}, never the value itself"
            ),
            ValueKind::Origin => {
                "scheme, host and port such as `https://staging.example.org:8443`".to_owned()
            }
        }
    }

    /// Returns a hint for a value that is not allowed: a missing unit, or a word that is nearly
    /// right.
    pub fn meant(&self, written: &str) -> Option<String> {
        let whole = !written.is_empty() && written.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let fits = |text: String| self.read_text(&text).map(|_| text);
        let near = match self {
            ValueKind::Span { .. } | ValueKind::Range { .. } if whole => {
                fits(format!("{written}s"))
            }
            ValueKind::Size { .. } if whole => fits(format!("{written}MiB")),
            ValueKind::Span { .. } | ValueKind::Range { .. } | ValueKind::Size { .. } => {
                fits(written.split_whitespace().collect())
            }
            ValueKind::Word(words) => nearest(written, words.iter().copied()).map(str::to_owned),
            ValueKind::Growth if whole => fits(format!("x{written}")),
            _ => None,
        };
        near.filter(|near| near != written).map(|near| format!("did you mean `{near}`?"))
    }

    /// Returns the kind's word for "none", if it has one.
    pub fn absent(&self) -> Option<&'static str> {
        match self {
            ValueKind::Span { absent, .. } | ValueKind::Count { absent, .. } => *absent,
            ValueKind::Contact => Some("none"),
            _ => None,
        }
    }

    /// Returns whether a wrong value may be a secret, which must not be shown.
    pub(super) fn is_secret(&self) -> bool {
        matches!(
            self,
            ValueKind::Secret | ValueKind::Headers | ValueKind::BasicAuth | ValueKind::Origin
        )
    }

    fn count(&self, count: u64) -> Option<FieldValue> {
        match self {
            ValueKind::Count { min, max, .. } => {
                (*min..=*max).contains(&count).then_some(FieldValue::Count(count))
            }
            _ => None,
        }
    }

    fn word(&self, text: &str) -> Option<FieldValue> {
        match self {
            _ if self.absent() == Some(text) => Some(FieldValue::Absent),
            ValueKind::Span { min, max, .. } => {
                let span = read_span(text)?;
                (*min..=*max).contains(&span).then_some(FieldValue::Span(span))
            }
            ValueKind::Range { max } => {
                let (low, high) = read_range(text)?;
                (high <= *max).then_some(FieldValue::Range(low, high))
            }
            ValueKind::Size { min, max } => {
                let size = read_size(text)?;
                (*min..=*max).contains(&size).then_some(FieldValue::Size(size))
            }
            ValueKind::Word(words) => {
                words.iter().find(|word| **word == text).map(|w| FieldValue::Word(w))
            }
            ValueKind::Growth => match read_growth(text)? {
                Growth::Times(factor) if !(1.0..=GROWTH_MAX).contains(&factor) => None,
                growth => Some(FieldValue::Growth(growth)),
            },
            ValueKind::Jitter => {
                let (low, high) = read_jitter(text)?;
                (high <= 100).then_some(FieldValue::Jitter(low, high))
            }
            ValueKind::Product => product_names(text).then(|| FieldValue::Text(text.to_owned())),
            ValueKind::Contact => contact_reaches(text).then(|| FieldValue::Text(text.to_owned())),
            ValueKind::Origin => own::read_origin(text).map(|_| FieldValue::Text(text.to_owned())),
            ValueKind::ThreeSpans { .. }
            | ValueKind::Count { .. }
            | ValueKind::Switch
            | ValueKind::MediaTypes
            | ValueKind::Secret
            | ValueKind::Headers
            | ValueKind::BasicAuth => None,
        }
    }

    fn list(&self, parts: &[&str]) -> Option<FieldValue> {
        match self {
            ValueKind::ThreeSpans { max } => {
                let spans = parts.iter().map(|part| read_span(part)).collect::<Option<Vec<_>>>()?;
                let fits = spans.len() == 3 && spans.is_sorted() && spans[2] <= *max;
                fits.then_some(FieldValue::Spans(spans))
            }
            ValueKind::MediaTypes => {
                let fits = parts.len() <= MEDIA_TYPES_MAX && parts.iter().all(|p| is_media_type(p));
                fits.then(|| FieldValue::Texts(parts.iter().map(|p| (*p).to_owned()).collect()))
            }
            _ => None,
        }
    }
}

/// `{ env = "NAME" }` or `{ file = "/path" }`.
fn secret(value: &DeValue<'_>) -> Option<Secret> {
    let table = value.as_table().filter(|table| table.len() == 1)?;
    let (name, value) = table.iter().next()?;
    let value = value.get_ref().as_str()?;
    match name.get_ref().as_ref() {
        "env" => Secret::env(value),
        "file" => Secret::file(value),
        _ => None,
    }
}

/// Returns the text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

/// Returns the name as a TOML key. A value may span several lines, and does if it has quotes of
/// both kinds; a key may not.
pub(super) fn quoted_key(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

fn list_of(parts: impl Iterator<Item = String>) -> String {
    format!("[{}]", parts.map(|part| quoted(&part)).collect::<Vec<_>>().join(", "))
}

fn either(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Returns whether the text is `type/subtype` in lower case (RFC 9110 §8.3.1 ignores the case).
/// Either part may be `*`.
fn is_media_type(text: &str) -> bool {
    let token = |part: &str| {
        part == "*"
            || (!part.is_empty()
                && part.bytes().all(|b| {
                    b.is_ascii_lowercase() || b.is_ascii_digit() || b"!#$&^_.+-".contains(&b)
                }))
    };
    text.len() <= 128 && text.split_once('/').is_some_and(|(kind, sub)| token(kind) && token(sub))
}

/// The spelling of a secret's place.
const SECRET: &str = "`{ env = \"NAME\" }` or `{ file = \"/path\" }`";
const GROWTH_MAX: f64 = 100.0;
const MEDIA_TYPES_MAX: usize = 64;
