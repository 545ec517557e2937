//! Servers of others behind our bridge, for the Python SDK's client: everything is as over a direct connection.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::problem::Problem;
use crate::skills::print_of;
use crate::start::Programs;

/// The name by which this part of the run is chosen.
pub(crate) const NAME: &str = "bridge-python";

const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python");
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/python/fixture.py");
const EVERYTHING: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../js/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
);
/// Why the bridge has more tools than a direct connection.
const QUESTIONS: &str =
    "the bridge connects before its client, and says that it answers every kind of question";
/// Paths that differ, with the reasons.
const EXPECTED: &[(&str, &str)] = &[
    (
        ".tools.simulate-research-query.execution.taskSupport",
        "the bridge waits for the task itself if the client does not",
    ),
    (".tools.get-roots-list:", QUESTIONS),
    (".tools.trigger-", QUESTIONS),
];
/// Time limit of one client.
const LIMIT: Duration = Duration::from_secs(60);

/// Tries all servers in the eras that they speak, and returns what differs.
pub(crate) async fn check(programs: &Programs) -> Result<Vec<String>, Problem> {
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let packages = format!("PYTHONPATH={}", programs.packages.display());
    let fixture = ["env", &packages, "python3", FIXTURE].map(str::to_owned);
    let fixture = fixture.to_vec();
    let everything = vec![
        path(&programs.node),
        EVERYTHING.to_owned(),
        "stdio".to_owned(),
    ];
    let fixture_calls = json!({
        "tools": [["add", {"a": 2, "b": 3}], ["fail", {"text": "as you wish"}], ["slow", {"steps": 2}]],
        "prompts": [["greet", {"name": "Ada", "language": "French"}]],
        "resources": ["fixture://static", "fixture://item/bolt"],
    });
    let everything_calls = json!({
        "tools": [
            ["echo", {"message": "ä"}],
            ["get-sum", {"a": 2, "b": 3}],
            ["get-structured-content", {"location": "New York"}],
            ["get-annotated-message", {"messageType": "error", "includeImage": true}],
            ["get-tiny-image", {}],
            ["get-resource-links", {"count": 2}],
            ["get-resource-reference", {"resourceType": "Text", "resourceId": -1}],
        ],
        "prompts": [["simple-prompt", {}], ["args-prompt", {"city": "Oslo"}]],
        "resources": ["demo://resource/static/document/features.md"],
    });
    let mut problems = Vec::new();
    for (name, command, calls, eras) in [
        (
            "FastMCP",
            fixture,
            fixture_calls,
            &["legacy", "modern"] as &[_],
        ),
        (
            "server-everything",
            everything,
            everything_calls,
            &["legacy"],
        ),
    ] {
        for era in eras {
            let bridge = [&*path(&programs.turnbuckle), "bridge", "--stdio", "--"];
            let bridged = bridge.into_iter().map(str::to_owned).chain(command.clone());
            let direct = print(programs, era, &calls, &command).await?;
            let bridged = print(programs, era, &calls, &bridged.collect::<Vec<_>>()).await?;
            let mut found = Vec::new();
            differences(&direct, &bridged, "", &mut found);
            found.retain(|found| !EXPECTED.iter().any(|(path, _)| found.starts_with(path)));
            let found = found.iter();
            problems.extend(found.map(|found| format!("{name}, {era}: {found}")));
        }
    }
    Ok(problems)
}

/// Returns what the client finds with a server.
async fn print(
    programs: &Programs,
    era: &str,
    calls: &Value,
    server: &[String],
) -> Result<Value, Problem> {
    let mut command: Vec<String> = vec![
        "env".to_owned(),
        format!("PYTHONPATH={}", programs.packages.display()),
        "python3".to_owned(),
        format!("{PYTHON}/client.py"),
        era.to_owned(),
        calls.to_string(),
    ];
    command.extend_from_slice(server);
    let printed = timeout(LIMIT, print_of(programs, &command)).await;
    printed.map_err(|_| "it did not end")?
}

/// Adds the paths at which two values differ, with both values.
fn differences(direct: &Value, bridged: &Value, path: &str, found: &mut Vec<String>) {
    match (direct, bridged) {
        (Value::Object(one), Value::Object(other)) => {
            let keys = one
                .keys()
                .chain(other.keys().filter(|key| !one.contains_key(*key)));
            for key in keys {
                let (one, other) = (&direct[key], &bridged[key]);
                differences(one, other, &format!("{path}.{key}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differences(one, other, &format!("{path}.{index}"), found);
            }
        }
        _ if direct == bridged => {}
        _ => found.push(format!("{path}: {direct} over the bridge is {bridged}")),
    }
}
