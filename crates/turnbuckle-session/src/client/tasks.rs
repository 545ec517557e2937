//! Tasks of a client's session: the only place of the client's end that spawns.

use std::time::Duration;

/// The time that a final message may take to be sent.
const FINAL_MESSAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Spawns work that belongs to a connection. The work itself has to end with its connection.
pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(work);
}

/// Spawns the sending of a message that nobody waits for, such as a cancellation from `Drop`.
///
/// Without a runtime, or when the server does not take the message within ten seconds, it is not
/// sent.
pub(crate) fn spawn_final_message(sending: impl Future<Output = ()> + Send + 'static) {
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            let _ = tokio::time::timeout(FINAL_MESSAGE_TIMEOUT, sending).await;
        });
    }
}
