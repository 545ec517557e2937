//! The `task` commands: calls that a client left, found again by their handles.

use clap::Subcommand;
use serde::Serialize;
use turnbuckle::client::{RunningTask, TaskHandle};
use turnbuckle::session::transport::Timeouts;
use turnbuckle::types::{Task, TaskStatus};

use super::TargetArgs;
use super::call::print_outcome;
use crate::args::{CommonArgs, Deferred, Format};
use crate::connection::{ServerConnection, with_server};
use crate::error::CliError;
use crate::output::{Style, sanitize_line};

/// The verbs after `turnbuckle task`.
#[derive(Subcommand)]
pub(crate) enum TaskCommand {
    /// Shows the state of a task
    #[command(override_usage = "\
turnbuckle task get <TARGET> <HANDLE> [OPTIONS]
       turnbuckle task get <HANDLE> [OPTIONS] -- <COMMAND>...")]
    Get(Deferred<TargetArgs>),

    /// Waits until a task has ended, answers its questions, and prints the result of its call
    #[command(override_usage = "\
turnbuckle task wait <TARGET> <HANDLE> [OPTIONS]
       turnbuckle task wait <HANDLE> [OPTIONS] -- <COMMAND>...")]
    Wait(Deferred<TargetArgs>),

    /// Cancels a task
    #[command(override_usage = "\
turnbuckle task cancel <TARGET> <HANDLE> [OPTIONS]
       turnbuckle task cancel <HANDLE> [OPTIONS] -- <COMMAND>...")]
    Cancel(Deferred<TargetArgs>),

    /// Answers the questions that a task has now, without waiting for its end
    #[command(override_usage = "\
turnbuckle task answer <TARGET> <HANDLE> [OPTIONS]
       turnbuckle task answer <HANDLE> [OPTIONS] -- <COMMAND>...")]
    Answer(Deferred<TargetArgs>),

    /// Lists the tasks that the server keeps for this client (revision 2025-11-25 alone)
    #[command(override_usage = "\
turnbuckle task list <TARGET> [OPTIONS]
       turnbuckle task list [OPTIONS] -- <COMMAND>...")]
    List(Deferred<TargetArgs>),
}

impl TaskCommand {
    /// Returns the server and the options that every verb has.
    pub(crate) fn target_args(&mut self) -> &mut TargetArgs {
        match self {
            Self::Get(Deferred(args))
            | Self::Wait(Deferred(args))
            | Self::Cancel(Deferred(args))
            | Self::Answer(Deferred(args))
            | Self::List(Deferred(args)) => args,
        }
    }
}

pub(crate) async fn run(command: TaskCommand) -> Result<(), CliError> {
    match command {
        TaskCommand::Get(Deferred(args)) => with_task(args, show).await,
        TaskCommand::Wait(Deferred(args)) => {
            let common = args.common.clone();
            with_task(args, async |connection, task| {
                wait_for_task(connection, &common, task).await
            })
            .await
        }
        TaskCommand::Cancel(Deferred(args)) => with_task(args, cancel).await,
        TaskCommand::Answer(Deferred(args)) => with_task(args, answer).await,
        TaskCommand::List(Deferred(args)) => list(args).await,
    }
}

/// Does `work` with the task whose handle the command line names.
async fn with_task<W>(mut args: TargetArgs, work: W) -> Result<(), CliError>
where
    W: AsyncFn(&ServerConnection, RunningTask) -> Result<(), CliError>,
{
    let (server, mut words) = args.server()?;
    let handle = words.require("the handle of the task")?;
    words.expect_end()?;
    let handle: TaskHandle = handle
        .parse()
        .map_err(|error| CliError::usage(format!("{error}")))?;
    with_server(&args.common, server, async |connection| {
        work(connection, connection.client.task(handle.clone())).await
    })
    .await
}

/// Waits for a task and prints the result of its call. A task that cannot be waited for to its end goes on.
pub(super) async fn wait_for_task(
    connection: &ServerConnection,
    common: &CommonArgs,
    task: RunningTask,
) -> Result<(), CliError> {
    let handle = task.handle().clone();
    let timeouts = match common.protocol.timeout {
        Some(timeout) => Timeouts::uniform(timeout),
        None => Timeouts::default().total_timeout(None),
    };
    if connection.console.stderr_is_terminal {
        let text = format!("task {handle}");
        let note = connection.console.style_stderr(Style::Dim, &text);
        connection.console.print_note(&note);
    }
    let console = connection.console.clone();
    let waiting = task.timeouts(timeouts).on_state(move |state| {
        let message = state.task.status_message.as_deref();
        console.draw_status(describe(state.task.status), message);
    });
    let result = waiting.await;
    connection.console.clear_progress();
    let result = result.map_err(|error| {
        let is_left = error.error_response().is_none()
            && !matches!(error, turnbuckle::client::Error::TaskCancelled { .. });
        let failure = CliError::from(error);
        match is_left {
            true => failure.hint(format!(
                "the task may go on: `turnbuckle task wait TARGET {handle}` waits for it"
            )),
            false => failure,
        }
    })?;
    let text = serde_json::to_string(&result)?;
    print_outcome(connection, handle.tool(), &result, &text)
}

/// The handle for JSON output.
#[derive(Serialize)]
struct HandleJson {
    handle: String,
}

/// Prints the handle of a task that was started.
pub(super) fn print_handle(
    connection: &ServerConnection,
    task: &RunningTask,
) -> Result<(), CliError> {
    let handle = task.to_string();
    match connection.console.is_text() {
        true => connection.console.print(&handle),
        false => {
            let json = serde_json::to_string(&HandleJson { handle })?;
            connection.console.print_json(&json)
        }
    }
}

async fn show(connection: &ServerConnection, task: RunningTask) -> Result<(), CliError> {
    let state = task.status().await?;
    if !connection.console.is_text() {
        return connection
            .console
            .print_json(&serde_json::to_string(&state)?);
    }
    connection.console.print(&render(connection, &state.task))?;
    for (key, question) in state
        .input_requests
        .iter()
        .flat_map(|requests| requests.iter())
    {
        connection.console.print(&format!(
            "  {}: {}",
            sanitize_line(key, 80),
            sanitize_line(question.method(), 80)
        ))?;
    }
    Ok(())
}

async fn cancel(connection: &ServerConnection, task: RunningTask) -> Result<(), CliError> {
    task.cancel().await?;
    connection.console.print_note("the task is cancelled");
    Ok(())
}

async fn answer(connection: &ServerConnection, task: RunningTask) -> Result<(), CliError> {
    let note = match task.answer_questions().await? {
        0 => "the task has no question".to_owned(),
        1 => "1 question is answered".to_owned(),
        count => format!("{count} questions are answered"),
    };
    connection.console.print_note(&note);
    Ok(())
}

/// The list for JSON output.
#[derive(Serialize)]
struct TasksJson<T> {
    tasks: Vec<T>,
}

async fn list(mut args: TargetArgs) -> Result<(), CliError> {
    let (server, words) = args.server()?;
    words.expect_end()?;
    with_server(&args.common, server, async |connection| {
        let tasks = connection.client.list_tasks().fetch_all().await?;
        let console = &connection.console;
        match console.args.output {
            Format::Json => console.print_json(&serde_json::to_string(&TasksJson { tasks })?)?,
            Format::Ndjson => {
                for task in &tasks {
                    console.print_json(&serde_json::to_string(task)?)?;
                }
            }
            Format::Text => {
                if tasks.is_empty() {
                    console.print_note("none");
                }
                for task in tasks {
                    let revision = connection.server.revision;
                    let handle = TaskHandle::new(revision, "", task.task_id.as_str());
                    let handle = handle.map_err(|error| CliError::new(error.to_string()))?;
                    let state = render(connection, &Task::from(task));
                    console.print(&format!("{handle}  {state}"))?;
                }
            }
        }
        Ok(())
    })
    .await
}

/// Returns the state of a task in words.
fn render(connection: &ServerConnection, task: &Task) -> String {
    let console = &connection.console;
    let status = console.style(Style::Strong, describe(task.status));
    let message = task.status_message.as_deref().unwrap_or_default();
    let since = sanitize_line(&task.last_updated_at, 40);
    let message = sanitize_line(message, 400);
    let since = console.style(Style::Dim, &format!("since {since}"));
    format!("{status}  {message}  {since}").replace("    ", "  ")
}

fn describe(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Working => "working",
        TaskStatus::InputRequired => "asks",
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "cancelled",
    }
}
