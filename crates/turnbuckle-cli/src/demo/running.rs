//! Tools that take their time: progress, log messages, failure, cancellation.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::sleep;
use turnbuckle::types::LogLevel;
use turnbuckle::{Context, Failure, Result, Tool, tool};

/// How long a step takes.
const STEP: Duration = Duration::from_millis(50);

pub(super) fn tools() -> Vec<Tool> {
    let echoes = LastCancelled::default();
    let last = echoes.clone();
    vec![
        tool("test_tool_with_progress", with_progress)
            .title("Progress")
            .description("Reports progress while it runs"),
        tool("test_tool_with_logging", with_logging)
            .title("Log messages")
            .description("Sends log messages while it runs"),
        tool("test_logging_tool", log_once)
            .title("One log message")
            .description("Sends a log message to clients that want it"),
        tool("test_error_handling", failing)
            .title("Failure")
            .description("Always fails, in a way that a model can read"),
        tool("test_reconnection", reconnection)
            .title("Reconnection")
            .description("Lets the client come back for the answer, where it can"),
        tool("slow_echo", move |arguments, context| {
            slow_echo(arguments, context, echoes.clone())
        })
        .title("Slow echo")
        .description("Waits, then says a text back; can be cancelled"),
        tool("last_cancelled", move |(): (), _: Context| {
            let told = last.tell();
            async move { told }
        })
        .title("Last cancelled")
        .description("Names the tool that was last cancelled"),
    ]
}

/// Nothing is sent to clients that did not ask for progress.
async fn with_progress((): (), context: Context) -> &'static str {
    context.progress(0, Some(100.into())).await;
    sleep(STEP).await;
    context.progress(50, Some(100.into())).await;
    sleep(STEP).await;
    context.progress(100, Some(100.into())).await;
    // Some clients forget whose progress it was as soon as they have read the result.
    sleep(STEP).await;
    "Progress went from 0 to 100."
}

async fn with_logging((): (), context: Context) -> &'static str {
    context
        .log(LogLevel::Info, Some("demo"), "Tool execution started")
        .await;
    sleep(STEP).await;
    context
        .log(LogLevel::Info, Some("demo"), "Tool processing data")
        .await;
    sleep(STEP).await;
    context
        .log(LogLevel::Info, Some("demo"), "Tool execution completed")
        .await;
    "Three messages were logged."
}

async fn log_once((): (), context: Context) -> &'static str {
    context
        .log(LogLevel::Info, Some("demo"), "The tool is at work")
        .await;
    "One message was logged, for clients that want it."
}

/// A failure is a result with `isError`, for the model to see and act on.
async fn failing((): (), _: Context) -> Result<String> {
    Err(Failure::new(
        "This tool intentionally returns an error for testing",
    ))
}

/// Frees the client's connection: it reconnects, and finds the answer there.
async fn reconnection((): (), context: Context) -> &'static str {
    context.pause_stream();
    sleep(4 * STEP).await;
    "The answer was still there after the reconnection."
}

#[derive(Deserialize, JsonSchema)]
struct SlowEcho {
    /// How long to wait, in seconds
    #[schemars(range(max = 300))]
    seconds: u16,
    /// What to say back
    text: String,
}

/// A handler that has nothing to clean up need not look at `cancelled()`: it is dropped.
async fn slow_echo(arguments: SlowEcho, context: Context, last: LastCancelled) -> String {
    tokio::select! {
        () = sleep(Duration::from_secs(arguments.seconds.into())) => {}
        () = context.cancelled() => last.set("slow_echo"),
    }
    arguments.text
}

/// The name of the tool that was last cancelled, shared by the two that care.
#[derive(Clone, Default)]
struct LastCancelled(Arc<Mutex<Option<&'static str>>>);

impl LastCancelled {
    fn set(&self, name: &'static str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
    }

    fn tell(&self) -> &'static str {
        let last = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.unwrap_or("nothing was cancelled yet")
    }
}
