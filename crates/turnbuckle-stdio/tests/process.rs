//! A server on the standard streams of a process of its own.

#![cfg(unix)]
// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/message.rs"]
mod message;

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use message::{initialize, initialized, legacy, modern, text_of};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Far longer than any step of these tests takes.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The runtimes and places that the example `small` knows.
const PLACES: [&str; 4] = ["current", "threads", "current-task", "threads-task"];

/// Returns a command that runs the example `small`, which is built with the tests, at a place.
fn command(place: &str) -> Command {
    let mut path: PathBuf = std::env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.push("small");
    assert!(
        path.exists(),
        "build the examples first: {}",
        path.display()
    );
    let mut command = Command::new(path);
    command.arg(place);
    command
}

struct Server {
    process: Child,
    /// Closing it is the end of the server's input.
    input: Option<Box<dyn Write>>,
    lines: Receiver<String>,
}

impl Server {
    /// Starts `command` with its streams connected as it says; ours are the other ends.
    fn start(
        mut command: Command,
        input: impl Write + 'static,
        output: impl Read + Send + 'static,
    ) -> Self {
        let process = command.spawn().unwrap();
        // Our copies of the server's ends.
        drop(command);
        Self {
            process,
            input: Some(Box::new(input)),
            lines: lines(output),
        }
    }

    fn send(&mut self, text: &str) {
        self.input
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    fn receive(&self) -> Value {
        let line = self.lines.recv_timeout(TIMEOUT).expect("an answer in time");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    fn ask(&mut self, text: &str) -> Value {
        self.send(text);
        self.receive()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// Returns the exit status and the time until the process has ended.
    fn end(mut self) -> (ExitStatus, Duration) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.process.try_wait().unwrap() {
                let rest = self.lines.recv_timeout(TIMEOUT);
                assert_eq!(rest, Err(RecvTimeoutError::Disconnected), "no more output");
                return (status, start.elapsed());
            }
            assert!(start.elapsed() < TIMEOUT, "the process does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn close(mut self) -> (ExitStatus, Duration) {
        self.input = None;
        self.end()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the lines of `output` as they are written.
fn lines(output: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            if sender.send(line.unwrap()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Starts a server on two pipes, and returns it with its standard error.
fn start_piped(place: &str) -> (Server, Receiver<String>) {
    let (input, writer) = std::io::pipe().unwrap();
    let (reader, output) = std::io::pipe().unwrap();
    let (log, stderr) = std::io::pipe().unwrap();
    let mut command = command(place);
    command.stdin(input).stdout(output).stderr(stderr);
    (Server::start(command, writer, reader), lines(log))
}

fn is_nonblocking(fd: impl AsFd) -> bool {
    fcntl_getfl(fd).unwrap().contains(OFlags::NONBLOCK)
}

/// Sends requests of both eras, with a handler that prints among them.
fn converse(server: &mut Server) {
    assert_eq!(text_of(&server.ask(&modern(1, "echo"))), r#"{"id":1}"#);
    assert_eq!(text_of(&server.ask(&modern(2, "print"))), "printed");
    server.ask(&initialize(3, "2025-11-25"));
    server.send(&initialized());
    assert_eq!(text_of(&server.ask(&legacy(4, "print"))), "printed");
    assert_eq!(text_of(&server.ask(&legacy(5, "echo"))), r#"{"id":5}"#);
    // More than a pipe or a socket holds.
    let long = modern(6, "echo").replace(r#"{"id":6}"#, &format!("\"{}\"", "x".repeat(3 << 20)));
    assert_eq!(text_of(&server.ask(&long)).len(), (3 << 20) + 2);
}

// requirement: 69b7bfae298c
#[test]
fn over_pipes_only_messages_reach_the_output() {
    for place in PLACES {
        let (mut server, log) = start_piped(place);
        converse(&mut server);
        let (status, took) = server.close();
        assert!(status.success(), "{status}");
        assert!(took < Duration::from_millis(500), "{took:?}");
        let log: Vec<String> = log.iter().collect();
        let printed = "printed by a handler";
        assert_eq!(
            log,
            [printed, &format!("and not ended{printed}"), "and not ended"]
        );
    }
}

#[test]
fn over_a_socket_for_each_stream() {
    for place in PLACES {
        let (input, writer) = UnixStream::pair().unwrap();
        let (reader, output) = UnixStream::pair().unwrap();
        let mut command = command(place);
        command
            .stdin(OwnedFd::from(input))
            .stdout(OwnedFd::from(output))
            .stderr(Stdio::null());
        let mut server = Server::start(command, writer, reader);
        converse(&mut server);
        let (status, took) = server.close();
        assert!(status.success(), "{status}");
        assert!(took < Duration::from_millis(500), "{took:?}");
    }
}

#[test]
fn over_one_socket_for_both_streams_whose_mode_is_put_back() {
    for place in PLACES {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let kept = theirs.try_clone().unwrap();
        let mut command = command(place);
        command
            .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
            .stdout(OwnedFd::from(theirs))
            .stderr(Stdio::null());
        let mut server = Server::start(
            command,
            ours.try_clone().unwrap(),
            ours.try_clone().unwrap(),
        );
        converse(&mut server);
        assert!(is_nonblocking(&kept), "the mode is changed");
        ours.shutdown(std::net::Shutdown::Write).unwrap();
        let status = wait(&mut server);
        assert!(status.success(), "{status}");
        assert!(!is_nonblocking(&kept), "the mode is put back");
    }
}

#[test]
fn the_mode_of_a_pipe_is_put_back() {
    for place in PLACES {
        let (input, writer) = std::io::pipe().unwrap();
        let (reader, output) = std::io::pipe().unwrap();
        let kept = [
            input.try_clone().unwrap().into(),
            OwnedFd::from(output.try_clone().unwrap()),
        ];
        let mut command = command(place);
        command.stdin(input).stdout(output).stderr(Stdio::null());
        let mut server = Server::start(command, writer, reader);
        server.ask(&modern(1, "echo"));
        assert!(kept.iter().all(is_nonblocking), "the modes are changed");
        server.input = None;
        let status = wait(&mut server);
        assert!(status.success(), "{status}");
        assert!(!kept.iter().any(is_nonblocking), "the modes are put back");
    }
}

/// Waits for the process, for tests that hold the server's output open themselves.
fn wait(server: &mut Server) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = server.process.try_wait().unwrap() {
            return status;
        }
        assert!(start.elapsed() < TIMEOUT, "the process does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn over_files_everything_is_answered_before_it_ends() {
    for place in PLACES {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let (requests, answers) = (dir.join("requests"), dir.join("answers"));
        let text: String = (0..2_000)
            .map(|id| modern(id, "print") + &modern(id + 10_000, "echo"))
            .collect();
        std::fs::write(&requests, text).unwrap();
        let status = command(place)
            .stdin(File::open(&requests).unwrap())
            .stdout(File::create(&answers).unwrap())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
        let answers = std::fs::read_to_string(&answers).unwrap();
        let ids = answers
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["id"].clone());
        let expected = (0..2_000).flat_map(|id| [id, id + 10_000]);
        assert!(ids.eq(expected), "each is answered, in order");
    }
}

#[test]
fn nothing_is_printed_to_a_standard_error_that_is_the_output() {
    for place in PLACES {
        let (input, writer) = std::io::pipe().unwrap();
        let (reader, output) = std::io::pipe().unwrap();
        let mut command = command(place);
        command
            .stdin(input)
            .stderr(output.try_clone().unwrap())
            .stdout(output);
        let mut server = Server::start(command, writer, reader);
        converse(&mut server);
        let (status, _) = server.close();
        assert!(status.success(), "{status}");
    }
}

/// A reader whose first read is delayed.
struct DelayedReader<R>(Option<Duration>, R);

impl<R: Read> Read for DelayedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if let Some(wait) = self.0.take() {
            std::thread::sleep(wait);
        }
        self.1.read(buffer)
    }
}

#[test]
fn a_write_of_a_thread_is_complete_at_the_end() {
    for place in PLACES {
        let (input, writer) = std::io::pipe().unwrap();
        let (reader, output) = std::io::pipe().unwrap();
        let mut command = command(place);
        // Standard error shares the output, so that a thread writes it.
        command
            .stdin(input)
            .stderr(output.try_clone().unwrap())
            .stdout(output);
        // More than the pipe holds, and no more than the pipe and the thread do.
        let text = "x".repeat(100_000);
        let late = DelayedReader(Some(Duration::from_millis(200)), reader);
        let mut server = Server::start(command, writer, late);
        server.send(&modern(1, "echo").replace(r#"{"id":1}"#, &format!("\"{text}\"")));
        server.input = None;
        assert_eq!(text_of(&server.receive()).len(), text.len() + 2);
        let (status, _) = server.end();
        assert!(status.success(), "{status}");
    }
}

#[test]
fn a_handler_cannot_read_the_input() {
    for place in PLACES {
        let (mut server, _log) = start_piped(place);
        server.send(&modern(1, "read"));
        server.send(&modern(2, "echo"));
        assert_eq!(text_of(&server.receive()), "read Ok(0) bytes");
        assert_eq!(text_of(&server.receive()), r#"{"id":2}"#);
    }
}

#[test]
fn a_signal_ends_it_at_once() {
    for (place, signal) in PLACES
        .into_iter()
        .zip([Signal::TERM, Signal::INT].into_iter().cycle())
    {
        let (mut server, _log) = start_piped(place);
        server.send(&modern(1, "never"));
        server.ask(&modern(2, "echo"));
        server.signal(signal);
        let (status, took) = server.end();
        assert!(status.success(), "{status}");
        assert!(took < Duration::from_millis(500), "{took:?}");
    }
}

#[test]
fn a_signal_ends_the_server_while_its_output_is_not_read() {
    for place in PLACES {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut command = command(place);
        command
            .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
            .stdout(OwnedFd::from(theirs));
        command.stderr(Stdio::null());
        let mut server = Server::start(command, ours.try_clone().unwrap(), std::io::empty());
        ours.set_write_timeout(Some(Duration::from_millis(200)))
            .unwrap();
        let line = modern(1, "echo");
        while (&ours).write_all(line.as_bytes()).is_ok() {}
        server.signal(Signal::TERM);
        let start = Instant::now();
        let status = wait(&mut server);
        assert!(status.success(), "{status}");
        assert!(
            start.elapsed() < Duration::from_millis(500),
            "{:?}",
            start.elapsed()
        );
    }
}

#[test]
fn a_thread_that_waits_for_input_does_not_delay_the_exit() {
    for place in PLACES {
        let (input, writer) = std::io::pipe().unwrap();
        let (reader, output) = std::io::pipe().unwrap();
        let kept = input.try_clone().unwrap();
        // Another process has set the mode.
        fcntl_setfl(&kept, fcntl_getfl(&kept).unwrap() | OFlags::NONBLOCK).unwrap();
        let mut command = command(place);
        // Standard error shares the input, so that it is not polled.
        command
            .stderr(input.try_clone().unwrap())
            .stdin(input)
            .stdout(output);
        let mut server = Server::start(command, writer, reader);
        assert_eq!(server.ask(&modern(1, "echo"))["id"], 1);
        assert!(!is_nonblocking(&kept), "a thread reads it");
        server.signal(Signal::TERM);
        let (status, took) = server.end();
        assert!(status.success(), "{status}");
        assert!(took < Duration::from_millis(500), "{took:?}");
        assert!(is_nonblocking(&kept), "the mode is put back");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_takes_nothing_is_an_error() {
    for place in PLACES {
        let (input, mut writer) = std::io::pipe().unwrap();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let child = command(place)
            .stdin(input)
            .stdout(full)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writer.write_all(modern(1, "echo").as_bytes()).unwrap();
        drop(writer);
        let ended = child.wait_with_output().unwrap();
        assert!(!ended.status.success(), "{}", ended.status);
        let text = String::from_utf8(ended.stderr).unwrap();
        assert!(text.contains("StorageFull"), "{text}");
    }
}

#[test]
fn a_closed_connection_is_not_an_error() {
    for place in PLACES {
        let (mut server, _log) = start_piped(place);
        server.ask(&modern(1, "echo"));
        let (_, closed) = channel();
        server.lines = closed;
        // The thread that reads the output ends with the next line, which nobody wants.
        for id in 2..100 {
            if server
                .input
                .as_mut()
                .unwrap()
                .write_all(modern(id, "echo").as_bytes())
                .is_err()
            {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let status = wait(&mut server);
        assert!(status.success(), "{status}");
    }
}
