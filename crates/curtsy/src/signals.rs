//! The signals by which a person or a system asks a running command to end.

/// Ctrl-C and SIGTERM.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    #[cfg(unix)]
    pub(crate) fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn listen() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    /// Listens from the first time on, and waits for the next signal.
    pub(crate) async fn heard(signals: &mut Option<Signals>) -> std::io::Result<()> {
        let listening = match signals.take() {
            Some(listening) => listening,
            None => Signals::listen()?,
        };
        signals.insert(listening).next().await;
        Ok(())
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
