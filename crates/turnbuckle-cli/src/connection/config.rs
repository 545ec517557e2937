//! Search for the configuration file that names a server.

use std::path::{Path, PathBuf};

use turnbuckle::servers::config::{ConfigFile, ServerEntry, workspace_of};

use crate::error::CliError;
use turnbuckle_types::base::nearest::did_you_mean;

/// The configuration files that are searched, relative to a directory.
const CONFIG_PATHS: [&str; 3] = [".mcp.json", "mcp.json", ".vscode/mcp.json"];

/// The most parent directories that are searched for the root of the repository.
const MAX_PARENT_DIRECTORIES: usize = 64;

/// A server entry with its name and the configuration file that has it.
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    pub(crate) entry: ServerEntry,
    /// The configuration file that has the entry.
    pub(crate) file: PathBuf,
}

impl ConfiguredServer {
    /// Returns the project directory of the configuration file.
    pub(crate) fn workspace(&self) -> PathBuf {
        workspace_of(&self.file)
    }
}

/// Finds a server by name: in the file `config` if given, or else in the configuration files of the
/// current directory and its parents up to the root of the repository.
///
/// # Errors
/// The outer error: a file could not be read or parsed. The inner error: no file has a server of
/// that name.
pub(crate) fn find_server(
    name: &str,
    config: Option<&Path>,
) -> Result<Result<ConfiguredServer, ServerNotFound>, CliError> {
    let mut missing = ServerNotFound::default();
    let files = match config {
        Some(file) => vec![file.to_owned()],
        None => {
            let here = std::env::current_dir()
                .map_err(|error| CliError::new(format!("no current directory: {error}")))?;
            project_files(&here)
        }
    };
    for file in files {
        if config.is_none() {
            check_owner(&file)?;
        }
        let config = ConfigFile::read(&file);
        let mut servers = config
            .map_err(|error| CliError::usage(error.to_string()))?
            .servers;
        if let Some(entry) = servers.remove(name) {
            let name = name.to_owned();
            return Ok(Ok(ConfiguredServer { name, entry, file }));
        }
        missing.names.extend(servers.into_keys());
        missing.files.push(file);
    }
    Ok(Err(missing))
}

/// The outcome of a search that found no server of the name.
#[derive(Default)]
pub(crate) struct ServerNotFound {
    /// The files that were searched.
    files: Vec<PathBuf>,
    /// The names of the servers in these files.
    names: Vec<String>,
}

impl ServerNotFound {
    /// Returns the error for a name that no file has.
    pub(crate) fn to_error(&self, name: &str) -> CliError {
        let failure = CliError::usage(match &self.files[..] {
            [] => format!(
                "{name:?} is not a URL, and there is no .mcp.json, mcp.json or .vscode/mcp.json"
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
            None if self.names.is_empty() => failure.hint(
                "give a URL, the name of a server in a configuration file, or `-- COMMAND ARGS`",
            ),
            None => {
                let names: Vec<_> = names().take(20).collect();
                failure.hint(format!("known servers: {}", names.join(", ")))
            }
        }
    }
}

/// Returns the existing configuration files from `here` up to the root of its repository; without a
/// repository, only those of `here`.
fn project_files(here: &Path) -> Vec<PathBuf> {
    let root = here
        .ancestors()
        .take(MAX_PARENT_DIRECTORIES)
        .position(|up| up.join(".git").exists());
    here.ancestors()
        .take(root.map_or(1, |root| root + 1))
        .flat_map(|directory| CONFIG_PATHS.map(|place| directory.join(place)))
        .filter(|file| file.is_file())
        .collect()
}

/// Refuses a file that other users of this machine can change: a server's command in it would run in
/// the name of the user.
#[cfg(unix)]
fn check_owner(file: &Path) -> Result<(), CliError> {
    use std::os::unix::fs::MetadataExt as _;

    const WRITABLE_BY_GROUP: u32 = 0o020;
    const WRITABLE_BY_ALL: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let refused = |path: &Path, why: &str| {
        CliError::usage(format!("{} is not used: {why}", path.display()))
            .hint("check what it says, and name it with `--config FILE`")
    };
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    let directory = file.parent().filter(|path| !path.as_os_str().is_empty());
    for path in [Some(file), directory].into_iter().flatten() {
        let metadata = std::fs::metadata(path)
            .map_err(|error| CliError::usage(format!("{}: {error}", path.display())))?;
        let mode = metadata.mode();
        // In a sticky directory such as /tmp nobody can replace the file of another.
        let is_sticky = metadata.is_dir() && mode & STICKY != 0;
        if metadata.uid() != user && metadata.uid() != 0 {
            return Err(refused(path, "it belongs to another user"));
        }
        // The user's own group has nobody else in it.
        let by_group = mode & WRITABLE_BY_GROUP != 0 && metadata.gid() != group;
        if (by_group || mode & WRITABLE_BY_ALL != 0) && !is_sticky {
            return Err(refused(path, "other users can change it"));
        }
    }
    Ok(())
}

/// Windows keeps the owner of a file in access lists, which the first use of a server's command does
/// not depend on: the user is asked.
#[cfg(not(unix))]
fn check_owner(_: &Path) -> Result<(), CliError> {
    Ok(())
}
