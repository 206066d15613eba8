//! Converts between the plain fields of a policy and the [`FieldValue`]s that people write.
//!
//! The [`ValueKind`](super::value::ValueKind) of a field holds its bounds. Here a value only has to
//! fit the type, so a table entry with a wrong kind shows as a refusal, never as a changed value.

use std::time::Duration;

use super::own::{BasicAuth, Secret};
use super::value::FieldValue;
use super::{
    AgentMatch, CacheMode, Forbidden, Growth, Noindex, OnForbidden, TrapDetection, Unreachable,
};

/// A type of a field.
pub(super) trait FieldType: Sized {
    /// Returns the field's value.
    fn value(&self) -> FieldValue;
    /// Returns what the value stands for, or `None` if it does not fit the type.
    fn of(value: &FieldValue) -> Option<Self>;
}

macro_rules! field_types {
    ($($type:ty, $self:ident => $value:expr, $($pattern:pat => $made:expr),+;)+) => {
        $(impl FieldType for $type {
            fn value(&$self) -> FieldValue {
                $value
            }
            fn of(value: &FieldValue) -> Option<$type> {
                match value {
                    $($pattern => $made,)+
                    _ => None,
                }
            }
        })+
    };
}

field_types! {
    Duration, self => FieldValue::Span(*self), FieldValue::Span(span) => Some(*span);
    Option<Duration>, self => self.map_or(FieldValue::Absent, FieldValue::Span),
        FieldValue::Absent => Some(None), FieldValue::Span(span) => Some(Some(*span));
    (Duration, Duration), self => FieldValue::Range(self.0, self.1),
        FieldValue::Range(low, high) => Some((*low, *high));
    [Duration; 3], self => FieldValue::Spans(self.to_vec()),
        FieldValue::Spans(spans) => <[Duration; 3]>::try_from(spans.as_slice()).ok();
    u8, self => FieldValue::Count((*self).into()), FieldValue::Count(n) => u8::try_from(*n).ok();
    u32, self => FieldValue::Count((*self).into()), FieldValue::Count(n) => u32::try_from(*n).ok();
    u64, self => FieldValue::Size(*self), FieldValue::Size(bytes) => Some(*bytes);
    Option<u16>, self => self.map_or(FieldValue::Absent, |n| FieldValue::Count(n.into())),
        FieldValue::Absent => Some(None), FieldValue::Count(n) => u16::try_from(*n).ok().map(Some);
    Option<u64>, self => self.map_or(FieldValue::Absent, FieldValue::Count),
        FieldValue::Absent => Some(None), FieldValue::Count(n) => Some(Some(*n));
    bool, self => FieldValue::Switch(*self), FieldValue::Switch(on) => Some(*on);
    Growth, self => FieldValue::Growth(*self), FieldValue::Growth(growth) => Some(*growth);
    (u8, u8), self => FieldValue::Jitter(self.0, self.1), FieldValue::Jitter(low, high) => Some((*low, *high));
    String, self => FieldValue::Text(self.clone()), FieldValue::Text(text) => Some(text.clone());
    Option<String>, self => self.clone().map_or(FieldValue::Absent, FieldValue::Text),
        FieldValue::Absent => Some(None), FieldValue::Text(text) => Some(Some(text.clone()));
    Vec<String>, self => FieldValue::Texts(self.clone()), FieldValue::Texts(texts) => Some(texts.clone());
    Secret, self => FieldValue::Secret(self.clone()), FieldValue::Secret(secret) => Some(secret.clone());
    BasicAuth, self => FieldValue::BasicAuth(self.clone()), FieldValue::BasicAuth(login) => Some(login.clone());
    Vec<(String, Secret)>, self => FieldValue::Headers(self.clone()),
        FieldValue::Headers(headers) => Some(headers.clone());
}

macro_rules! word_types {
    ($($type:ty),+) => {
        field_types! {
            $($type, self => FieldValue::Word(self.name()), FieldValue::Word(word) => <$type>::parse(word);)+
        }
    };
}

word_types!(Unreachable, Forbidden, AgentMatch, OnForbidden, CacheMode, Noindex, TrapDetection);
