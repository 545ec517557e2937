//! Blocking work, on threads where nothing else waits.

use turnbuckle_types::ProtocolError;

use crate::shared::panic_guard::catch_panic;

/// Runs `work` on a thread for blocking work. The work starts at once and runs to its end, also
/// when the future is dropped. The caller has to bound how much of it runs.
///
/// # Errors
/// Returns an internal error when the work panics.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ProtocolError> {
    match tokio::task::spawn_blocking(|| catch_panic(work)).await {
        Ok(done) => done,
        Err(_) => Err(ProtocolError::internal("the server is being shut down")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_runs_elsewhere_and_its_panic_is_an_error_without_its_words() {
        let here = std::thread::current().id();
        let there = run_blocking(|| std::thread::current().id()).await;
        assert_ne!(there.unwrap(), here);
        let failed = run_blocking(|| -> u8 { panic!("secret") }).await;
        let text = failed.unwrap_err().to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
