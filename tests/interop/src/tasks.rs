//! Tasks: our client with servers of others, and clients of others with our server. All offer the same tools, and have to come
//! to the same.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tokio::time::{sleep, timeout};
use turnbuckle::client::{EraPreference, FormAnswer, Started};
use turnbuckle::prelude::*;
use turnbuckle::stdio::{Command, StderrMode};
use turnbuckle::types::TaskStatus;
use turnbuckle::{Client, Revision, Tasks};

use crate::left::MARK;
use crate::problem::Problem;
use crate::scene::same;
use crate::skills::print_of;
use crate::start::Programs;

/// The name by which this part of the run is chosen.
pub(crate) const NAME: &str = "tasks";

/// The argument with which this program is a server of tools that become tasks.
pub(crate) const SERVE: &str = "--serve-tasks";

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
/// Time limit of the installation of packages.
const INSTALLATION: Duration = Duration::from_secs(3 * 60);
/// Time limit of one server, or of one client.
const LIMIT: Duration = Duration::from_secs(60);

/// The outcomes of the calls, as a client of others prints them.
#[derive(Debug, PartialEq, Deserialize)]
struct Found {
    computed: String,
    failed: String,
    greeting: String,
    /// The status of a task that goes on.
    working: String,
    /// The status of the same task after it was cancelled.
    cancelled: String,
}

/// Tries all servers and clients, and returns what went wrong.
pub(crate) async fn check(programs: &Programs) -> Result<Vec<String>, Problem> {
    let expected = Found {
        computed: "computed a".into(),
        failed: "there is no paint".into(),
        greeting: "Hello, Ada!".into(),
        working: "working".into(),
        cancelled: "cancelled".into(),
    };
    let packages = text(&programs.packages);
    let rmcp = text(&programs.rmcp_extensions);
    let python = |argument: &str| {
        let path = format!("PYTHONPATH={packages}");
        let script = format!("{PYTHON}/tasks.py");
        vec![
            "env".to_owned(),
            path,
            "python3".into(),
            script,
            argument.into(),
        ]
    };
    let ours = vec![text(&std::env::current_exe()?), SERVE.into()];
    let servers = [
        ("FastMCP", python("serve")),
        ("rmcp", vec![rmcp.clone(), "serve-tasks".into()]),
        ("ours", ours.clone()),
    ];
    let mut problems = Vec::new();
    for (name, command) in servers {
        let outcome = compare(call_with_ours(programs, &command), &expected).await;
        problems.extend(
            outcome
                .err()
                .map(|error| format!("our client with the server of {name}: {error}")),
        );
    }
    let clients = [
        ("FastMCP", python("call")),
        ("rmcp", vec![rmcp, "call-tasks".into()]),
    ];
    for (name, mut command) in clients {
        command.extend_from_slice(&ours);
        let outcome = compare(print_of(programs, &command), &expected).await;
        problems.extend(
            outcome
                .err()
                .map(|error| format!("the client of {name} with our server: {error}")),
        );
    }
    Ok(problems)
}

/// Serves the tools on the standard streams of this process.
pub(crate) async fn serve() -> Result<(), Problem> {
    let server = Server::new("interop-tasks", env!("CARGO_PKG_VERSION"))
        .group(Studio)
        .extension(Tasks::new().poll_interval(Duration::from_millis(50)));
    Ok(server.serve_stdio().await?)
}

#[data]
struct Name {
    name: String,
}

struct Studio;

#[server]
impl Studio {
    #[tool(task)]
    async fn compute(label: String) -> String {
        sleep(Duration::from_millis(200)).await;
        format!("computed {label}")
    }

    #[tool(task)]
    async fn fail() -> Result {
        Err("there is no paint".into())
    }

    #[tool(task)]
    async fn greet(ask: Ask) -> Result<String> {
        let Name { name } = ask.form("Who are you?").await?;
        Ok(format!("Hello, {name}!"))
    }

    #[tool(task, name = "sleep")]
    async fn nap() -> &'static str {
        sleep(Duration::from_secs(600)).await;
        "slept"
    }
}

/// Compares what was found within the time limit.
async fn compare(
    finding: impl Future<Output = Result<Found, Problem>>,
    expected: &Found,
) -> Result<(), Problem> {
    let found = timeout(LIMIT, finding)
        .await
        .map_err(|_| "it did not end")?;
    same(&found?, expected)
}

/// Calls the tools of a server with our client.
async fn call_with_ours(programs: &Programs, command: &[String]) -> Result<Found, Problem> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let command = Command::new(program)
        .args(arguments)
        .env(MARK, &programs.mark)
        .stderr(StderrMode::lines(|_| ()));
    let client = Client::builder("interop-client", env!("CARGO_PKG_VERSION"))
        .on_form(|_, _| async { FormAnswer::accept([("name", "Ada")]) })
        .era(EraPreference::Only(Revision::NEWEST))
        .connect(command)
        .await?;
    let computed = client.call_tool("compute", &json!({"label": "a"})).await?;
    let failed = client.call_tool("fail", &()).await?;
    same(&failed.is_error, &Some(true))?;
    let greeting = client.call_tool("greet", &()).await?;
    let Started::Task(task) = client.call_tool("sleep", &()).start().await? else {
        return Err("the long call is no task".into());
    };
    let working = task.status().await?.task.status;
    task.cancel().await?;
    let mut cancelled = task.status().await?.task.status;
    while !cancelled.is_final() {
        sleep(Duration::from_millis(50)).await;
        cancelled = task.status().await?.task.status;
    }
    client.close().await;
    let word = |status: TaskStatus| status.as_str().to_owned();
    Ok(Found {
        computed: computed.text().into_owned(),
        failed: failed.text().into_owned(),
        greeting: greeting.text().into_owned(),
        working: word(working),
        cancelled: word(cancelled),
    })
}

/// Installs the Python packages.
pub(crate) async fn install(programs: &Programs) -> Result<(), Problem> {
    let mut install = tokio::process::Command::new("sh");
    install
        .arg(format!("{PYTHON}/install.sh"))
        .arg(&programs.packages)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true);
    let status = timeout(INSTALLATION, install.status())
        .await
        .map_err(|_| format!("the packages were not installed within {INSTALLATION:?}"))??;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the packages cannot be installed: {status}").into()),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
