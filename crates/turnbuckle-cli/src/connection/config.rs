//! Search for the configuration file that names a server.

mod directory;
#[cfg(test)]
#[cfg(unix)]
mod tests;

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use turnbuckle::servers::config::{ConfigFile, MAX_FILE_BYTES, ServerEntry, workspace_of};
use turnbuckle_types::base::nearest::did_you_mean;

use crate::error::CliError;
use crate::input::read_text_limited;
use directory::{Directory, Untrusted, open_untouched};

/// The configuration files that are searched in a directory: a directory in it, and the file.
const CONFIG_PLACES: [(Option<&str>, &str); 3] = [
    (None, ".mcp.json"),
    (None, "mcp.json"),
    (Some(".vscode"), "mcp.json"),
];

/// The most parent directories that are searched for the root of the repository.
const MAX_PARENT_DIRECTORIES: usize = 64;

/// A server entry with its name and the configuration file that has it.
#[derive(Debug)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    pub(crate) entry: ServerEntry,
    /// The configuration file that has the entry.
    pub(crate) file: PathBuf,
    /// The files before it that were not used, each with the reason.
    pub(crate) skipped: Vec<String>,
}

impl ConfiguredServer {
    /// Returns the project directory of the configuration file.
    pub(crate) fn workspace(&self) -> PathBuf {
        workspace_of(&self.file)
    }
}

/// Finds a server by name: in the file `config` if given, or else in the configuration files of the
/// current directory and its parents up to the root of the repository. Files that other users can
/// change are skipped: a server's command in them would run in the name of the user.
///
/// # Errors
/// The outer error: a file could not be read or parsed. The inner error: no file has a server of
/// that name.
pub(crate) fn find_server(
    name: &str,
    config: Option<&Path>,
) -> Result<Result<ConfiguredServer, ServerNotFound>, CliError> {
    let mut search = Search::default();
    let found = match config {
        Some(file) => {
            let opened = File::open(file).map_err(|error| unreadable(file, &error))?;
            search.look_in(name, file, opened)?
        }
        None => {
            let levels = std::env::current_dir()
                .and_then(|here| search_path(&here))
                .map_err(|error| CliError::new(format!("no current directory: {error}")))?;
            search.look_in_all(name, &levels)?
        }
    };
    Ok(found.ok_or(search.missing))
}

/// Returns the servers of the configuration files in the order in which the files are searched, the first
/// of each name.
///
/// # Errors
/// Fails if a file could not be read or parsed.
pub(super) fn all_servers(config: Option<&Path>) -> Result<Vec<ConfiguredServer>, CliError> {
    // No server has this name: all files are searched.
    let mut servers =
        find_server("", config)?.map_or_else(|missing| missing.servers, |_| Vec::new());
    let mut names = HashSet::new();
    servers.retain(|server| names.insert(server.name.clone()));
    Ok(servers)
}

/// Returns the names of the servers of the configuration files; none if a file cannot be used.
pub(crate) fn server_names(config: Option<&Path>) -> Vec<String> {
    let servers = all_servers(config).unwrap_or_default();
    servers.into_iter().map(|server| server.name).collect()
}

/// Opens the directories that are searched: from `here` up to the root of its repository, or only
/// `here` without a repository.
fn search_path(here: &Path) -> io::Result<Vec<Directory>> {
    let mut levels = vec![Directory::open(here)?];
    while let Some(level) = levels.last()
        && !level.is_repository()
    {
        match level.parent() {
            Some(parent) if levels.len() < MAX_PARENT_DIRECTORIES => levels.push(parent),
            _ => {
                levels.truncate(1);
                break;
            }
        }
    }
    Ok(levels)
}

/// A search for a server in configuration files.
#[derive(Default)]
struct Search {
    missing: ServerNotFound,
}

impl Search {
    /// Looks in the configuration files of all directories that are searched. A file counts if nobody
    /// else can change it, its directory, or a directory above that is searched: in there, the
    /// directory could be exchanged.
    fn look_in_all(
        &mut self,
        name: &str,
        levels: &[Directory],
    ) -> Result<Option<ConfiguredServer>, CliError> {
        for (number, level) in levels.iter().enumerate() {
            let above = || levels[number..].iter().try_for_each(Directory::check);
            for (folder, file_name) in CONFIG_PLACES {
                let folder = folder.map(Path::new);
                match open_config(level, folder, Path::new(file_name), above) {
                    Ok(None) => {}
                    Ok(Some((path, file))) => {
                        if let Some(found) = self.look_in(name, &path, file)? {
                            return Ok(Some(found));
                        }
                    }
                    Err(Untrusted { path, reason }) => {
                        let text = format!("{} is not used: {reason}", path.display());
                        if !self.missing.skipped.contains(&text) {
                            self.missing.skipped.push(text);
                        }
                    }
                }
            }
        }
        Ok(None)
    }

    /// Looks in one file, which was opened.
    fn look_in(
        &mut self,
        name: &str,
        path: &Path,
        file: File,
    ) -> Result<Option<ConfiguredServer>, CliError> {
        let text = read_text_limited(file, &path.display(), MAX_FILE_BYTES)?;
        let config = ConfigFile::parse(&text).map_err(|error| unreadable(path, &error))?;
        let mut servers = config.servers;
        if let Some(entry) = servers.remove(name) {
            return Ok(Some(ConfiguredServer {
                name: name.to_owned(),
                entry,
                file: path.to_owned(),
                skipped: std::mem::take(&mut self.missing.skipped),
            }));
        }
        let others = servers.into_iter().map(|(name, entry)| ConfiguredServer {
            name,
            entry,
            file: path.to_owned(),
            skipped: Vec::new(),
        });
        self.missing.servers.extend(others);
        self.missing.files.push(path.to_owned());
        Ok(None)
    }
}

/// Opens a configuration file in a directory, or in a folder of it; `None` if there is none. `above`
/// checks the directory and those above it.
fn open_config(
    level: &Directory,
    folder: Option<&Path>,
    name: &Path,
    above: impl FnOnce() -> Result<(), Untrusted>,
) -> Result<Option<(PathBuf, File)>, Untrusted> {
    let opened;
    let directory = match folder {
        None => level,
        Some(folder) => match level.subdirectory(folder)? {
            None => return Ok(None),
            Some(folder) => {
                opened = folder;
                &opened
            }
        },
    };
    let Some(file) = directory.file(name)? else {
        return Ok(None);
    };
    above()?;
    directory.check()?;
    Ok(Some((directory.path().join(name), file)))
}

/// Opens a file that a found configuration file names. Neither it nor a directory on its way may be
/// one that other users can change.
pub(crate) fn open_file_of_found_config(file: &Path, project: &Path) -> Result<File, CliError> {
    match open_untouched(file, project) {
        Ok(Some(opened)) => Ok(opened),
        Ok(None) => Err(unreadable(file, &"there is no such file")),
        Err(Untrusted { path, reason }) => {
            let path = path.display();
            Err(CliError::usage(format!("{path} is not used: {reason}")).hint(NAME_THE_FILE))
        }
    }
}

/// The advice for a file that is not used.
const NAME_THE_FILE: &str =
    "check what it says, and name the configuration file with `--config FILE`";

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> CliError {
    CliError::usage(format!("{}: {error}", file.display()))
}

/// The outcome of a search that found no server of the name.
#[derive(Default)]
pub(crate) struct ServerNotFound {
    /// The files that were searched.
    files: Vec<PathBuf>,
    /// The servers in these files.
    servers: Vec<ConfiguredServer>,
    /// The files that were not used, each with the reason.
    skipped: Vec<String>,
}

impl ServerNotFound {
    /// Returns the error for a name that no file has.
    pub(crate) fn to_error(&self, name: &str) -> CliError {
        let mut message = match &self.files[..] {
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
        };
        for skipped in &self.skipped {
            message += &format!("; {skipped}");
        }
        let failure = CliError::usage(message);
        let names = || self.servers.iter().map(|server| &*server.name);
        match did_you_mean(name, names()) {
            Some(hint) => failure.hint(hint),
            None if ["tools", "resources", "templates", "prompts"].contains(&name) => failure.hint(
                format!("the server comes first: `turnbuckle list SERVER {name}`"),
            ),
            None if !self.skipped.is_empty() => failure.hint(NAME_THE_FILE),
            None if self.servers.is_empty() => failure.hint(
                "give a URL, the name of a server in a configuration file, or `-- COMMAND ARGS`",
            ),
            None => {
                let names: Vec<_> = names().take(20).collect();
                failure.hint(format!("known servers: {}", names.join(", ")))
            }
        }
    }
}
