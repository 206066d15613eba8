//! The ways to end a command that serves: Ctrl-C, SIGTERM, and optionally the end of stdin or of a
//! time.

use std::io::Read;
use std::time::Duration;

/// Listens for them.
pub(super) struct Ends {
    runtime: tokio::runtime::Runtime,
    signals: [tokio::signal::unix::Signal; 2],
}

impl Ends {
    pub(super) fn listen() -> anyhow::Result<Ends> {
        use tokio::signal::unix::{SignalKind, signal};
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let inside = runtime.enter();
        let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
        drop(inside);
        Ok(Ends { runtime, signals })
    }

    /// Waits for the first of them.
    pub(super) fn wait(self, stdin_too: bool, at_most: Option<Duration>) -> anyhow::Result<()> {
        let [mut interrupt, mut terminate] = self.signals;
        let (tell, closed) = tokio::sync::oneshot::channel::<()>();
        let mut kept = Some(tell);
        if stdin_too {
            let tell = kept.take();
            // Reads on a thread of its own, which the end of the process ends too.
            std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
                let mut bytes = [0; 4096];
                while matches!(std::io::stdin().read(&mut bytes), Ok(count) if count > 0) {}
                drop(tell);
            })?;
        }
        self.runtime.block_on(async {
            let over = async {
                match at_most {
                    Some(span) => tokio::time::sleep(span).await,
                    None => std::future::pending().await,
                }
            };
            let (mut closed, mut over) = (std::pin::pin!(closed), std::pin::pin!(over));
            std::future::poll_fn(|cx| {
                let ended = interrupt.poll_recv(cx).is_ready()
                    || terminate.poll_recv(cx).is_ready()
                    || closed.as_mut().poll(cx).is_ready()
                    || over.as_mut().poll(cx).is_ready();
                if ended { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
            })
            .await;
        });
        drop(kept);
        Ok(())
    }
}
