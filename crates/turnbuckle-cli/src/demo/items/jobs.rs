//! Tools whose calls become tasks: work that a client can leave and come back to. Names and arguments
//! are those of the official conformance suite.

use std::time::Duration;

use tokio::time::sleep;
use turnbuckle::prelude::*;
use turnbuckle::types::ProtocolError;

/// The time that the short jobs take.
const WORK: Duration = Duration::from_millis(300);

/// The time for which a call of the tool that asks first runs in its request.
const QUICK: Duration = Duration::from_millis(100);

#[data]
struct Name {
    name: String,
}

#[data]
struct Confirm {
    confirm: bool,
}

pub(super) struct Jobs;

#[server]
impl Jobs {
    /// Greets somebody at once
    #[tool(title = "Greeting", read_only)]
    fn greet(
        /// The name of the person
        name: String,
    ) -> String {
        format!("Hello, {name}!")
    }

    // A client that cancels the task ends the sleep: the future is dropped.
    /// Computes for a while; can be left and cancelled
    #[tool(title = "Slow computation", task)]
    async fn slow_compute(
        /// The number of seconds to compute
        #[schema(max = 300)]
        seconds: u16,
        /// A name for the computation
        label: Option<String>,
        progress: Progress,
    ) -> String {
        for second in 0..seconds {
            let message = format!("second {second} of {seconds}");
            progress.report_with_message(second, seconds, message).await;
            sleep(Duration::from_secs(1)).await;
        }
        format!("Computed {}.", label.as_deref().unwrap_or("something"))
    }

    // The error is a result with `isError`, and the task has completed with it.
    /// Fails after a while, in a way that a model can read
    #[tool(title = "Failing job", task = "required")]
    async fn failing_job() -> Result {
        sleep(WORK).await;
        Err("This job intentionally fails for testing".into())
    }

    // An error of the protocol: the task has failed.
    /// Fails after a while, with an error of the protocol
    #[tool(title = "Broken job", task)]
    async fn protocol_error_job() -> Result {
        sleep(WORK).await;
        Err(ProtocolError::internal("This job intentionally breaks for testing").into())
    }

    // Inside of a task the question is shown by `tasks/get`, and nothing is held while it waits.
    /// Asks before it deletes a file that does not exist
    #[tool(title = "Deletion", task)]
    async fn confirm_delete(
        /// The name of the file
        filename: String,
        ask: Ask,
    ) -> Result<String> {
        let Confirm { confirm } = ask.form(format!("Delete {filename}?")).await?;
        Ok(match confirm {
            true => format!("{filename} was deleted."),
            false => format!("{filename} was kept."),
        })
    }

    /// Asks two questions at once
    #[tool(title = "Two questions", task)]
    async fn multi_input(ask: Ask) -> Result<String> {
        let (name, confirm) = tokio::join!(
            ask.form("What is your name?").key("name"),
            ask.form("Shall it go on?").key("confirm"),
        );
        let (Name { name }, Confirm { confirm }) = (name?, confirm?);
        Ok(format!("{name} has confirmed: {confirm}"))
    }

    // What is asked in the first moments is asked on the call, before there is a task.
    /// Asks for a name on the call, and goes on as a task
    #[tool(title = "Question, then a task", task(required, after = QUICK))]
    async fn test_tool_with_task(ask: Ask) -> Result<String> {
        let Name { name } = ask.form("What is your name?").key("user_name").await?;
        sleep(WORK).await;
        Ok(format!("Hello, {name}!"))
    }
}
