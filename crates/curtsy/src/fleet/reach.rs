//! The first question to a Redis: one that is only starting is waited for a little.

use std::time::Duration;

use curtsy_store::redis::WireError;

/// It is asked so often, and so long apart.
const TRIES: (u32, Duration) = (10, Duration::from_millis(300));

/// Asks until there is an answer, for a little while. One that is unfit as it is set up stays so.
pub(crate) async fn reach<T>(ask: impl AsyncFn() -> Result<T, WireError>) -> Result<T, WireError> {
    for _ in 0..TRIES.0 {
        match ask().await {
            Err(WireError::Unfit(why)) => return Err(WireError::Unfit(why)),
            Err(_) => tokio::time::sleep(TRIES.1).await,
            answered => return answered,
        }
    }
    ask().await
}
