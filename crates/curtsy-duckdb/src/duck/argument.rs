//! A DuckDB value as plain data.

use libduckdb_sys as ffi;

use super::error::said;
use super::types::{LogicalType, id};
use super::{ColumnKind, Type};

/// A value: an argument, a setting, or a field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    Null,
    Boolean(bool),
    /// An integer of any width. A number that does not fit becomes the nearest that does.
    Integer(i64),
    /// A floating-point or decimal number.
    Double(f64),
    /// A text, or a value of a type without a variant here, as DuckDB prints it.
    Text(String),
    /// Microseconds since 1970.
    Timestamp(i64),
    List(Vec<Argument>),
    /// A MAP, or a STRUCT with its names as keys.
    Map(Vec<(Argument, Argument)>),
}

impl Argument {
    /// Returns the text of a text.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number of an integer, or of a floating-point number without a fraction.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        match *self {
            Argument::Integer(number) => Some(number),
            Argument::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e18 => {
                Some(number as i64)
            }
            _ => None,
        }
    }

    /// Describes the value for a message: `a list`, `the number 7`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Argument::Null => "NULL".to_owned(),
            Argument::Boolean(truth) => truth.to_string(),
            Argument::Integer(number) => format!("the number {number}"),
            Argument::Double(number) => format!("the number {number}"),
            Argument::Text(text) => format!("`{text}`"),
            Argument::Timestamp(_) => "a timestamp".to_owned(),
            Argument::List(_) => "a list".to_owned(),
            Argument::Map(_) => "a map".to_owned(),
        }
    }
}

/// A DuckDB value that we must free.
pub(super) struct DuckValue(ffi::duckdb_value);

impl DuckValue {
    /// Takes over a value; a null pointer is none.
    pub(super) fn owned(value: ffi::duckdb_value) -> Option<DuckValue> {
        (!value.is_null()).then_some(DuckValue(value))
    }

    /// Makes a value for DuckDB. Lists, maps and timestamps are not needed.
    pub(super) fn of(argument: &Argument) -> DuckValue {
        // SAFETY: each call makes a value of plain data; the text is passed with its length.
        DuckValue(unsafe {
            match argument {
                Argument::Boolean(truth) => ffi::duckdb_create_bool(*truth),
                Argument::Integer(number) => ffi::duckdb_create_int64(*number),
                Argument::Double(number) => ffi::duckdb_create_double(*number),
                Argument::Text(text) => {
                    ffi::duckdb_create_varchar_length(text.as_ptr().cast(), text.len() as u64)
                }
                _ => ffi::duckdb_create_null_value(),
            }
        })
    }

    pub(super) fn raw(&self) -> ffi::duckdb_value {
        self.0
    }

    pub(super) fn read(&self) -> Argument {
        // SAFETY: this is a value; its type belongs to it and must not be freed.
        let (null, ty) =
            unsafe { (ffi::duckdb_is_null_value(self.0), ffi::duckdb_get_value_type(self.0)) };
        if null {
            return Argument::Null;
        }
        // SAFETY: `ty` is a type as long as the value is there.
        let type_id = unsafe { ffi::duckdb_get_type_id(ty) };
        // SAFETY: each getter fits the type of the value, or casts.
        unsafe {
            match type_id {
                id::UBIGINT => {
                    let number = ffi::duckdb_get_uint64(self.0);
                    Argument::Integer(i64::try_from(number).unwrap_or(i64::MAX))
                }
                id::HUGEINT => {
                    let number = ffi::duckdb_get_hugeint(self.0);
                    Argument::Integer(nearest(huge(number)))
                }
                id::UHUGEINT => {
                    let number = ffi::duckdb_get_uhugeint(self.0);
                    let fits = number.upper == 0 && number.lower <= i64::MAX as u64;
                    Argument::Integer(if fits { number.lower as i64 } else { i64::MAX })
                }
                id::INTEGER_LITERAL => Argument::Integer(ffi::duckdb_get_int64(self.0)),
                id::TIMESTAMP_TZ => {
                    Argument::Timestamp(ffi::duckdb_get_timestamp_tz(self.0).micros)
                }
                id::LIST => {
                    let items = (0..ffi::duckdb_get_list_size(self.0))
                        .map(|i| part(ffi::duckdb_get_list_child(self.0, i)));
                    Argument::List(items.collect())
                }
                id::MAP => {
                    let pairs = (0..ffi::duckdb_get_map_size(self.0)).map(|i| {
                        let key = part(ffi::duckdb_get_map_key(self.0, i));
                        (key, part(ffi::duckdb_get_map_value(self.0, i)))
                    });
                    Argument::Map(pairs.collect())
                }
                id::STRUCT => {
                    let pairs = (0..ffi::duckdb_struct_type_child_count(ty)).map(|i| {
                        let name = text(ffi::duckdb_struct_type_child_name(ty, i));
                        (name, part(ffi::duckdb_get_struct_child(self.0, i)))
                    });
                    Argument::Map(pairs.collect())
                }
                _ => match ColumnKind::of(type_id) {
                    ColumnKind::Null => Argument::Null,
                    ColumnKind::Boolean => Argument::Boolean(ffi::duckdb_get_bool(self.0)),
                    ColumnKind::Integer => Argument::Integer(ffi::duckdb_get_int64(self.0)),
                    ColumnKind::Double => Argument::Double(ffi::duckdb_get_double(self.0)),
                    ColumnKind::Timestamp => {
                        Argument::Timestamp(ffi::duckdb_get_timestamp(self.0).micros)
                    }
                    ColumnKind::Text | ColumnKind::Other => text(ffi::duckdb_get_varchar(self.0)),
                },
            }
        }
    }
}

impl Drop for DuckValue {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_value(&mut self.0) }
    }
}

fn part(value: ffi::duckdb_value) -> Argument {
    DuckValue::owned(value).map_or(Argument::Null, |value| value.read())
}

/// # Safety
///
/// `text` is null, or a C string that DuckDB made and that we must free.
unsafe fn text(text: *mut std::ffi::c_char) -> Argument {
    // SAFETY: the caller says so; freeing null does nothing.
    unsafe {
        let copy = said(text).map_or(Argument::Null, Argument::Text);
        ffi::duckdb_free(text.cast());
        copy
    }
}

pub(super) fn huge(number: ffi::duckdb_hugeint) -> i128 {
    (i128::from(number.upper) << 64) | i128::from(number.lower)
}

pub(super) fn nearest(number: i128) -> i64 {
    number.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns a type and a default value for a setting.
pub(super) fn typed(ty: Type, default: &Argument) -> (LogicalType, DuckValue) {
    (LogicalType::of(ty), DuckValue::of(default))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_numbers_are_the_nearest_that_fit() {
        let huge_of = |upper, lower| nearest(huge(ffi::duckdb_hugeint { lower, upper }));
        assert_eq!(huge_of(0, 7), 7);
        assert_eq!(huge_of(-1, u64::MAX), -1);
        assert_eq!(huge_of(1, 0), i64::MAX);
        assert_eq!(huge_of(-2, 0), i64::MIN);
    }

    #[test]
    fn a_broken_number_without_a_fraction_is_whole() {
        assert_eq!(Argument::Double(8.0).as_integer(), Some(8));
        assert_eq!(Argument::Double(8.5).as_integer(), None);
        assert_eq!(Argument::Double(1.0e30).as_integer(), None);
    }
}
