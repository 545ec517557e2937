//! Tools that take time: progress, log messages, errors, cancellation.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::sleep;
use turnbuckle::prelude::*;
use turnbuckle::types::LoggingLevel;

/// The duration of a step.
const STEP: Duration = Duration::from_millis(50);

#[derive(Default)]
pub(super) struct Running {
    echo_cancelled: AtomicBool,
}

#[server]
impl Running {
    // Progress is sent only to clients that asked for it.
    /// Reports progress while it runs
    #[tool(title = "Progress")]
    async fn test_tool_with_progress(progress: Progress) -> &'static str {
        for done in [0, 50, 100] {
            progress.report_with_total(done, 100).await;
            // Also after the last report: some clients drop progress that arrives with the result.
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
            log.send_from("demo", LoggingLevel::Info, message).await;
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

    // An error becomes a result with `isError`, which the model sees.
    /// Always fails, in a way that a model can read
    #[tool(title = "Failure")]
    fn test_error_handling() -> Result {
        Err("This tool intentionally returns an error for testing".into())
    }

    // Closes the client's stream: the client reconnects and gets the answer from the replay.
    /// Lets the client come back for the answer, where it can
    #[tool(title = "Reconnection")]
    async fn test_reconnection(context: HandlerContext) -> &'static str {
        context.close_sse_stream();
        sleep(4 * STEP).await;
        "The answer was still there after the reconnection."
    }

    // A handler without cleanup need not watch `cancelled()`: its future is dropped.
    /// Waits, then says a text back; can be cancelled
    #[tool(title = "Slow echo")]
    async fn slow_echo(
        &self,
        /// The number of seconds to wait
        #[schema(max = 300)]
        seconds: u16,
        /// The text to say back
        text: String,
        cancel: Cancellation,
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
        if self.echo_cancelled.load(Ordering::Relaxed) {
            "slow_echo"
        } else {
            "nothing was cancelled yet"
        }
    }
}
