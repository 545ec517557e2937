//! The tool at a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::support::{DEMO, command};

/// The time limit of waiting for output.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(30);

/// The tool, running at a pseudo-terminal of its own.
struct TerminalSession {
    child: Child,
    keyboard: File,
    screen: std::sync::mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl TerminalSession {
    fn start(words: &[&str], env: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("there is one");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it opens");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let path = std::ffi::OsStr::from_bytes(name.as_bytes());
        let slave = File::options()
            .read(true)
            .write(true)
            .open(path)
            .expect("it opens");
        let stdio = || Stdio::from(slave.try_clone().expect("it can be shared"));
        let child = command(&[words, &DEMO].concat())
            .envs(env.iter().copied())
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .expect("the tool runs");
        drop(slave);
        let keyboard = File::from(master);
        let mut output = keyboard.try_clone().expect("it can be shared");
        let (send, screen) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The end of a pseudo-terminal is an error.
            while let Ok(read @ 1..) = output.read(&mut piece) {
                if send.send(piece[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self {
            child,
            keyboard,
            screen,
            seen: String::new(),
        }
    }

    /// Waits for `text` and types `answer`.
    fn expect(&mut self, text: &str, answer: &str) {
        let until = Instant::now() + OUTPUT_TIMEOUT;
        while !self.seen.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(piece) => self.seen += &String::from_utf8_lossy(&piece),
                Err(_) => panic!("{text:?} was never seen in {:?}", self.seen),
            }
        }
        let after = self.seen.find(text).expect("it was seen") + text.len();
        self.seen.drain(..after);
        self.keyboard
            .write_all(answer.as_bytes())
            .expect("it takes keys");
    }

    /// Returns the remaining output and the exit code.
    fn end(mut self) -> (String, Option<i32>) {
        let status = self.child.wait().expect("it ends");
        while let Ok(piece) = self.screen.recv_timeout(OUTPUT_TIMEOUT) {
            self.seen += &String::from_utf8_lossy(&piece);
        }
        (self.seen, status.code())
    }
}

#[test]
fn a_form_is_filled_in_field_by_field_and_confirmed() {
    for era in ["modern", "legacy"] {
        let words = [
            "call",
            "test_elicitation",
            "message=Who are you?",
            "--era",
            era,
        ];
        let mut at = TerminalSession::start(&words, &[]);
        at.expect("Turnbuckle demo", "");
        at.expect("demo --stdio)", "");
        at.expect("Who are you?", "");
        at.expect("username", "");
        at.expect("> ", "Jane\n");
        at.expect("> ", "jane@example.com\n");
        at.expect("\"email\": \"jane@example.com\"", "");
        at.expect("Send this?", "y\n");
        let (seen, code) = at.end();
        assert!(
            seen.contains("action=accept, content={\"username\":\"Jane\""),
            "{seen:?}"
        );
        assert_eq!(code, Some(0));
    }
}

#[test]
fn an_invalid_value_is_asked_for_again() {
    let mut at = TerminalSession::start(&["call", "test_elicitation_sep1034_defaults"], &[]);
    at.expect("[John Doe] > ", "\n");
    at.expect("[30] > ", "old\n");
    at.expect("a number, please", "");
    at.expect("[30] > ", "2.5\n");
    at.expect("[30] > ", "31\n");
    at.expect("[95.5] > ", "\n");
    at.expect("2) inactive", "");
    at.expect("[active] > ", "2\n");
    at.expect("[yes] > ", "no\n");
    at.expect("Send this?", "\n");
    let (seen, code) = at.end();
    for part in [
        "\"age\":31",
        "\"status\":\"inactive\"",
        "\"verified\":false",
    ] {
        assert!(seen.contains(part), "{part}: {seen:?}");
    }
    assert_eq!(code, Some(0));
}

#[test]
fn a_form_can_be_declined_and_cancelled() {
    let mut at = TerminalSession::start(&["call", "test_elicitation", "message=m"], &[]);
    at.expect("> ", "a\n");
    at.expect("> ", "b@c.d\n");
    at.expect("Send this?", "n\n");
    assert!(at.end().0.contains("action=decline"));

    let mut at = TerminalSession::start(&["call", "test_elicitation", "message=m"], &[]);
    at.expect("> ", "\u{4}");
    assert!(at.end().0.contains("action=cancel"));
}

#[test]
fn the_user_answers_sampling_requests() {
    let words = [
        "call",
        "test_sampling",
        "prompt=Say something",
        "--caps",
        "sampling",
    ];
    let mut at = TerminalSession::start(&words, &[]);
    at.expect("Say something", "");
    at.expect("> ", "Something.\n");
    at.expect("> ", "\n");
    at.expect("Send this?", "\n");
    assert!(at.end().0.contains("LLM response: Something."));
}

#[test]
fn progress_is_drawn_and_cleared() {
    let (seen, code) = TerminalSession::start(&["call", "test_tool_with_progress"], &[]).end();
    assert!(seen.contains("50%"), "{seen:?}");
    assert!(
        seen.ends_with("\r\u{1b}[2KProgress went from 0 to 100.\r\n"),
        "{seen:?}"
    );
    assert_eq!(code, Some(0));
}

#[test]
fn colours_can_be_disabled() {
    let words = ["list", "tools"];
    let (seen, _) = TerminalSession::start(&words, &[]).end();
    assert!(seen.contains("\u{1b}[1mecho\u{1b}[0m"), "{seen:?}");
    for (words, env) in [
        (&["list", "tools"][..], &[("NO_COLOR", "1")][..]),
        (&["list", "tools"], &[("TERM", "dumb")]),
        (&["list", "tools", "--no-color"], &[]),
    ] {
        let (seen, _) = TerminalSession::start(words, env).end();
        assert!(!seen.contains('\u{1b}'), "{env:?}: {seen:?}");
    }
}

#[test]
fn json_is_formatted_on_a_terminal() {
    let (seen, _) =
        TerminalSession::start(&["call", "echo", "message=hi", "-o", "json"], &[]).end();
    assert!(seen.starts_with("{\r\n  \"content\": [\r\n"), "{seen:?}");
}

#[test]
fn an_interrupt_cancels_the_request_and_ends_the_server() {
    let words = ["call", "slow_echo", "seconds=60", "text=never", "--trace"];
    let scratch = crate::support::Scratch::new();
    let trace = scratch.name("trace");
    let at = TerminalSession::start(&[&words[..], &[&trace]].concat(), &[]);
    let until = Instant::now() + OUTPUT_TIMEOUT;
    let asked = || {
        std::fs::read_to_string(&trace)
            .unwrap_or_default()
            .contains("tools/call")
    };
    while !asked() {
        assert!(Instant::now() < until, "it never asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = Pid::from_child(&at.child);
    kill_process(pid, Signal::INT).expect("it is there");
    let (seen, code) = at.end();
    assert_eq!(code, Some(130));
    assert!(seen.contains("interrupted"), "{seen:?}");
    let text = std::fs::read_to_string(&trace).expect("it is there");
    assert!(text.contains("notifications/cancelled"), "{text}");
}
