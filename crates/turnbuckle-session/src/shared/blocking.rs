//! Work that holds its thread: it runs where nothing else waits for that thread.

use turnbuckle_types::Error;

use crate::shared::driver;

/// Runs `work` on a thread for work that blocks. It begins at once, and goes on to its end even
/// when nobody waits for it any more: how much of it runs is for the caller to bound.
///
/// # Errors
/// When it panicked: what handlers that panic are answered with.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    driver::run_apart(work).await
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
        let told = failed.unwrap_err().to_string();
        assert!(!told.contains("secret"), "{told}");
    }
}
