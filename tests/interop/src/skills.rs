//! Skills: our client with servers of others, and clients of others with our server. Both have to come to the files of the
//! folder `skills`, byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;
use turnbuckle::client::{EraPreference, Error};
use turnbuckle::skills::Digest;
use turnbuckle::skills::client::{SkillError, SkillsClient as _};
use turnbuckle::skills::server::Skills;
use turnbuckle::stdio::Command;
use turnbuckle::{Client, Revision, Run as _, Server};

use crate::left::MARK;
use crate::problem::Problem;
use crate::scene::same;
use crate::start::Programs;

/// The name by which this part of the run is chosen.
pub(crate) const NAME: &str = "skills";

/// The argument with which this program is a server of skills.
pub(crate) const SERVE: &str = "--serve-skills";

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../js");
/// Time limit of one server, or of one client.
const LIMIT: Duration = Duration::from_secs(30);
/// The code for an unknown skill.
const UNKNOWN: i64 = -32602;

/// Files that were found, as a client of others prints them.
#[derive(Debug, Default, PartialEq, Deserialize)]
struct Found {
    /// Digests of files that were read, by skill and URI.
    skills: BTreeMap<String, BTreeMap<String, Digest>>,
    /// Children of the directory of each skill.
    directories: BTreeMap<String, BTreeSet<String>>,
    /// Code of the error for an unknown skill.
    unknown: i64,
}

/// Tries all servers and clients, and returns what went wrong.
pub(crate) async fn check(programs: &Programs) -> Result<Vec<String>, Problem> {
    let expected = expected()?;
    let (node, rmcp) = (text(&programs.node), text(&programs.rmcp_extensions));
    let ours = vec![text(&std::env::current_exe()?), SERVE.into()];
    let script = |name: &str| format!("{SCRIPTS}/{name}");
    let mut problems = Vec::new();
    let servers = [
        (
            "ext-skills",
            vec![node.clone(), script("servers/skills.mjs"), FOLDER.into()],
        ),
        ("rmcp", vec![rmcp.clone(), "serve".into(), FOLDER.into()]),
        ("ours", ours.clone()),
    ];
    for (name, command) in servers {
        let outcome = compare(read_by_ours(programs, &command), &expected).await;
        problems.extend(
            outcome
                .err()
                .map(|error| format!("our client with the server of {name}: {error}")),
        );
    }
    let clients = [
        ("ext-skills", vec![node, script("interop/skills.mjs")]),
        ("rmcp", vec![rmcp, "read".into()]),
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

/// Serves the folder on the standard streams of this process.
pub(crate) async fn serve() -> Result<(), Problem> {
    let skills = Skills::from_dir(FOLDER)?.directories(true);
    let server = Server::new("interop-skills", env!("CARGO_PKG_VERSION")).extension(skills);
    Ok(server.serve_stdio().await?)
}

/// Compares what is read within the time limit.
async fn compare(
    reading: impl Future<Output = Result<Found, Problem>>,
    expected: &Found,
) -> Result<(), Problem> {
    let found = timeout(LIMIT, reading)
        .await
        .map_err(|_| "it did not end")?;
    same(&found?, expected)
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns what is in the folder.
fn expected() -> Result<Found, Problem> {
    let mut files = BTreeMap::new();
    collect("skill:/", FOLDER.as_ref(), &mut files)?;
    let mut found = Found {
        unknown: UNKNOWN,
        ..Found::default()
    };
    for skill in files.keys().filter(|uri| uri.ends_with("/SKILL.md")) {
        let root = skill.trim_end_matches("/SKILL.md");
        let inside = files.iter().filter_map(|(uri, digest)| {
            let path = uri.strip_prefix(root)?.strip_prefix('/')?;
            Some((uri, *digest, path))
        });
        let child = |path: &str| format!("{root}/{}", path.split('/').next().unwrap_or_default());
        let children = inside.clone().map(|(.., path)| child(path)).collect();
        let digests = inside
            .map(|(uri, digest, _)| (uri.clone(), digest))
            .collect();
        found.directories.insert(root.to_owned(), children);
        found.skills.insert(skill.clone(), digests);
    }
    Ok(found)
}

/// Collects the digests of all files of a folder by their URIs.
fn collect(uri: &str, folder: &Path, files: &mut BTreeMap<String, Digest>) -> Result<(), Problem> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let uri = format!("{uri}/{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => collect(&uri, &entry.path(), files)?,
            false => drop(files.insert(uri, Digest::compute(&std::fs::read(entry.path())?))),
        }
    }
    Ok(())
}

/// Reads all skills of a server with our client.
async fn read_by_ours(programs: &Programs, command: &[String]) -> Result<Found, Problem> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let command = Command::new(program)
        .args(arguments)
        .env(MARK, &programs.mark);
    let builder = Client::builder("interop-client", env!("CARGO_PKG_VERSION"));
    let client = builder
        .era(EraPreference::Only(Revision::NEWEST))
        .connect(command)
        .await?;
    let reader = client.skills("server");
    let mut found = Found::default();
    let listing = reader.list().fetch_all().await?;
    if let Some(rejected) = listing.rejected.first() {
        return Err(format!("an entry is rejected: {rejected:?}").into());
    }
    for entry in listing.iter() {
        same(&reader.get(entry.uri().as_str()).await?, entry)?;
        let skill = reader.load(entry).await?;
        let mut digests = BTreeMap::new();
        for path in skill.files().ok_or("the skill is dynamic")? {
            let file = skill.read(path).await?;
            digests.insert(file.uri().to_owned(), Digest::compute(file.bytes()));
        }
        let root = entry.uri().root();
        let directory = skill.read_directory("").await?;
        same(&directory.unlisted, &0)?;
        let children = directory
            .entries
            .iter()
            .map(|child| format!("{root}/{}", child.path));
        found
            .directories
            .insert(root.to_owned(), children.collect());
        found.skills.insert(entry.uri().to_string(), digests);
    }
    let refusal = reader.get("skill://no/such/SKILL.md").await.err();
    let refusal = refusal.as_ref().and_then(SkillError::request_error);
    found.unknown = refusal
        .and_then(Error::error_response)
        .ok_or("an unknown skill")?
        .code;
    client.close().await;
    Ok(found)
}

/// Runs a client of others with our server, and returns what it prints.
pub(crate) async fn print_of<T: DeserializeOwned>(
    programs: &Programs,
    command: &[String],
) -> Result<T, Problem> {
    let (program, arguments) = command.split_first().ok_or("no command")?;
    let mut process = tokio::process::Command::new(program);
    process
        .args(arguments)
        .env(MARK, &programs.mark)
        .current_dir(SCRIPTS);
    let output = process
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("it ended with {}: {}", output.status, said.trim()).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
