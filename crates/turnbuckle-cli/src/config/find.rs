//! Which files name servers, and which of them names this one.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::servers::{Entry, parse};
use crate::failure::Failure;
use crate::suggest::did_you_mean;

/// Where a project's file stands, seen from its directory.
const PLACES: [&str; 3] = [".mcp.json", "mcp.json", ".vscode/mcp.json"];

/// The largest file that is read, in bytes.
const LARGEST: u64 = 4 << 20;

/// Directories that are looked through at most.
const DEEPEST: usize = 64;

/// A server that a file names.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) entry: Entry,
    pub(crate) file: PathBuf,
}

impl Found {
    /// The directory that the file is for.
    pub(crate) fn workspace(&self) -> PathBuf {
        let directory = self.file.parent().unwrap_or(Path::new("."));
        let project = match directory.ends_with(".vscode") {
            true => directory.parent().unwrap_or(directory),
            false => directory,
        };
        let project = if project.as_os_str().is_empty() {
            Path::new(".")
        } else {
            project
        };
        std::path::absolute(project).unwrap_or_else(|_| project.to_owned())
    }
}

/// The server of that name in the given file, or else in the nearest project file that has it;
/// what was looked through in case that there is none.
pub(crate) fn lookup(name: &str, config: Option<&Path>) -> Result<Result<Found, Missing>, Failure> {
    let mut missing = Missing::default();
    let files = match config {
        Some(file) => vec![file.to_owned()],
        None => {
            let here = std::env::current_dir()
                .map_err(|error| Failure::new(format!("no current directory: {error}")))?;
            project_files(&here)
        }
    };
    for file in files {
        let mut servers = read(&file)?;
        if let Some(entry) = servers.remove(name) {
            let name = name.to_owned();
            return Ok(Ok(Found { name, entry, file }));
        }
        missing.names.extend(servers.into_keys());
        missing.files.push(file);
    }
    Ok(Err(missing))
}

/// Files that were looked through, and the servers that they have.
#[derive(Default)]
pub(crate) struct Missing {
    files: Vec<PathBuf>,
    names: Vec<String>,
}

impl Missing {
    /// The failure of a name that is in none of them.
    pub(crate) fn failure(&self, name: &str) -> Failure {
        let failure = Failure::usage(match &self.files[..] {
            [] => format!(
                "{name:?} is no URL, and no .mcp.json, mcp.json or .vscode/mcp.json is here"
            ),
            files => {
                let files: Vec<_> = files
                    .iter()
                    .map(|file| file.display().to_string())
                    .collect();
                format!("no server is named {name:?} in {}", files.join(", "))
            }
        });
        let names = || self.names.iter().map(String::as_str);
        match did_you_mean(name, names()) {
            Some(hint) => failure.hint(hint),
            None if self.names.is_empty() => failure
                .hint("a server is given as a URL, as a name from a file, or as `-- COMMAND ARGS`"),
            None => {
                let known: Vec<_> = names().take(20).collect();
                failure.hint(format!("there is {}", known.join(", ")))
            }
        }
    }
}

/// The files that are there, from `here` up to the root of its repository; without a repository
/// only here.
fn project_files(here: &Path) -> Vec<PathBuf> {
    let root = here
        .ancestors()
        .take(DEEPEST)
        .position(|up| up.join(".git").exists());
    here.ancestors()
        .take(root.map_or(1, |root| root + 1))
        .flat_map(|directory| PLACES.map(|place| directory.join(place)))
        .filter(|file| file.is_file())
        .collect()
}

fn read(file: &Path) -> Result<BTreeMap<String, Entry>, Failure> {
    let failed = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(|error| failed(error.to_string()))?;
    let read = opened.take(LARGEST + 1).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    match text.len() as u64 > LARGEST {
        true => Err(failed(format!("it has more than {LARGEST} bytes"))),
        false => parse(&text).map_err(failed),
    }
}
