//! Enums whose variants each have a word.

/// Defines an enum without fields and gives each variant the word that stands for it in rows,
/// reports and settings.
///
/// ```
/// curtsy_core::word_enum! {
///     /// A colour of a traffic light.
///     pub enum Light {
///         /// Stop.
///         Red = "red",
///         /// Go.
///         Green = "green",
///     }
/// }
/// assert_eq!(Light::Red.name(), "red");
/// assert_eq!(Light::parse("green"), Some(Light::Green));
/// assert_eq!(Light::ALL.len(), 2);
/// ```
#[macro_export]
macro_rules! word_enum {
    ($(#[$attribute:meta])* $vis:vis enum $type:ident {
        $($(#[$variant_attribute:meta])* $variant:ident = $word:literal,)+
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $vis enum $type {
            $($(#[$variant_attribute])* $variant,)+
        }

        impl $type {
            /// All values.
            pub const ALL: &'static [$type] = &[$($type::$variant),+];
            /// The words of all values, in the same order.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Returns the word that stands for the value.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $word,)+
                }
            }

            /// Returns the value that a word stands for.
            pub fn parse(word: &str) -> Option<$type> {
                $type::ALL.iter().copied().find(|value| value.name() == word)
            }
        }
    };
}
