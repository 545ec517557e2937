//! Servers as child processes: their environment, messages, standard error and shutdown.

// The state of processes is read from /proc.
#![cfg(target_os = "linux")]
// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

#[path = "support/child.rs"]
mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use support::{Client, Event, TIMEOUT, is_dead, is_gone, sh, timeouts, until};
use tokio::time::timeout;
use turnbuckle_session::transport::{
    Connector, Frame, Inbox, LinkError, OutboundKind, OutboundMessage, SendFuture,
};
use turnbuckle_stdio::{Command, StderrMode};
use turnbuckle_types::RequestId;

const TIMEOUT_MS: u64 = TIMEOUT.as_millis() as u64;

/// The lines that a server wrote to standard error.
#[derive(Clone, Default)]
struct CapturedLines(Arc<Mutex<Vec<String>>>);

impl CapturedLines {
    fn sink(&self) -> StderrMode {
        let captured = self.clone();
        StderrMode::lines(move |line| captured.0.lock().unwrap().push(line.to_owned()))
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Returns a message of that many bytes.
fn message(bytes: usize) -> OutboundMessage {
    OutboundMessage {
        frame: vec![b'x'; bytes],
        kind: OutboundKind::Notification,
        headers: Vec::new(),
    }
}

#[tokio::test]
async fn a_program_is_run_for_its_output_and_nothing_of_it_stays() {
    let name = format!("turnbuckle-stdio-output-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    let pids = || -> Vec<u32> {
        let lines = fs::read_to_string(&file).unwrap_or_default();
        lines.lines().map(|line| line.parse().unwrap()).collect()
    };
    // What it has started holds its output open.
    let run =
        |script| sh(&format!("sleep 600 & echo $! >> \"$PIDS\"; {script}")).env("PIDS", &file);
    let quick = run("printf done; exit 3");
    let (status, output) = timeout(TIMEOUT, quick.output(4)).await.unwrap().unwrap();
    assert_eq!((status.code(), &*output), (Some(3), &b"done"[..]));
    let long = run("printf more-; wait");
    let error = timeout(TIMEOUT, long.output(4)).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "it prints more than 4 bytes");
    let endless = run("wait");
    tokio::select! {
        ended = endless.output(4) => panic!("{ended:?}"),
        () = until(|| pids().len() == 3) => {}
    }
    until(|| pids().into_iter().all(is_dead)).await;
    fs::remove_file(&file).unwrap();
}

// requirement: 86e547620ef5
#[tokio::test]
async fn messages_go_there_and_back() {
    let mut client = Client::open(&Command::new("cat")).await;
    for text in ["{\"a\":1}", "[2]"] {
        client.send(text).await.unwrap();
        assert_eq!(client.line().await, text);
    }
    client.close().await;
    assert!(matches!(client.send("late").await, Err(LinkError::Closed)));
    assert!(client.events.try_recv().is_err());
}

#[tokio::test]
async fn lines_over_the_bound_are_reported() {
    let mut client =
        Client::open(&sh("echo 12345678; echo 123456789; cat").max_message_bytes(8)).await;
    assert_eq!(client.line().await, "12345678");
    let event = client.event().await;
    assert!(matches!(event, Event::Frame(Frame::TooLong { limit: 8 })));
}

/// Returns the number of bytes that a link takes for a server that reads nothing, until a sender
/// would have to wait.
async fn count_taken_bytes(server: &Command) -> usize {
    const MESSAGE: usize = 100_000;
    let client = Client::open(server).await;
    let (mut taken, mut idle) = (0, 0);
    // Enough turns for the task that moves the bytes.
    while idle < 10_000 {
        match client.link.try_send(message(MESSAGE)) {
            Ok(()) => (taken, idle) = (taken + MESSAGE, 0),
            Err(_) => idle += 1,
        }
        tokio::task::yield_now().await;
    }
    taken
}

#[tokio::test]
async fn the_bytes_that_wait_for_a_server_are_limited() {
    let deaf = || sh("sleep 60").shutdown(timeouts(50, 50));
    for (server, queue) in [
        (deaf().max_queue_bytes(1 << 20), 1 << 20),
        (deaf(), 16 << 20),
    ] {
        let taken = count_taken_bytes(&server).await;
        // The queue and what its transport was given, as much again, each with a message that is over
        // the line; and what the pipe holds.
        assert!((2 * queue..2 * queue + 400_000).contains(&taken), "{taken}");
    }
}

#[tokio::test]
async fn the_end_of_a_process_is_reported_with_its_last_standard_error() {
    let mut client = Client::open(&sh("echo '{}'; echo no key >&2; exit 3")).await;
    assert_eq!(client.line().await, "{}");
    let end = client.exit_details().await;
    assert_eq!(end, ("exit status: 3".into(), "no key".into()));
    let late = client.send("late").await.unwrap_err();
    assert!(matches!(late, LinkError::Unreachable { .. }), "{late:?}");
    assert!(late.to_string().contains("no key"), "{late}");
    client.close().await;
    assert!(client.events.try_recv().is_err());
}

#[tokio::test]
async fn a_signal_is_reported() {
    let mut client = Client::open(&sh("kill -9 $$")).await;
    assert!(client.exit_details().await.0.contains("signal: 9"));
}

#[tokio::test]
async fn a_server_that_only_closes_its_output_is_lost_and_ended() {
    let server = sh("echo $$; exec >&-; cat; sleep 60").shutdown(timeouts(50, TIMEOUT_MS));
    let mut client = Client::open(&server).await;
    let pid = client.pid().await;
    assert!(matches!(
        client.lost().await,
        LinkError::ConnectionLost { .. }
    ));
    until(|| is_gone(pid)).await;
}

/// An inbox that checks, when the link fails, whether a pending send had failed before.
#[derive(Default)]
struct First(Mutex<Option<SendFuture>>, Mutex<Option<bool>>);

impl Inbox for First {
    fn receive(&self, _: Frame, _: Option<&RequestId>) {}

    fn is_pending(&self, _: &RequestId) -> bool {
        false
    }

    fn fail(&self, _: LinkError) {
        let mut carrying = self.0.lock().unwrap();
        let carried = carrying.as_mut().map(|carrying| {
            let mut cx = Context::from_waker(Waker::noop());
            carrying.as_mut().poll(&mut cx).is_ready()
        });
        *self.1.lock().unwrap() = carried;
    }
}

#[tokio::test]
async fn a_loss_is_reported_before_a_send_fails() {
    let inbox = Arc::new(First::default());
    let server = sh("exec >&-; sleep 60").shutdown(timeouts(50, 50));
    let link = server.open(inbox.clone()).await.unwrap();
    // The output has ended, and it is not yet clear whether the process has.
    until(|| link.try_send(message(2)).is_err()).await;
    *inbox.0.lock().unwrap() = Some(link.send(message(2)));
    until(|| inbox.1.lock().unwrap().is_some()).await;
    assert_eq!(*inbox.1.lock().unwrap(), Some(false));
    let carrying = inbox.0.lock().unwrap().take().unwrap();
    let refused = timeout(TIMEOUT, carrying).await.unwrap();
    assert!(matches!(refused, Err(LinkError::Unreachable { .. })));
}

#[tokio::test]
async fn a_closed_link_reports_no_loss() {
    let server = sh("echo ready; exec >&-; cat; sleep 60").shutdown(timeouts(50, TIMEOUT_MS));
    let mut client = Client::open(&server).await;
    client.line().await;
    // The output's end is seen, and it is not yet clear whether the process has ended too.
    tokio::time::sleep(Duration::from_millis(100)).await;
    client.close().await;
    assert!(client.events.recv().await.is_none());
}

#[tokio::test]
async fn error_output_goes_where_it_should() {
    let ours = fs::read_link("/proc/self/fd/2").unwrap();
    let whereto = "readlink /proc/self/fd/2";
    let mut client = Client::open(&sh(whereto).stderr(StderrMode::Inherit)).await;
    assert_eq!(client.line().await, ours.to_str().unwrap());
    let mut client = Client::open(&sh(whereto).stderr(StderrMode::Null)).await;
    assert_eq!(client.line().await, "/dev/null");

    let captured = CapturedLines::default();
    let server = sh("echo one >&2; printf two >&2").stderr(captured.sink());
    let (_, last) = Client::open(&server).await.exit_details().await;
    assert_eq!(captured.lines(), ["one", "two"]);
    assert_eq!(last, "one\ntwo");

    let server = sh("echo first >&2; echo last >&2").stderr(StderrMode::Capture(6));
    assert_eq!(Client::open(&server).await.exit_details().await.1, "last");
}

#[tokio::test]
async fn standard_error_never_blocks_a_server() {
    let server = sh("head -c 4000000 /dev/zero >&2; cat");
    let mut client = Client::open(&server).await;
    client.send("{}").await.unwrap();
    assert_eq!(client.line().await, "{}");
    client.close().await;
}

// requirement: 0426242f3192 4c28c9e122a5 4d070c6160b5 6c4b4a8a3d30
#[tokio::test]
async fn a_polite_server_ends_with_its_input() {
    let captured = CapturedLines::default();
    let server = sh("echo $$; cat; echo bye >&2")
        .stderr(captured.sink())
        .shutdown(timeouts(TIMEOUT_MS, TIMEOUT_MS));
    let mut client = Client::open(&server).await;
    let pid = client.pid().await;
    assert!(client.close().await < TIMEOUT / 2);
    assert!(is_gone(pid));
    assert_eq!(captured.lines(), ["bye"]);
    assert!(client.events.try_recv().is_err());
}

#[tokio::test]
async fn messages_before_the_close_arrive() {
    let captured = CapturedLines::default();
    let mut client = Client::open(&sh("echo ready; cat >&2").stderr(captured.sink())).await;
    client.line().await;
    client.send("{}").await.unwrap();
    client.close().await;
    assert_eq!(captured.lines(), ["{}"]);
}

#[tokio::test]
async fn a_server_may_write_during_its_shutdown() {
    let captured = CapturedLines::default();
    let server = sh("echo ready; cat; head -c 200000 /dev/zero && echo bye >&2")
        .stderr(captured.sink())
        .shutdown(timeouts(TIMEOUT_MS, TIMEOUT_MS));
    let mut client = Client::open(&server).await;
    client.line().await;
    client.close().await;
    assert_eq!(captured.lines(), ["bye"]);
}

// requirement: 6c4b4a8a3d30 7ded80ed1907
#[tokio::test]
async fn a_deaf_server_is_asked_to_end() {
    let captured = CapturedLines::default();
    let deaf = "while :; do sleep 0.02; done";
    let script = format!(
        "(trap 'echo inner >&2; exit' TERM; echo ready; {deaf}) &
         trap 'echo outer >&2; wait; exit' TERM; echo ready; {deaf}"
    );
    let server = sh(&script)
        .stderr(captured.sink())
        .shutdown(timeouts(100, TIMEOUT_MS));
    let mut client = Client::open(&server).await;
    assert_eq!([client.line().await, client.line().await], ["ready"; 2]);
    let took = client.close().await;
    assert!(
        took >= Duration::from_millis(100) && took < TIMEOUT / 2,
        "{took:?}"
    );
    let mut lines = captured.lines();
    // Some shells report the end of their children.
    lines.retain(|line| line != "Terminated");
    lines.sort();
    assert_eq!(lines, ["inner", "outer"]);
}

// requirement: 5f43537b76a9 7ded80ed1907 dae3004926a7
#[tokio::test]
async fn a_stubborn_server_is_killed() {
    let server =
        sh("trap '' TERM; echo $$; while :; do sleep 0.02; done").shutdown(timeouts(100, 150));
    let mut client = Client::open(&server).await;
    let pid = client.pid().await;
    let took = client.close().await;
    assert!(
        took >= Duration::from_millis(250) && took < Duration::from_secs(2),
        "{took:?}"
    );
    assert!(is_gone(pid));
}

#[tokio::test]
async fn a_server_that_never_reads_cannot_hold_up_the_close() {
    let client = Client::open(&sh("sleep 60").shutdown(timeouts(50, 50))).await;
    client.send(&"x".repeat(1 << 20)).await.unwrap();
    assert!(client.close().await < TIMEOUT / 2);
}

#[tokio::test]
async fn the_children_of_a_server_end_with_it() {
    // The leader ends with its input, by itself, and by force.
    for end in [
        "cat",
        "exit 3",
        "trap '' TERM; while :; do sleep 0.02; done",
    ] {
        let server = sh(&format!("sleep 60 & echo $!; {end}")).shutdown(timeouts(100, 100));
        let mut client = Client::open(&server).await;
        let grandchild = client.pid().await;
        if end == "exit 3" {
            assert_eq!(client.exit_details().await.0, "exit status: 3");
        }
        client.close().await;
        until(|| is_dead(grandchild)).await;
    }
}

#[tokio::test]
async fn the_end_is_seen_while_another_process_holds_a_pipe_open() {
    let mut client = Client::open(&sh("setsid sleep 60 & echo $!; sleep 0.1; exit 3")).await;
    let stranger = client.pid().await;
    assert!(!is_dead(stranger));
    assert_eq!(client.exit_details().await.0, "exit status: 3");
    let let_go = timeout(TIMEOUT, client.events.recv()).await;
    assert!(let_go.expect("the inbox is let go").is_none());
    assert!(client.close().await < TIMEOUT / 2);
    // It has left the process group, and so is not killed.
    assert!(!is_dead(stranger));
    let stranger = rustix::process::Pid::from_raw(stranger.try_into().unwrap()).unwrap();
    rustix::process::kill_process(stranger, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn dropping_a_link_kills_at_once() {
    let server = sh("trap '' TERM; sleep 60 & echo $!; echo $$; wait");
    let mut client = Client::open(&server).await;
    let (grandchild, pid) = (client.pid().await, client.pid().await);
    let start = Instant::now();
    drop(client.link);
    until(|| is_gone(pid) && is_dead(grandchild)).await;
    assert!(start.elapsed() < Duration::from_secs(1));
    // No loss is reported.
    assert!(client.events.recv().await.is_none());
}

#[tokio::test]
async fn a_shutdown_outlives_its_link() {
    let captured = CapturedLines::default();
    let server = sh("echo $$; cat; sleep 0.2; echo bye >&2").stderr(captured.sink());
    let mut client = Client::open(&server).await;
    let pid = client.pid().await;
    let closing = client.link.close();
    drop(client);
    closing.await;
    assert!(is_gone(pid));
    assert_eq!(captured.lines(), ["bye"]);
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Starts a server that ends only when it is killed, and a child of it. Returns both process ids.
async fn stubborn() -> (Client, u32, u32) {
    let script = "trap '' TERM; sleep 60 & echo $$; echo $!; while :; do :; done";
    let mut client = Client::open(&sh(script)).await;
    let (pid, grandchild) = (client.pid().await, client.pid().await);
    (client, pid, grandchild)
}

#[test]
fn dropping_a_link_needs_no_runtime() {
    let asleep = runtime();
    let (client, pid, grandchild) = asleep.block_on(stubborn());
    drop(client);
    runtime().block_on(until(|| is_dead(pid) && is_dead(grandchild)));
    asleep.block_on(until(|| is_gone(pid)));
}

#[test]
fn a_runtime_that_ends_takes_its_servers_along() {
    let ending = runtime();
    let (client, pid, grandchild) = ending.block_on(stubborn());
    drop(ending);
    runtime().block_on(until(|| is_dead(pid) && is_dead(grandchild)));
    drop(client);
}

#[tokio::test]
async fn few_variables_are_inherited_by_default() {
    // Cargo sets it for tests.
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    let say =
        sh("echo ${CARGO_MANIFEST_DIR+seen} ${PATH+path} $MINE $OTHER").envs([("OTHER", "o")]);
    let say = say.env("MINE", "mine");
    assert_eq!(Client::open(&say).await.line().await, "path mine o");
    let say = say.inherit_env(true);
    assert_eq!(Client::open(&say).await.line().await, "seen path mine o");
}

#[tokio::test]
async fn a_server_runs_in_the_directory_that_was_set() {
    let mut client = Client::open(&Command::new("pwd").current_dir("/")).await;
    assert_eq!(client.line().await, "/");
}

#[tokio::test]
async fn the_error_of_a_command_that_cannot_run_has_advice() {
    let script = std::env::temp_dir().join(format!("turnbuckle-child-{}", std::process::id()));
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let plain = Command::new(&script);
    let cases = [
        (
            Command::new("no-such-program"),
            "no-such-program: there is no such program in PATH",
        ),
        (Command::new("/no/such/file"), "there is no such file"),
        (
            Command::new("cat").current_dir("/no/such/place"),
            "no directory /no/such/place",
        ),
        (plain.clone(), "may not be executed"),
    ];
    for (command, words) in cases {
        assert_unreachable(&command, words).await;
    }
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    assert_unreachable(&plain, "interpreter").await;
    fs::remove_file(&script).unwrap();
}

async fn assert_unreachable(command: &Command, words: &str) {
    match Client::try_open(command).await {
        Err(LinkError::Unreachable { reason }) => assert!(reason.contains(words), "{reason}"),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{command:?} runs"),
    }
}

#[test]
fn secrets_are_not_shown() {
    let command = Command::new("server")
        .args(["--token", "abc", "x y"])
        .env("API", "abc");
    assert_eq!(command.description(), "server --token … 'x y'");
    let debug = format!("{command:?}");
    assert!(debug.contains("API") && !debug.contains("abc"), "{debug}");
}
