//! The demo behind a login, and logins without a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{Run, Scratch, command};

/// The demo behind a login, and a user with a credential store of their own.
pub(crate) struct AuthDemo {
    child: Child,
    pub(crate) url: String,
    pub(crate) issuer: String,
    pub(crate) home: Scratch,
}

impl AuthDemo {
    pub(crate) fn start() -> Self {
        let mut child = command(&["demo", "--auth", "--auto-approve", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the demo runs");
        let banner = BufReader::new(child.stdout.take().expect("it has an output"));
        let mut urls = banner
            .lines()
            .map(|line| line.expect("it says where it is"))
            .filter(|line| line.starts_with("http://"));
        let url = urls.next().expect("there is an endpoint");
        let issuer = urls.next().expect("there is an authorization server");
        Self {
            child,
            url,
            issuer,
            home: Scratch::new(),
        }
    }

    /// Returns a command of the user.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = command(words);
        for (name, value) in self.environment() {
            command.env(name, value);
        }
        command
    }

    /// Returns the variables that lead to the user's credential store.
    pub(crate) fn environment(&self) -> [(&'static str, String); 3] {
        let home = self.home.path().to_str().expect("it is UTF-8");
        ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"].map(|name| (name, home.to_owned()))
    }

    pub(crate) fn run(&self, words: &[&str]) -> Run {
        Run::new(self.command(words).output().expect("the tool runs"))
    }

    /// Runs a command that logs in without a browser: opens its URL, and pastes where that leads.
    pub(crate) fn log_in(&self, words: &[&str]) -> LoggedIn {
        let command = self.command(&[words, &["--no-browser"]].concat());
        LoggedIn::run(command, redirect_of)
    }

    pub(crate) fn token(&self) -> String {
        let token = self.run(&["auth", "token", &self.url]).ends(0);
        assert_eq!(token.out.lines().count(), 1, "{token:#?}");
        token.out.trim().to_owned()
    }
}

impl Drop for AuthDemo {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that logged in, and the URL of its login page.
pub(crate) struct LoggedIn {
    pub(crate) run: Run,
    url: String,
}

impl LoggedIn {
    /// Runs a command that prints the URL of a login page, and pastes what `open` makes of it.
    pub(crate) fn run(mut command: Command, open: impl FnOnce(&str) -> String) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool runs");
        let mut err = BufReader::new(child.stderr.take().expect("it has an output"));
        let mut seen = String::new();
        let url = loop {
            let before = seen.len();
            assert_ne!(err.read_line(&mut seen).expect("it is UTF-8"), 0, "{seen}");
            let line = seen[before..].trim();
            if line.starts_with("http://") {
                break line.to_owned();
            }
        };
        let mut input = child.stdin.take().expect("it has an input");
        // The first text belongs to another login, and is refused.
        writeln!(input, "http://127.0.0.1/callback?code=x&state=x").expect("it reads");
        writeln!(input, "{}", open(&url)).expect("it reads");
        err.read_to_string(&mut seen).expect("it is UTF-8");
        let output = child.wait_with_output().expect("it ends");
        let run = Run {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("it is UTF-8"),
            err: seen,
        };
        Self { run, url }
    }

    /// Returns a parameter of the login page's URL.
    pub(crate) fn parameter(&self, name: &str) -> String {
        parameter(&self.url, name)
    }
}

/// Returns a parameter of a URL.
pub(crate) fn parameter(url: &str, name: &str) -> String {
    let (_, query) = url.split_once('?').expect("it has a query");
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.find(|(key, _)| *key == name).expect("it is there").1;
    value
        .replace("%3A", ":")
        .replace("%2F", "/")
        .replace('+', " ")
}

/// Returns the `Location` of the response to a GET.
pub(crate) fn redirect_of(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("it is plain HTTP");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(host).expect("it listens");
    write!(
        stream,
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    let mut headers = response.lines().filter_map(|line| line.split_once(": "));
    let location = headers.find(|(name, _)| name.eq_ignore_ascii_case("location"));
    location
        .unwrap_or_else(|| panic!("{response}"))
        .1
        .to_owned()
}
