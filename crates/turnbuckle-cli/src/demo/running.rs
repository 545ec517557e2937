//! Tools that take their time: progress, log messages, failure, cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use turnbuckle::prelude::*;
use turnbuckle::types::LogLevel;

/// How long a step takes.
const STEP: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Running {
    echo_cancelled: AtomicBool,
}

#[server]
impl Running {
    // Nothing is sent to clients that did not ask for it.
    /// Reports progress while it runs
    #[tool(title = "Progress")]
    async fn test_tool_with_progress(progress: Progress) -> &'static str {
        for done in [0, 50, 100] {
            progress.report_of(done, 100).await;
            // After the last too: with the result some clients forget whose progress it was.
            sleep(STEP).await;
        }
        "Progress went from 0 to 100."
    }

    /// Sends log messages while it runs
    #[tool(title = "Log messages")]
    async fn test_tool_with_logging(log: Log) -> &'static str {
        for message in [
            "Tool execution started",
            "Tool processing data",
            "Tool execution completed",
        ] {
            log.send_as("demo", LogLevel::Info, message).await;
            sleep(STEP).await;
        }
        "Three messages were logged."
    }

    /// Sends a log message to clients that want it
    #[tool(title = "One log message")]
    async fn test_logging_tool(log: Log) -> &'static str {
        log.info("The tool is at work").await;
        "One message was logged, for clients that want it."
    }

    // A failure is a result with `isError`, for the model to see and act on.
    /// Always fails, in a way that a model can read
    #[tool(title = "Failure")]
    fn test_error_handling() -> Result {
        Err("This tool intentionally returns an error for testing".into())
    }

    // Frees the client's connection: it reconnects, and finds the answer there.
    /// Lets the client come back for the answer, where it can
    #[tool(title = "Reconnection")]
    async fn test_reconnection(context: Context) -> &'static str {
        context.pause_stream();
        sleep(4 * STEP).await;
        "The answer was still there after the reconnection."
    }

    // What has nothing to clean up need not look at `cancelled()`: it is dropped.
    /// Waits, then says a text back; can be cancelled
    #[tool(title = "Slow echo")]
    async fn slow_echo(
        &self,
        /// How long to wait, in seconds
        #[schema(max = 300)]
        seconds: u16,
        /// What to say back
        text: String,
        cancel: Cancel,
    ) -> String {
        tokio::select! {
            () = sleep(Duration::from_secs(seconds.into())) => {}
            () = cancel.cancelled() => self.echo_cancelled.store(true, Ordering::Relaxed),
        }
        text
    }

    /// Names the tool that was last cancelled
    #[tool(title = "Last cancelled")]
    fn last_cancelled(&self) -> &'static str {
        match self.echo_cancelled.load(Ordering::Relaxed) {
            true => "slow_echo",
            false => "nothing was cancelled yet",
        }
    }
}
