//! Blocking work, on threads where nothing else waits.

use std::cell::Cell;

use tokio::runtime::Handle;
use turnbuckle_types::ProtocolError;

use crate::shared::panic_guard::catch_panic;

/// Runs `work` on a thread for blocking work, in the span of the caller. The work starts at once and
/// runs to its end, also when the future is dropped. The caller has to bound how much of it runs.
///
/// # Errors
/// Returns an internal error when the work panics.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProtocolError> {
    let span = tracing::Span::current();
    let marked = move || {
        IS_BLOCKING.set(true);
        let done = span.in_scope(|| catch_panic(work));
        IS_BLOCKING.set(false);
        done
    };
    match tokio::task::spawn_blocking(marked).await {
        Ok(done) => done,
        Err(_) => Err(ProtocolError::internal("the server is being shut down")),
    }
}

thread_local! {
    /// True while this thread runs the work of [`run_blocking`].
    static IS_BLOCKING: Cell<bool> = const { Cell::new(false) };
}

/// Blocks this thread until the future is ready. Returns `None`, without polling the future, unless
/// the thread runs the work of [`run_blocking`]: another thread may have tasks to run that the
/// future waits for.
pub fn block_on<F: Future>(future: F) -> Option<F::Output> {
    IS_BLOCKING
        .get()
        .then(|| Handle::current().block_on(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_blocking_work_waits_for_a_future() {
        let waiting = || block_on(tokio::task::yield_now());
        assert_eq!(waiting(), None);
        assert!(matches!(run_blocking(waiting).await, Ok(Some(()))));
        let elsewhere = tokio::task::spawn_blocking(waiting).await;
        assert_eq!(elsewhere.unwrap(), None);
    }

    #[tokio::test]
    async fn blocking_work_runs_on_another_thread_and_its_panic_is_an_error_without_its_text() {
        let here = std::thread::current().id();
        let there = run_blocking(|| std::thread::current().id()).await;
        assert_ne!(there.unwrap(), here);
        let failed = run_blocking(|| -> u8 { panic!("secret") }).await;
        let text = failed.unwrap_err().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
