//! A value that DuckDB hands over, as plain data.

use libduckdb_sys as ffi;

use super::Type;
use super::fault::said;
use super::types::LogicalType;

/// A value: an argument, a setting, or a field of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Argument {
    Null,
    Boolean(bool),
    /// Whole numbers of any width; what doesn't fit is the nearest that does.
    Integer(i64),
    /// Broken numbers, decimals too.
    Double(f64),
    /// Text, and whatever has no variant of its own, as DuckDB writes it.
    Text(String),
    /// Microseconds since 1970.
    Timestamp(i64),
    List(Vec<Argument>),
    /// A MAP, or a STRUCT with its names as keys.
    Map(Vec<(Argument, Argument)>),
}

impl Argument {
    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The whole number; a broken one without a fraction is one too.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        match *self {
            Argument::Integer(number) => Some(number),
            Argument::Double(number) if number.fract() == 0.0 && number.abs() < 9.0e18 => {
                Some(number as i64)
            }
            _ => None,
        }
    }

    /// What a reader would call it: `a list`, `the number 7`.
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

/// A value of DuckDB's that is ours to free.
pub(super) struct Value(ffi::duckdb_value);

impl Value {
    /// Takes over a value; `None` for none.
    pub(super) fn owned(value: ffi::duckdb_value) -> Option<Value> {
        (!value.is_null()).then_some(Value(value))
    }

    /// A value to give to DuckDB; lists, maps and timestamps are not needed there.
    pub(super) fn of(argument: &Argument) -> Value {
        // SAFETY: each makes a value of plain data; the text's length goes with it.
        Value(unsafe {
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

    /// Reads it.
    pub(super) fn read(&self) -> Argument {
        // SAFETY: this is a value; its type belongs to it and is not freed.
        let (null, ty) =
            unsafe { (ffi::duckdb_is_null_value(self.0), ffi::duckdb_get_value_type(self.0)) };
        if null {
            return Argument::Null;
        }
        // SAFETY: `ty` is a type as long as the value is there.
        let id = unsafe { ffi::duckdb_get_type_id(ty) };
        // SAFETY: each getter is asked for the type that the value has, or casts.
        unsafe {
            match id {
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_SQLNULL => Argument::Null,
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN => {
                    Argument::Boolean(ffi::duckdb_get_bool(self.0))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_TINYINT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_SMALLINT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_INTEGER_LITERAL => {
                    Argument::Integer(ffi::duckdb_get_int64(self.0))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT => {
                    let number = ffi::duckdb_get_uint64(self.0);
                    Argument::Integer(i64::try_from(number).unwrap_or(i64::MAX))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT => {
                    let number = ffi::duckdb_get_hugeint(self.0);
                    Argument::Integer(nearest(huge(number)))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_UHUGEINT => {
                    let number = ffi::duckdb_get_uhugeint(self.0);
                    let fits = number.upper == 0 && number.lower <= i64::MAX as u64;
                    Argument::Integer(if fits { number.lower as i64 } else { i64::MAX })
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_FLOAT
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE
                | ffi::DUCKDB_TYPE_DUCKDB_TYPE_DECIMAL => {
                    Argument::Double(ffi::duckdb_get_double(self.0))
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP => {
                    Argument::Timestamp(ffi::duckdb_get_timestamp(self.0).micros)
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_TIMESTAMP_TZ => {
                    Argument::Timestamp(ffi::duckdb_get_timestamp_tz(self.0).micros)
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_LIST => {
                    let items = (0..ffi::duckdb_get_list_size(self.0))
                        .map(|i| part(ffi::duckdb_get_list_child(self.0, i)));
                    Argument::List(items.collect())
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_MAP => {
                    let pairs = (0..ffi::duckdb_get_map_size(self.0)).map(|i| {
                        let key = part(ffi::duckdb_get_map_key(self.0, i));
                        (key, part(ffi::duckdb_get_map_value(self.0, i)))
                    });
                    Argument::Map(pairs.collect())
                }
                ffi::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT => {
                    let pairs = (0..ffi::duckdb_struct_type_child_count(ty)).map(|i| {
                        let name = text(ffi::duckdb_struct_type_child_name(ty, i));
                        (name, part(ffi::duckdb_get_struct_child(self.0, i)))
                    });
                    Argument::Map(pairs.collect())
                }
                _ => text(ffi::duckdb_get_varchar(self.0)),
            }
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it after this.
        unsafe { ffi::duckdb_destroy_value(&mut self.0) }
    }
}

fn part(value: ffi::duckdb_value) -> Argument {
    Value::owned(value).map_or(Argument::Null, |value| value.read())
}

/// # Safety
///
/// `text` is null, or a C string that DuckDB made for us to free.
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

/// A value of a type to start from, for a setting.
pub(super) fn typed(ty: Type, default: &Argument) -> (LogicalType, Value) {
    (LogicalType::of(ty), Value::of(default))
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
