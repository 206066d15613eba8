//! What a server does, step by step: plain data, played by the loop.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A server's side of one exchange.
#[derive(Clone, Debug, Default)]
pub(super) struct ZooScript {
    pub(super) steps: VecDeque<ScriptStep>,
    /// Whether the answer is what its head promises.
    pub(super) whole: bool,
    /// The status for the log, if the first bytes are no HTTP/1 head that tells it.
    pub(super) status: Option<u16>,
}

/// One step.
#[derive(Clone, Debug)]
pub(super) enum ScriptStep {
    /// Sends bytes.
    Say(Arc<[u8]>),
    /// Sends bytes again and again, with a pause after each time.
    Endless(Arc<[u8]>, Duration),
    /// Sends bytes so many times.
    Times(Arc<[u8]>, u64),
    /// Sends bytes one by one.
    Drip(Arc<[u8]>, Duration),
    /// Waits.
    Wait(Duration),
    /// Says nothing until the client leaves.
    Silence,
    /// Closes its side and reads on until the client leaves.
    HalfClose,
    /// Closes.
    Close,
    /// Breaks the connection.
    Reset,
}

impl ZooScript {
    /// Nothing yet.
    pub(super) fn new() -> ZooScript {
        ZooScript { whole: true, ..ZooScript::default() }
    }

    /// Bytes, as they are.
    pub(super) fn say(bytes: impl Into<Vec<u8>>) -> ZooScript {
        ZooScript::new().then(ScriptStep::Say(bytes.into().into()))
    }

    /// One more step.
    pub(super) fn then(mut self, step: ScriptStep) -> ZooScript {
        self.steps.push_back(step);
        self
    }

    /// The same after a pause. The log has the status of a page.
    pub(super) fn after(mut self, pause: Duration) -> ZooScript {
        self.steps.push_front(ScriptStep::Wait(pause));
        self.status(200)
    }

    /// More bytes.
    pub(super) fn and(self, bytes: impl Into<Vec<u8>>) -> ZooScript {
        self.then(ScriptStep::Say(bytes.into().into()))
    }

    /// The same bytes without end, as fast as they go.
    pub(super) fn endless(self, bytes: impl Into<Vec<u8>>) -> ZooScript {
        self.then(ScriptStep::Endless(bytes.into().into(), Duration::ZERO)).broken()
    }

    /// The same bytes without end, with pauses.
    pub(super) fn dripping(self, bytes: impl Into<Vec<u8>>, every: Duration) -> ZooScript {
        self.then(ScriptStep::Endless(bytes.into().into(), every)).broken()
    }

    /// Then the connection is closed.
    pub(super) fn close(self) -> ZooScript {
        self.then(ScriptStep::Close)
    }

    /// Then it is broken.
    pub(super) fn reset(self) -> ZooScript {
        self.then(ScriptStep::Reset).broken()
    }

    /// Then nothing more is said.
    pub(super) fn silence(self) -> ZooScript {
        self.then(ScriptStep::Silence).broken()
    }

    /// The answer is not what its head promises.
    pub(super) fn broken(self) -> ZooScript {
        ZooScript { whole: false, ..self }
    }

    /// The status for the log.
    pub(super) fn status(self, status: u16) -> ZooScript {
        ZooScript { status: Some(status), ..self }
    }

    /// What it says at first: where the head is.
    pub(super) fn first(&self) -> &[u8] {
        match self.steps.front() {
            Some(ScriptStep::Say(bytes) | ScriptStep::Drip(bytes, _)) => bytes,
            _ => &[],
        }
    }
}
