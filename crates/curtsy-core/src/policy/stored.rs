//! Carries values between a policy's plain fields and the text that people write.
//!
//! The bounds of a field stand in its [`Kind`](super::value::Kind); here a value only has to fit the type. `store` answers whether it
//! did, so that a table entry with the wrong kind shows as a refusal, never as a changed value.

use std::time::Duration;

use super::value::Value;
use super::{
    AgentMatch, CacheMode, Forbidden, Growth, Noindex, OnForbidden, Preset, Unreachable, mode::Mode,
};

/// A type that a policy's field may have.
pub(super) trait Stored {
    /// The field's value.
    fn value(&self) -> Value;
    /// Takes the value if it fits.
    fn store(&mut self, value: &Value) -> bool;
}

macro_rules! stored {
    ($type:ty, $self:ident => $value:expr, $($pattern:pat => $made:expr),+) => {
        impl Stored for $type {
            fn value(&$self) -> Value {
                $value
            }
            fn store(&mut self, value: &Value) -> bool {
                let made: Option<$type> = match value {
                    $($pattern => $made,)+
                    _ => None,
                };
                match made {
                    Some(made) => {
                        *self = made;
                        true
                    }
                    None => false,
                }
            }
        }
    };
}

stored!(Duration, self => Value::Span(*self), Value::Span(span) => Some(*span));
stored!(Option<Duration>, self => self.map_or(Value::Absent, Value::Span),
    Value::Absent => Some(None), Value::Span(span) => Some(Some(*span)));
stored!([Duration; 3], self => Value::Spans(self.to_vec()),
    Value::Spans(spans) => <[Duration; 3]>::try_from(spans.as_slice()).ok());
stored!(u8, self => Value::Count((*self).into()), Value::Count(n) => u8::try_from(*n).ok());
stored!(u32, self => Value::Count((*self).into()), Value::Count(n) => u32::try_from(*n).ok());
stored!(u64, self => Value::Size(*self), Value::Size(bytes) => Some(*bytes));
stored!(Option<u16>, self => self.map_or(Value::Absent, |n| Value::Count(n.into())),
    Value::Absent => Some(None), Value::Count(n) => u16::try_from(*n).ok().map(Some));
stored!(Option<u64>, self => self.map_or(Value::Absent, Value::Count),
    Value::Absent => Some(None), Value::Count(n) => Some(Some(*n)));
stored!(bool, self => Value::Switch(*self), Value::Switch(on) => Some(*on));
stored!(Growth, self => Value::Growth(*self), Value::Growth(growth) => Some(*growth));
stored!((u8, u8), self => Value::Jitter(self.0, self.1),
    Value::Jitter(low, high) => Some((*low, *high)));
stored!(String, self => Value::Text(self.clone()), Value::Text(text) => Some(text.clone()));
stored!(Option<String>, self => self.clone().map_or(Value::Absent, Value::Text),
    Value::Absent => Some(None), Value::Text(text) => Some(Some(text.clone())));
stored!(Vec<String>, self => Value::Texts(self.clone()),
    Value::Texts(texts) => Some(texts.clone()));

/// Gives each variant the one word that stands for it in files, variables, flags and tables.
macro_rules! words {
    ($type:ident: $($variant:ident = $word:literal),+) => {
        impl $type {
            /// The words that would do, one for each variant.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
            /// Every variant, in the order of the words.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];

            /// The word that stands for this in files, variables and flags.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)+
                }
            }

            /// Reads the word.
            pub fn parse(word: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|one| one.name() == word)
            }
        }

        stored!($type, self => Value::Word(self.name()), Value::Word(word) => $type::parse(word));
    };
}

words!(Preset: Careful = "careful", Audit = "audit", Warehouse = "warehouse", Fleet = "fleet",
    Survey = "survey");
words!(Mode: Light = "light", Standard = "standard", UserAssisted = "user-assisted");
words!(Unreachable: Deny = "deny", Allow = "allow");
words!(Forbidden: Allow = "allow", Deny = "deny");
words!(AgentMatch: Rfc = "rfc", Loose = "loose");
words!(OnForbidden: BackOff = "back-off", Permanent = "permanent");
words!(CacheMode: Off = "off", Http = "http", Validators = "validators", Fixed = "fixed");
words!(Noindex: Mark = "mark", DropBody = "drop-body", Unused = "unused");
