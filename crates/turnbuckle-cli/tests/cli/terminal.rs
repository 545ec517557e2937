//! The tool at a pseudo-terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::auth_demo::{AuthDemo, redirect_of};
use crate::support::{DEMO, command};

/// The time limit of waiting for output.
const OUTPUT_TIMEOUT: Duration = Duration::from_secs(30);

/// The tool, running at a pseudo-terminal of its own.
pub(crate) struct TerminalSession {
    child: Child,
    keyboard: File,
    screen: std::sync::mpsc::Receiver<Vec<u8>>,
    seen: String,
}

impl TerminalSession {
    /// Starts the tool with the demo as its server.
    pub(crate) fn start(words: &[&str], env: &[(&str, &str)]) -> Self {
        Self::start_alone(&[words, &DEMO].concat(), env)
    }

    /// Starts the tool without the demo as its server.
    pub(crate) fn start_alone(words: &[&str], env: &[(&str, &str)]) -> Self {
        Self::start_in(words, env, ".")
    }

    /// Starts the tool in a directory.
    pub(crate) fn start_in(words: &[&str], env: &[(&str, &str)], directory: &str) -> Self {
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
        let child = command(words)
            .envs(env.iter().copied())
            .current_dir(directory)
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
    pub(crate) fn expect(&mut self, text: &str, answer: &str) {
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

    /// Waits for `text` and the next URL after it, and returns the URL.
    fn expect_url(&mut self, text: &str) -> String {
        self.expect(text, "");
        self.expect("http://", "");
        let until = Instant::now() + OUTPUT_TIMEOUT;
        loop {
            if let Some((rest, _)) = self.seen.split_once(['\r', '\n', '\u{1b}']) {
                return format!("http://{rest}");
            }
            let left = until.saturating_duration_since(Instant::now());
            let piece = self.screen.recv_timeout(left).expect("the line ends");
            self.seen += &String::from_utf8_lossy(&piece);
        }
    }

    /// Returns the remaining output and the exit code.
    pub(crate) fn end(mut self) -> (String, Option<i32>) {
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
fn a_server_of_a_found_file_is_asked_about_once() {
    let scratch = crate::support::Scratch::new();
    let tool = serde_json::to_string(crate::support::TOOL).expect("it is text");
    let write = |mode: &str| {
        let text = format!(
            "{{\"mcpServers\": {{\"demo\": {{\"command\": {tool}, \"args\": [\"demo\", \"{mode}\"]}}}}}}"
        );
        scratch.file("project/.mcp.json", &text);
    };
    write("--stdio");
    let home = scratch.name("home");
    let env = ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"].map(|name| (name, &*home));
    let project = scratch.name("project");
    let start =
        || TerminalSession::start_in(&["call", "demo", "echo", "message=hi"], &env, &project);

    let mut at = start();
    at.expect("demo --stdio", "");
    at.expect("Use it? [y/N]", "n\n");
    assert_eq!(at.end().1, Some(2));
    let mut at = start();
    at.expect("Use it? [y/N]", "y\n");
    assert_eq!(at.end().1, Some(0));
    let (seen, code) = start().end();
    assert_eq!(code, Some(0));
    assert!(!seen.contains("Use it?"), "{seen:?}");
    // Another command is another question.
    write("--port=0");
    let mut at = start();
    at.expect("--port=0", "");
    at.expect("Use it? [y/N]", "\n");
    assert_eq!(at.end().1, Some(2));
}

#[test]
fn the_end_of_the_terminal_ends_a_server_that_never_answers() {
    let scratch = crate::support::Scratch::new();
    let file = scratch.name("pid");
    // The name appears once the whole number is in the file.
    let script = format!("echo $$ >{file}.new; mv {file}.new {file}; exec sleep 300");
    let at = TerminalSession::start_alone(&["info", "--", "sh", "-c", &script], &[]);
    let until = Instant::now() + OUTPUT_TIMEOUT;
    let server = loop {
        if let Ok(text) = std::fs::read_to_string(&file) {
            break Pid::from_raw(text.trim().parse().expect("it is a number")).expect("not 0");
        }
        assert!(Instant::now() < until, "the server never started");
        std::thread::sleep(Duration::from_millis(10));
    };
    kill_process(Pid::from_child(&at.child), Signal::HUP).expect("it is there");
    let (_, code) = at.end();
    assert_eq!(code, Some(130));
    while rustix::process::test_kill_process(server).is_ok() {
        assert!(Instant::now() < until, "the server was left behind");
        std::thread::sleep(Duration::from_millis(10));
    }
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

#[test]
fn a_shell_at_a_terminal_goes_on_after_errors_and_interrupts_until_its_end() {
    let scratch = crate::support::Scratch::new();
    let trace = scratch.name("trace");
    let mut at = TerminalSession::start(&["shell", "--trace", &trace], &[]);
    at.expect("connected to Turnbuckle demo", "");
    at.expect("turnbuckle> ", "call echo message=hi\n");
    at.expect("\nhi", "");
    at.expect("turnbuckle> ", "nonsense\n");
    at.expect("error: ", "");
    at.expect("turnbuckle> ", "call test_elicitation message=m\n");
    at.expect("username", "");
    at.expect("> ", "Jane\n");
    at.expect("> ", "jane@example.com\n");
    at.expect("Send this?", "y\n");
    at.expect("action=accept", "");
    at.expect("turnbuckle> ", "call slow_echo seconds=60 text=never\n");
    let until = Instant::now() + OUTPUT_TIMEOUT;
    let asked = || {
        std::fs::read_to_string(&trace)
            .unwrap_or_default()
            .contains("\"never\"")
    };
    while !asked() {
        assert!(Instant::now() < until, "it never asked");
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = Pid::from_child(&at.child);
    kill_process(pid, Signal::INT).expect("it is there");
    at.expect("interrupted", "");
    // While a line is typed Ctrl-C is a key, which drops the line.
    at.expect("turnbuckle> ", "begun\u{3}");
    at.expect("turnbuckle> ", "call echo message=still\n");
    at.expect("\nstill", "");
    at.expect("turnbuckle> ", "\u{4}");
    let (seen, code) = at.end();
    assert_eq!(code, Some(0), "{seen:?}");
    let text = std::fs::read_to_string(&trace).expect("it is there");
    assert!(text.contains("notifications/cancelled"), "{text}");
}

#[test]
fn a_shell_at_a_terminal_ends_by_other_signals_than_ctrl_c() {
    let mut at = TerminalSession::start(&["shell"], &[]);
    at.expect("turnbuckle> ", "");
    kill_process(Pid::from_child(&at.child), Signal::TERM).expect("it is there");
    assert_eq!(at.end().1, Some(130));
}

/// Returns a program that opens a URL and goes where that leads, as a browser does.
fn browser(demo: &AuthDemo) -> (String, String) {
    let opened = demo.home.name("opened");
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >> {opened}\n");
    let program = demo.home.file("browser", &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    std::fs::set_permissions(&program, mode).expect("it is ours");
    (program, opened)
}

/// Waits until the browser has opened `count` URLs, and follows the last one to the tool.
fn finish_login(opened: &str, count: usize) {
    let until = Instant::now() + OUTPUT_TIMEOUT;
    let url = loop {
        let urls = std::fs::read_to_string(opened).unwrap_or_default();
        if urls.ends_with('\n') && urls.lines().count() == count {
            break urls.lines().last().expect("there is one").to_owned();
        }
        assert!(Instant::now() < until, "no browser was started: {urls:?}");
        std::thread::sleep(Duration::from_millis(20));
    };
    follow(&url);
}

/// Opens a login page, and follows it to the tool.
fn follow(url: &str) {
    let callback = redirect_of(url);
    let rest = callback.strip_prefix("http://").expect("it is the tool");
    let (host, path) = rest.split_once('/').expect("it has a path");
    let mut stream = std::net::TcpStream::connect(host).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

#[test]
fn a_command_at_a_terminal_logs_in_and_asks_for_more_scopes() {
    let demo = AuthDemo::start();
    let (program, opened) = browser(&demo);
    let mut environment = demo.environment().to_vec();
    environment.push(("BROWSER", program));
    let environment: Vec<_> = environment.iter().map(|(n, v)| (*n, &**v)).collect();
    let words = ["call", &*demo.url, "write_note", "text=hi"];
    let mut session = TerminalSession::start_alone(&words, &environment);
    session.expect("The server asks for a login.", "");
    session.expect("Your browser opens the login page", "");
    finish_login(&opened, 1);
    // The tool needs another scope, for which the user is asked again.
    session.expect("The server asks for a login.", "");
    finish_login(&opened, 2);
    let (screen, code) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("The note was written."), "{screen}");

    let words = ["call", &*demo.url, "read_note"];
    let (screen, code) = TerminalSession::start_alone(&words, &environment).end();
    assert_eq!((screen.trim(), code), ("hi", Some(0)));
}

#[test]
fn the_first_line_after_a_login_belongs_to_the_form() {
    let demo = AuthDemo::start();
    let mut environment = demo.environment().to_vec();
    // There is no browser to open: the tool waits for the address of the last page, too.
    let variables = ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"];
    environment.extend(variables.map(|name| (name, String::new())));
    environment.push(("SSH_CONNECTION", "there".to_owned()));
    let environment: Vec<_> = environment.iter().map(|(n, v)| (*n, &**v)).collect();
    let words = ["call", &*demo.url, "test_elicitation", "message=m"];
    let mut at = TerminalSession::start_alone(&words, &environment);
    let url = at.expect_url("Open this page in a browser");
    at.expect("address: ", "");
    follow(&url);
    at.expect("username", "");
    at.expect("> ", "Jane\n");
    at.expect("> ", "jane@example.com\n");
    at.expect("Send this?", "y\n");
    let (seen, code) = at.end();
    assert!(seen.contains("{\"username\":\"Jane\""), "{seen:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn ci_is_never_asked_to_log_in() {
    let demo = AuthDemo::start();
    let (program, opened) = browser(&demo);
    let mut environment = demo.environment().to_vec();
    environment.extend([("BROWSER", program), ("CI", "true".to_owned())]);
    let environment: Vec<_> = environment.iter().map(|(n, v)| (*n, &**v)).collect();
    for words in [
        &["info", &*demo.url][..],
        &["info", &*demo.url, "--stored-auth-only"],
    ] {
        let environment = match words.len() {
            2 => &environment[..],
            _ => &environment[..4],
        };
        let (screen, code) = TerminalSession::start_alone(words, environment).end();
        assert_eq!(code, Some(3), "{screen}");
    }
    assert!(!std::path::Path::new(&opened).exists());
}

#[test]
fn a_token_at_a_terminal_comes_with_a_warning() {
    let demo = AuthDemo::start();
    let (program, opened) = browser(&demo);
    let mut environment = demo.environment().to_vec();
    environment.push(("BROWSER", program));
    let environment: Vec<_> = environment.iter().map(|(n, v)| (*n, &**v)).collect();
    let words = ["auth", "login", &*demo.url];
    let session = TerminalSession::start_alone(&words, &environment);
    finish_login(&opened, 1);
    let (screen, code) = session.end();
    assert_eq!(code, Some(0), "{screen}");
    let words = ["auth", "token", &*demo.url];
    let (screen, code) = TerminalSession::start_alone(&words, &environment).end();
    assert_eq!(code, Some(0), "{screen}");
    assert!(
        screen.contains("warning: whoever reads this token"),
        "{screen}"
    );
}
