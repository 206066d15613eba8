//! Answers of scripts, read part by part.

use redis::Value;

use curtsy_core::time::Time;

/// Later than any moment that comes: the largest number that a script can count with.
pub(super) const NEVER: u64 = (1 << 53) - 1;

/// The next parts of an answer. What is missing or of another kind was not written by our scripts.
pub(super) struct Reply(std::vec::IntoIter<Value>);

/// An answer that is not one of our scripts'.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("redis gave an answer that none of our scripts gives")]
pub(super) struct Strange;

impl Reply {
    pub(super) fn new(value: Value) -> Result<Reply, Strange> {
        match value {
            Value::Array(parts) => Ok(Reply(parts.into_iter())),
            _ => Err(Strange),
        }
    }

    pub(super) fn bytes(&mut self) -> Result<Vec<u8>, Strange> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            Some(Value::SimpleString(text)) => Ok(text.into_bytes()),
            Some(Value::Int(number)) => Ok(number.to_string().into_bytes()),
            _ => Err(Strange),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, Strange> {
        String::from_utf8(self.bytes()?).map_err(|_| Strange)
    }

    pub(super) fn number(&mut self) -> Result<u64, Strange> {
        self.text()?.parse().map_err(|_| Strange)
    }

    pub(super) fn time(&mut self) -> Result<Time, Strange> {
        self.number().map(moment)
    }

    /// A time, or nothing.
    pub(super) fn time_if_any(&mut self) -> Result<Option<Time>, Strange> {
        match self.text()?.as_str() {
            "" => Ok(None),
            text => text.parse().map(|n| Some(moment(n))).map_err(|_| Strange),
        }
    }

    pub(super) fn flag(&mut self) -> Result<bool, Strange> {
        Ok(self.text()? == "1")
    }

    pub(super) fn list(&mut self) -> Result<Reply, Strange> {
        Reply::new(self.0.next().ok_or(Strange)?)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.as_slice().is_empty()
    }
}

/// A time that Redis kept.
fn moment(number: u64) -> Time {
    if number >= NEVER { Time::NEVER } else { Time::from_micros(number) }
}

/// A time as scripts count it.
pub(super) fn micros(time: Time) -> u64 {
    time.micros().min(NEVER)
}
