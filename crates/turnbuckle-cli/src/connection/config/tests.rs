use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

/// A directory that is removed at the end of a test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("turnbuckle-config-{}-{number}", std::process::id());
        let path = std::env::temp_dir()
            .canonicalize()
            .expect("the file system works")
            .join(name);
        fs::create_dir(&path).expect("the file system works");
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn directory(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.path(name)).expect("the file system works");
        self.path(name)
    }

    /// Writes a configuration file that has one server.
    fn config(&self, name: &str, server: &str) {
        let text = format!(r#"{{"servers": {{"{server}": {{"command": "x"}}}}}}"#);
        fs::create_dir_all(self.path(name).parent().expect("the file system works"))
            .expect("the file system works");
        fs::write(self.path(name), text).expect("the file system works");
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode))
            .expect("the file system works");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Searches from a directory, and returns the file that has the server, or what the error says.
fn find(here: &Path, server: &str) -> Result<PathBuf, String> {
    find_on(&search_path(here).expect("it is there"), server)
}

fn find_on(levels: &[Directory], server: &str) -> Result<PathBuf, String> {
    let mut search = Search::default();
    match search.look_in_all(server, levels).expect("they are valid") {
        Some(found) => Ok(found.file),
        None => Err(search.missing.to_error(server).text().to_owned()),
    }
}

#[test]
fn a_file_is_read_from_the_directory_that_was_checked() {
    let scratch = Scratch::new();
    scratch.config("project/.vscode/mcp.json", "mine");
    scratch.config("evil/mcp.json", "evil");
    let levels = search_path(&scratch.path("project")).unwrap();
    let folder = Some(Path::new(".vscode"));
    let (_, mut file) = open_config(&levels[0], folder, Path::new("mcp.json"), || Ok(()))
        .unwrap()
        .unwrap();
    fs::rename(scratch.path("project/.vscode"), scratch.path("old")).unwrap();
    fs::rename(scratch.path("evil"), scratch.path("project/.vscode")).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    assert!(text.contains("mine"), "{text}");
}

#[test]
fn a_project_that_is_exchanged_after_it_was_opened_is_not_read() {
    let scratch = Scratch::new();
    scratch.config("project/.vscode/mcp.json", "mine");
    scratch.config("evil/.vscode/mcp.json", "evil");
    let levels = search_path(&scratch.path("project")).unwrap();
    fs::rename(scratch.path("project"), scratch.path("old")).unwrap();
    fs::rename(scratch.path("evil"), scratch.path("project")).unwrap();
    assert!(find_on(&levels, "mine").is_ok());
    assert!(find_on(&levels, "evil").is_err());
}

#[test]
fn a_directory_on_the_way_that_others_can_write_spoils_the_files_below_it_alone() {
    let scratch = Scratch::new();
    scratch.directory("repository/.git");
    scratch.config("repository/.mcp.json", "above");
    scratch.config("repository/shared/mine/.vscode/mcp.json", "below");
    let here = scratch.path("repository/shared/mine");
    assert!(find(&here, "below").is_ok());
    for (directory, server) in [
        ("repository/shared/mine/.vscode", "below"),
        ("repository/shared/mine", "below"),
        ("repository/shared", "below"),
        ("repository", "above"),
    ] {
        scratch.set_mode(directory, 0o777);
        let error = find(&here, server).unwrap_err();
        let path = scratch.path(directory);
        let reason = format!("{} is not used: other users can change it", path.display());
        assert!(error.contains(&reason), "{directory}: {error}");
        let other = if server == "above" { "none" } else { "above" };
        assert_eq!(find(&here, other).is_ok(), other == "above", "{directory}");
        // Names in a sticky directory are safe, as in /tmp.
        scratch.set_mode(directory, 0o1777);
        assert!(find(&here, server).is_ok(), "{directory}");
        scratch.set_mode(directory, 0o755);
    }
}

#[test]
fn links_pipes_and_files_that_others_can_write_are_skipped() {
    let scratch = Scratch::new();
    scratch.config("other/mcp.json", "linked");
    scratch.config("project/.vscode/mcp.json", "good");
    let file = scratch.path("project/.mcp.json");
    let here = scratch.path("project");
    let skipped = |reason: &str| {
        let error = find(&here, "none").unwrap_err();
        assert!(error.contains(reason), "{error}");
        assert!(find(&here, "good").is_ok());
        assert!(find(&here, "linked").is_err());
        fs::remove_file(&file).unwrap();
    };
    symlink(scratch.path("other/mcp.json"), &file).unwrap();
    skipped("it is a symbolic link");
    let fifo = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(fifo.unwrap().success());
    skipped("it is not a regular file");
    for mode in [0o646, 0o666] {
        scratch.config("project/.mcp.json", "linked");
        scratch.set_mode("project/.mcp.json", mode);
        skipped("other users can change it");
    }
    scratch.directory("elsewhere");
    symlink(scratch.path("other"), scratch.path("elsewhere/.vscode")).unwrap();
    let error = find(&scratch.path("elsewhere"), "linked").unwrap_err();
    assert!(error.contains("it is a symbolic link"), "{error}");
}

#[test]
fn a_found_file_over_the_limit_is_refused() {
    let scratch = Scratch::new();
    let text = format!(r#"{{"servers": {{}}}}{}"#, " ".repeat(4 << 20));
    fs::write(scratch.path("mcp.json"), text).unwrap();
    let levels = search_path(&scratch.0).unwrap();
    let error = Search::default().look_in_all("x", &levels).unwrap_err();
    assert!(error.text().contains("larger than 4194304 bytes"));
}

#[test]
fn files_that_a_found_file_names_are_opened_by_the_same_rule() {
    let scratch = Scratch::new();
    let project = scratch.directory("project");
    let open = |name: &str| {
        open_file_of_found_config(&scratch.path(name), &project).map_err(|error| error.to_string())
    };
    for name in ["project/a/b/.env", "outside/.env"] {
        scratch.config(name, "x");
        assert!(open(name).is_ok(), "{name}");
    }
    assert!(open("project/../outside/.env").is_ok());
    for directory in ["project", "project/a", "project/a/b"] {
        scratch.set_mode(directory, 0o777);
        let error = open("project/a/b/.env").unwrap_err();
        assert!(error.contains("other users can change it"), "{error}");
        assert!(error.contains("--config"), "{error}");
        scratch.set_mode(directory, 0o755);
    }
    scratch.set_mode("outside", 0o777);
    assert!(open("outside/.env").is_err());
    symlink(scratch.path("outside/.env"), project.join("link")).unwrap();
    assert!(open("project/link").is_err());
    assert!(open("project/none").unwrap_err().contains("no such file"));
}
