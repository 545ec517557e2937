//! A Redis of its own for a test.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::process::Running;
use crate::program::find_program;

/// The time within which Redis accepts connections.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A Redis on a Unix socket in a folder of its own, which saves nothing.
#[derive(Debug)]
pub struct RedisServer {
    folder: tempfile::TempDir,
    arguments: Vec<String>,
    running: Option<Running>,
}

impl RedisServer {
    /// Starts Redis.
    ///
    /// # Panics
    /// If Redis is missing, or does not start.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts Redis with further arguments.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let mut server = Self {
            folder: tempfile::tempdir().unwrap(),
            arguments: arguments.iter().map(ToString::to_string).collect(),
            running: None,
        };
        server.run();
        server
    }

    /// Starts Redis again after [`stop`](Self::stop). What it held is lost, unless its arguments say
    /// otherwise.
    ///
    /// # Panics
    /// If Redis does not start.
    pub fn run(&mut self) {
        let path = |path: &Path| path.display().to_string();
        let mut running = Running::start(
            Command::new(find_program("redis-server"))
                .args(["--port", "0", "--save", "", "--appendonly", "no"])
                .args(["--unixsocket", &path(&self.socket())])
                .args(["--dir", &path(self.folder.path())])
                .args(&self.arguments)
                .stdout(Stdio::null()),
        );
        let start = Instant::now();
        while UnixStream::connect(self.socket()).is_err() {
            assert!(running.is_alive(), "redis-server has ended");
            assert!(
                start.elapsed() < START_TIMEOUT,
                "redis-server does not listen"
            );
            thread::sleep(Duration::from_millis(5));
        }
        self.running = Some(running);
    }

    /// Returns the path of the socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("unix:{}", self.socket().display())
    }

    /// Sends a command and returns the answer as Redis writes it: for few bytes.
    ///
    /// # Panics
    /// If Redis does not answer.
    #[must_use]
    pub fn ask(&self, command: &str) -> String {
        let mut stream = UnixStream::connect(self.socket()).unwrap();
        stream
            .write_all(format!("{command}\r\nQUIT\r\n").as_bytes())
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Returns the process.
    ///
    /// # Panics
    /// If Redis was stopped.
    #[must_use]
    pub fn process(&self) -> &Running {
        self.running.as_ref().expect("redis-server was stopped")
    }

    /// Kills Redis: connections are cut, and what it held is lost.
    pub fn stop(&mut self) {
        self.running = None;
    }
}
