//! Converts between the plain fields of a policy and the [`Value`]s that people write.
//!
//! The [`ValueKind`](super::value::ValueKind) of a field holds its bounds. Here a value only has to fit
//! the type, so a table entry with a wrong kind shows as a refusal, never as a changed value.

use std::time::Duration;

use super::own::{BasicAuth, Secret};
use super::value::Value;
use super::{AgentMatch, CacheMode, Forbidden, Growth, Noindex, OnForbidden, Unreachable};

/// A type of a field.
pub(super) trait FieldType: Sized {
    /// Returns the field's value.
    fn value(&self) -> Value;
    /// Returns what the value stands for, or `None` if it does not fit the type.
    fn of(value: &Value) -> Option<Self>;
}

macro_rules! field_types {
    ($($type:ty, $self:ident => $value:expr, $($pattern:pat => $made:expr),+;)+) => {
        $(impl FieldType for $type {
            fn value(&$self) -> Value {
                $value
            }
            fn of(value: &Value) -> Option<$type> {
                match value {
                    $($pattern => $made,)+
                    _ => None,
                }
            }
        })+
    };
}

field_types! {
    Duration, self => Value::Span(*self), Value::Span(span) => Some(*span);
    Option<Duration>, self => self.map_or(Value::Absent, Value::Span),
        Value::Absent => Some(None), Value::Span(span) => Some(Some(*span));
    (Duration, Duration), self => Value::Range(self.0, self.1),
        Value::Range(low, high) => Some((*low, *high));
    [Duration; 3], self => Value::Spans(self.to_vec()),
        Value::Spans(spans) => <[Duration; 3]>::try_from(spans.as_slice()).ok();
    u8, self => Value::Count((*self).into()), Value::Count(n) => u8::try_from(*n).ok();
    u32, self => Value::Count((*self).into()), Value::Count(n) => u32::try_from(*n).ok();
    u64, self => Value::Size(*self), Value::Size(bytes) => Some(*bytes);
    Option<u16>, self => self.map_or(Value::Absent, |n| Value::Count(n.into())),
        Value::Absent => Some(None), Value::Count(n) => u16::try_from(*n).ok().map(Some);
    Option<u64>, self => self.map_or(Value::Absent, Value::Count),
        Value::Absent => Some(None), Value::Count(n) => Some(Some(*n));
    bool, self => Value::Switch(*self), Value::Switch(on) => Some(*on);
    Growth, self => Value::Growth(*self), Value::Growth(growth) => Some(*growth);
    (u8, u8), self => Value::Jitter(self.0, self.1), Value::Jitter(low, high) => Some((*low, *high));
    String, self => Value::Text(self.clone()), Value::Text(text) => Some(text.clone());
    Option<String>, self => self.clone().map_or(Value::Absent, Value::Text),
        Value::Absent => Some(None), Value::Text(text) => Some(Some(text.clone()));
    Vec<String>, self => Value::Texts(self.clone()), Value::Texts(texts) => Some(texts.clone());
    Secret, self => Value::Secret(self.clone()), Value::Secret(secret) => Some(secret.clone());
    BasicAuth, self => Value::BasicAuth(self.clone()), Value::BasicAuth(login) => Some(login.clone());
    Vec<(String, Secret)>, self => Value::Headers(self.clone()),
        Value::Headers(headers) => Some(headers.clone());
}

macro_rules! word_types {
    ($($type:ty),+) => {
        field_types! {
            $($type, self => Value::Word(self.name()), Value::Word(word) => <$type>::parse(word);)+
        }
    };
}

word_types!(Unreachable, Forbidden, AgentMatch, OnForbidden, CacheMode, Noindex);
