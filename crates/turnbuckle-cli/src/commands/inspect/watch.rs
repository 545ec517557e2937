//! Noticing that the files of a program have changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::connection::Target;
use crate::error::CliError;

/// The time between two looks at the files.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The most files that are looked at, and the deepest directory below a path that was named.
const MAX_FILES: usize = 10_000;
const MAX_DEPTH: usize = 16;

/// Directories that tools write into, and whose contents nobody edits.
const SKIPPED_DIRECTORIES: [&str; 3] = ["node_modules", "target", "__pycache__"];

/// The time of the last change of each file, and its size.
type Snapshot = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// The files of a program: its executable, the files among its arguments, and the paths that the user
/// named.
pub(super) struct Watch {
    program: Option<PathBuf>,
    paths: Vec<PathBuf>,
    last: Snapshot,
    /// The file that has changed, while changes go on.
    changed: Option<PathBuf>,
}

impl Watch {
    /// Creates a watch of a target and the paths of `--watch`, of which empty ones stand for none.
    ///
    /// # Errors
    /// Fails for a URL, and if a path does not exist.
    pub(super) fn new(target: &Target, named: &[OsString]) -> Result<Self, CliError> {
        let Target::Command {
            program, args, cwd, ..
        } = target
        else {
            return Err(
                CliError::usage("a server at a URL is not started from here")
                    .hint("`--watch` needs the command of a server after `--`"),
            );
        };
        let directory = cwd.clone().unwrap_or_default();
        let program = find_program(Path::new(program), &directory);
        let mut paths: Vec<_> = program.iter().cloned().collect();
        let files = args.iter().map(|arg| directory.join(arg));
        paths.extend(files.filter(|path| path.is_file()));
        for path in named.iter().filter(|path| !path.is_empty()) {
            let path = PathBuf::from(path);
            if !path.exists() {
                let path = path.display();
                return Err(CliError::usage(format!("`--watch`: there is no {path}")));
            }
            paths.push(path);
        }
        let last = take_snapshot(&paths);
        Ok(Self {
            program,
            paths,
            last,
            changed: None,
        })
    }

    /// Returns a file that has changed, once no file changes any more: compilers write a file in pieces.
    pub(super) fn poll(&mut self) -> Option<PathBuf> {
        let now = take_snapshot(&self.paths);
        if now != self.last {
            let is_new = |(path, state): &(&PathBuf, _)| self.last.get(*path) != Some(*state);
            let changed = now.iter().find(is_new).map(|(path, _)| path.clone());
            self.changed = self
                .changed
                .take()
                .or(changed)
                .or_else(|| self.program.clone());
            self.last = now;
            return None;
        }
        if self
            .program
            .as_ref()
            .is_some_and(|program| !program.exists())
        {
            return None;
        }
        self.changed.take()
    }
}

/// Returns the file of a program, which a name without a directory has in `PATH`.
fn find_program(program: &Path, directory: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return Some(directory.join(program));
    }
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).map(|place| place.join(program));
    places.into_iter().find(|place| place.is_file())
}

fn take_snapshot(paths: &[PathBuf]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for path in paths {
        add(path, 0, &mut snapshot);
    }
    snapshot
}

/// Adds a file, or the files of a directory. Links below a path that was named are not followed.
fn add(path: &Path, depth: usize, snapshot: &mut Snapshot) {
    let found = match depth {
        0 => path.metadata(),
        _ => path.symlink_metadata(),
    };
    let Ok(found) = found else { return };
    if snapshot.len() >= MAX_FILES || depth > MAX_DEPTH {
        return;
    }
    if found.is_file() {
        snapshot.insert(path.to_owned(), (found.modified().ok(), found.len()));
    }
    if !found.is_dir() {
        return;
    }
    for entry in path.read_dir().into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with('.') && !SKIPPED_DIRECTORIES.contains(&&*name) {
            add(&entry.path(), depth + 1, snapshot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(args: &[&str]) -> Target {
        Target::Command {
            program: "sh".into(),
            args: args.iter().map(OsString::from).collect(),
            env: BTreeMap::new(),
            env_file: None,
            cwd: None,
            entry: None,
        }
    }

    #[test]
    fn a_change_is_reported_once_the_files_are_still() {
        let directory =
            std::env::temp_dir().join(format!("turnbuckle-watch-{}", std::process::id()));
        let below = directory.join("src/node_modules");
        std::fs::create_dir_all(&below).unwrap();
        let (script, source) = (directory.join("server.sh"), directory.join("src/a.txt"));
        std::fs::write(&script, "1").unwrap();
        let target = program(&[script.to_str().unwrap()]);
        let mut watch =
            Watch::new(&target, &[OsString::new(), directory.join("src").into()]).unwrap();
        assert_eq!(watch.poll(), None);
        std::fs::write(&script, "12").unwrap();
        assert_eq!(watch.poll(), None);
        std::fs::write(&script, "123").unwrap();
        assert_eq!(watch.poll(), None);
        assert_eq!(watch.poll(), Some(script.clone()));
        assert_eq!(watch.poll(), None);
        std::fs::write(below.join("x"), "1").unwrap();
        std::fs::write(directory.join("beside"), "1").unwrap();
        assert_eq!((watch.poll(), watch.poll()), (None, None));
        std::fs::write(&source, "1").unwrap();
        assert_eq!((watch.poll(), watch.poll()), (None, Some(source)));
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn only_programs_and_paths_that_exist_are_watched() {
        let missing = [OsString::from("/nonexistent/path")];
        assert!(Watch::new(&program(&[]), &missing).is_err());
        let url = Target::Url {
            url: "http://127.0.0.1/mcp".into(),
            headers: BTreeMap::new(),
            sse: false,
            entry: None,
        };
        assert!(Watch::new(&url, &[]).is_err());
    }
}
