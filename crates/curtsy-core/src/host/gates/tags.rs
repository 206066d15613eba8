//! Reasons as bytes: a tag, which says which reason it is, then the numbers of the reason.
//!
//! Tags are unique over all gates and never change, because stored rows hold them. The same is true
//! of the order of a reason's numbers.

use crate::evidence::{FindingsReader, FindingsWriter};

/// A reason with a tag.
pub(super) trait Tagged: Copy {
    /// Writes the numbers of the reason, and returns its tag.
    fn write(self, out: &mut FindingsWriter) -> u8;

    /// Reads the reason of a tag. Returns `None` if the tag is another gate's or the numbers are
    /// damaged.
    fn read(tag: u8, input: &mut FindingsReader<'_>) -> Option<Self>;
}

/// A number of a reason.
pub(super) trait Packed: Sized {
    /// Writes the number.
    fn write(self, out: &mut FindingsWriter);

    /// Reads the number, or returns `None` if it is damaged.
    fn read(input: &mut FindingsReader<'_>) -> Option<Self>;
}

/// Implements [`Tagged`] for the reasons of a gate. A variant's numbers are stored in the order in
/// which they are listed.
macro_rules! tags {
    ($reason:ident { $($tag:literal $variant:ident $({ $($number:ident),+ })?),+ }) => {
        impl super::Tagged for $reason {
            fn write(self, _out: &mut crate::evidence::FindingsWriter) -> u8 {
                match self {
                    $($reason::$variant $({ $($number),+ })? => {
                        $($(super::Packed::write($number, _out);)+)?
                        $tag
                    })+
                }
            }

            fn read(tag: u8, _input: &mut crate::evidence::FindingsReader<'_>) -> Option<$reason> {
                match tag {
                    $($tag => {
                        $($(let $number = super::Packed::read(_input)?;)+)?
                        Some($reason::$variant $({ $($number),+ })?)
                    })+
                    _ => None,
                }
            }
        }
    };
}

/// Implements [`Packed`] for an enum without fields: one byte, in the order of the variants.
macro_rules! byte_enum {
    ($type:ident { $($variant:ident),+ }) => {
        impl super::Packed for $type {
            fn write(self, out: &mut crate::evidence::FindingsWriter) {
                out.byte(self as u8);
            }

            fn read(input: &mut crate::evidence::FindingsReader<'_>) -> Option<$type> {
                [$($type::$variant),+].get(usize::from(input.byte()?)).copied()
            }
        }
    };
}

macro_rules! packed {
    ($($type:ty),+) => {
        $(impl Packed for $type {
            fn write(self, out: &mut FindingsWriter) {
                out.number(self.into());
            }

            fn read(input: &mut FindingsReader<'_>) -> Option<$type> {
                input.number()?.try_into().ok()
            }
        })+
    };
}

packed!(u16, u32, u64);

impl Packed for u8 {
    fn write(self, out: &mut FindingsWriter) {
        out.byte(self);
    }

    fn read(input: &mut FindingsReader<'_>) -> Option<u8> {
        input.byte()
    }
}
