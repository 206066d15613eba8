//! Answers of scripts, read part by part.

use curtsy_core::time::Time;
use redis::{Cmd, Value};

use super::link::{Wire, WireError};
use super::script::RedisScript;

/// The largest number that a script can represent exactly: later than any real time.
pub(super) const NEVER: u64 = (1 << 53) - 1;

/// Runs a script and returns the parts of its answer.
pub(super) async fn ask<W: Wire>(
    wire: &W,
    script: &'static RedisScript,
    command: &Cmd,
) -> Result<Reply, WireError> {
    Ok(Reply::new(wire.run(script, command).await?)?)
}

/// The remaining parts of an answer. A missing part, or one of another kind, is not from our
/// scripts.
pub(super) struct Reply(std::vec::IntoIter<Value>);

/// An answer that is not from our scripts.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the answer of Redis is not from curtsy's scripts")]
pub(super) struct Strange;

impl From<Strange> for WireError {
    fn from(error: Strange) -> WireError {
        WireError::NotDone(error.to_string())
    }
}

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

    /// Returns a time; `None` for an empty text.
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

/// Returns a time that Redis stored.
fn moment(number: u64) -> Time {
    if number >= NEVER { Time::NEVER } else { Time::from_micros(number) }
}

/// Returns a time as scripts store it.
pub(super) fn micros(time: Time) -> u64 {
    time.micros().min(NEVER)
}
