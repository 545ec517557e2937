//! A PostgreSQL of its own for a test.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::port::ReservedPort;
use crate::process::Running;
use crate::program::find_program;

/// The time within which PostgreSQL accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The user `nobody` of Debian, as whom PostgreSQL runs if the test runs as root: it refuses root.
const NOBODY: u32 = 65534;

/// A PostgreSQL on a Unix socket in a folder of its own. It writes nothing through to the disk: its state
/// outlives the server, but not the machine.
#[derive(Debug)]
pub struct PostgresServer {
    folder: tempfile::TempDir,
    /// The port on 127.0.0.1 beside the socket.
    port: Option<ReservedPort>,
    running: Option<Running>,
}

impl PostgresServer {
    /// Creates a database and starts PostgreSQL.
    ///
    /// # Panics
    /// If PostgreSQL is missing, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let mut server = Self::create();
        server.run();
        server
    }

    /// Creates a database and starts PostgreSQL, on a port of 127.0.0.1 as well.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_on_port() -> Self {
        let mut server = Self::create();
        server.port = Some(ReservedPort::new().unwrap());
        server.run();
        server
    }

    /// Creates a database.
    fn create() -> Self {
        let server = Self {
            folder: tempfile::tempdir().unwrap(),
            port: None,
            running: None,
        };
        if geteuid().is_root() {
            chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let model = server.model();
        if !model.exists() {
            server.make_database();
            // Another test may make it at the same time: the first that is whole stays.
            let copy = tempfile::tempdir_in(model.parent().unwrap()).unwrap();
            copy_folder(&server.data(), &copy.path().join("data"));
            let _ = fs::rename(copy.path().join("data"), model);
        } else {
            copy_folder(&model, &server.data());
        }
        server
    }

    /// Returns the place of a new database that tests copy, which takes a tenth of the time of making one. It is
    /// one for each `initdb` and user.
    fn model(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp");
        fs::create_dir_all(&folder).unwrap();
        let version = self.command("initdb").arg("--version").output().unwrap();
        let version = String::from_utf8_lossy(&version.stdout);
        let version = version.replace(|it: char| !it.is_ascii_alphanumeric(), "-");
        folder.join(format!("database-{version}-{}", geteuid().as_raw()))
    }

    /// Makes a database with `initdb`.
    fn make_database(&self) {
        let made = self
            .command("initdb")
            .args([
                "-U",
                "turnbuckle",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C",
            ])
            .args(["--no-sync", "-D"])
            .arg(self.data())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb failed: {errors}");
    }

    /// Starts PostgreSQL again after [`stop`](Self::stop), with what it held.
    ///
    /// # Panics
    /// If PostgreSQL does not start.
    pub fn run(&mut self) {
        let host = if self.port.is_some() { "127.0.0.1" } else { "" };
        let mut running = Running::start(
            self.command("postgres")
                .arg("-D")
                .arg(self.data())
                .arg("-k")
                .arg(self.folder.path())
                .args(["-c", "fsync=off", "-c", &format!("listen_addresses={host}")])
                .args(["-p", &self.port_number().to_string()])
                .stdout(Stdio::null())
                .stderr(fs::File::create(self.log()).unwrap()),
        );
        let start = Instant::now();
        let state = self.data().join("postmaster.pid");
        while !fs::read_to_string(&state).is_ok_and(|text| text.contains("ready")) {
            let log = || fs::read_to_string(self.log()).unwrap_or_default();
            assert!(running.is_alive(), "postgres has ended: {}", log());
            assert!(
                start.elapsed() < START_TIMEOUT,
                "postgres does not start: {}",
                log()
            );
            thread::sleep(Duration::from_millis(5));
        }
        self.running = Some(running);
    }

    /// Returns the address of a database of this server: `postgres` is there from the start.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        let folder = self.folder.path().display();
        let port = self.port_number();
        format!("host={folder} port={port} user=turnbuckle dbname={database}")
    }

    /// Returns the URL of a database of this server.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.path().display().to_string().replace('/', "%2F");
        let port = self.port_number();
        format!("postgres://turnbuckle@{folder}:{port}/{database}")
    }

    /// Returns the port on 127.0.0.1.
    ///
    /// # Panics
    /// If the server was not started on one.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.as_ref().expect("the server has no port").number()
    }

    /// Returns the port, which is part of the name of the Unix socket as well.
    fn port_number(&self) -> u16 {
        self.port.as_ref().map_or(5432, ReservedPort::number)
    }

    /// Writes a file that the user of PostgreSQL alone may read, and returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn write_file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        if geteuid().is_root() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        path
    }

    /// Returns the path of the log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    /// Halts PostgreSQL with all its processes, which keep their connections and answer nothing.
    ///
    /// # Panics
    /// If PostgreSQL was stopped.
    pub fn pause(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets a halted PostgreSQL go on.
    ///
    /// # Panics
    /// If PostgreSQL was stopped.
    pub fn resume(&self) {
        self.signal_all(Signal::CONT);
    }

    /// Ends PostgreSQL at once, as a crash does. What was committed is there after [`run`](Self::run).
    pub fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // Unlike SIGKILL, this leaves no shared memory.
            running.end(Signal::QUIT);
        }
    }

    fn signal_all(&self, signal: Signal) {
        let server = self.running.as_ref().expect("postgres was stopped").pid();
        // The server first: it starts no process meanwhile.
        kill_process(server, signal).unwrap();
        for child in children(server) {
            let _ = kill_process(child, signal);
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a command of PostgreSQL, for a user that is not root.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(find_program(name));
        command.current_dir(self.folder.path());
        if geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if self.running.is_some() {
            self.resume();
        }
        self.stop();
    }
}

/// Copies a folder with the owners and modes of its files.
fn copy_folder(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(
        copied.unwrap().success(),
        "{} is not copied",
        from.display()
    );
}

/// Returns the processes whose parent this one is.
fn children(parent: Pid) -> Vec<Pid> {
    let processes = fs::read_dir("/proc").expect("processes are found in /proc");
    let is_child = |path: &Path| {
        let stat = fs::read_to_string(path.join("stat")).unwrap_or_default();
        // Behind the name, which may hold spaces: the state and the parent.
        let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
        fields.split_whitespace().nth(1) == Some(&parent.as_raw_nonzero().to_string())
    };
    let mut found = Vec::new();
    for process in processes.flatten() {
        let number = process.file_name().to_string_lossy().parse().ok();
        if let Some(pid) = number
            .and_then(Pid::from_raw)
            .filter(|_| is_child(&process.path()))
        {
            found.push(pid);
        }
    }
    found
}
