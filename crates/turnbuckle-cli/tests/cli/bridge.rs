//! The bridge: a server over another transport, and the life of its commands.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::ops::Deref;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::peers::legacy_server;
use crate::serving::{Issuer, Serving, initialize, open, open_post, post, read};
use crate::support::{DEMO, HttpDemo, Run, Scratch, TOOL, command, run};

/// The time in which a process has to end.
const SOON: Duration = Duration::from_secs(10);

/// A bridge over HTTP at a free port.
struct Bridge(Serving);

impl Deref for Bridge {
    type Target = Serving;

    fn deref(&self) -> &Serving {
        &self.0
    }
}

impl Bridge {
    /// Starts a bridge with these options to this server.
    fn start(options: &[&str], server: &[&str]) -> Self {
        let words = [&["bridge", "--port", "0"], options, server].concat();
        Self(Serving::start(command(&words)))
    }

    /// Starts a bridge to a legacy server in `sh` with these functions.
    fn to_script(options: &[&str], functions: &str) -> Self {
        let script = legacy_server(functions);
        Self::start(options, &["--", "sh", "-c", &script])
    }

    /// Returns the commands of servers that run.
    fn servers(&self) -> Vec<u32> {
        let children = children_of(self.id());
        let is_server = |pid: &u32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            !String::from_utf8_lossy(&line).contains("turnbuckle-orphan-guard")
        };
        children.into_iter().filter(is_server).collect()
    }

    /// Waits until so many commands of servers run.
    fn wait_for_servers(&self, count: usize) {
        self.wait_for_servers_within(count, SOON);
    }

    /// Waits until so many commands of servers run, for this time at most.
    fn wait_for_servers_within(&self, count: usize, time: Duration) {
        let deadline = Instant::now() + time;
        while self.servers().len() != count {
            assert!(
                Instant::now() < deadline,
                "{:?}, not {count}",
                self.servers()
            );
            sleep(Duration::from_millis(20));
        }
    }

    /// Returns the resident memory of the bridge in bytes.
    fn resident_bytes(&self) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
        number.expect("it has memory") << 10
    }
}

/// Returns the processes that a process has started.
fn children_of(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let lists = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids = lists.flat_map(|list| {
        let pids = list
            .split_whitespace()
            .map(|pid| pid.parse().expect("a number"));
        pids.collect::<Vec<u32>>()
    });
    pids.collect()
}

/// Waits until a process is gone, or not yet reaped.
fn wait_for_end(pid: u32) {
    let deadline = Instant::now() + SOON;
    let runs = |pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')')
            .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    };
    while runs(pid) {
        assert!(Instant::now() < deadline, "the process {pid} runs");
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_command_is_served_over_http_and_a_url_on_standard_streams_in_both_eras() {
    let bridge = Bridge::start(&[], &DEMO);
    let demo = HttpDemo::start();
    let pipe = ["--", TOOL, "bridge", &demo.url, "--stdio"];
    for era in ["legacy", "modern"] {
        let options = ["echo", "message=hi", "--era", era];
        assert_eq!(bridge.call(&options).ends(0).out, "hi\n");
        let piped = run(&[&["call"], &options[..], &pipe[..]].concat()).ends(0);
        assert_eq!(piped.out, "hi\n");
    }
}

#[test]
fn an_idle_command_ends_and_the_next_call_starts_another() {
    let bridge = Bridge::to_script(&["--idle", "1s"], "call() { text $$; }");
    let first = bridge.call(&["t"]).ends(0).out;
    bridge.wait_for_servers(0);
    let second = bridge.call(&["t"]).ends(0).out;
    assert_ne!(first, second);
}

#[test]
fn a_session_that_ends_takes_its_command_with_it() {
    let bridge = Bridge::to_script(&["--idle", "1h"], "call() { text $$; }");
    // The tool ends its session when it ends.
    let first = bridge.call(&["t", "--era", "legacy"]).ends(0).out;
    bridge.wait_for_servers(0);
    let second = bridge.call(&["t", "--era", "legacy"]).ends(0).out;
    assert_ne!(first, second);
}

#[test]
fn commands_end_with_a_bridge_that_is_killed_also_those_that_ignore_signals() {
    let stubborn = "trap '' TERM HUP INT; sleep 1000 & call() { text $!; }; ";
    let mut bridge = Bridge::to_script(&["--mode", "shared"], stubborn);
    let forked: u32 = bridge
        .call(&["t"])
        .ends(0)
        .out
        .trim()
        .parse()
        .expect("a process");
    let servers = bridge.servers();
    assert_eq!(servers.len(), 1);
    bridge.0.kill();
    let began = Instant::now();
    servers.into_iter().for_each(wait_for_end);
    wait_for_end(forked);
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_pool_bounds_the_commands_of_many_sessions() {
    let bridge = Bridge::to_script(&["--mode", "pool:2"], "call() { text $$; }");
    let calls: Vec<_> = (0..8)
        .map(|_| {
            command(&["call", &bridge.url, "t"])
                .stdout(Stdio::piped())
                .spawn()
        })
        .collect();
    for call in calls {
        let output = call.expect("it runs").wait_with_output().expect("it ends");
        Run::new(output).ends(0);
    }
    assert!(bridge.servers().len() <= 2, "{:?}", bridge.servers());
}

#[test]
fn headers_of_clients_become_variables_of_their_own_command() {
    let options = ["--header-to-env", "X-Api-Key=API_KEY"];
    let bridge = Bridge::to_script(&options, "call() { text \"key:$API_KEY\"; }");
    for era in ["legacy", "modern"] {
        for key in ["one", "two"] {
            let header = format!("X-Api-Key: {key}");
            let called = bridge.call(&["t", "-H", &header, "--era", era]).ends(0);
            assert_eq!(called.out, format!("key:{key}\n"));
        }
        assert_eq!(bridge.call(&["t", "--era", era]).ends(0).out, "key:\n");
    }
    // A command that does not start without the variable gets that of the first client.
    let needing = "if [ -z \"$API_KEY\" ]; then exit 1; fi; call() { text \"key:$API_KEY\"; }";
    let bridge = Bridge::to_script(&options, needing);
    for era in ["legacy", "modern"] {
        for key in ["one", "two"] {
            let header = format!("X-Api-Key: {key}");
            let called = bridge.call(&["t", "-H", &header, "--era", era]).ends(0);
            assert_eq!(called.out, format!("key:{key}\n"));
        }
    }
    let shared = ["bridge", "--mode", "shared", "--header-to-env", "X=Y"];
    let refused = run(&[&shared[..], &DEMO].concat()).ends(2);
    assert!(refused.err.contains("per-session"), "{refused:#?}");
}

#[test]
fn a_header_that_is_no_value_of_a_variable_is_refused() {
    let options = ["--header-to-env", "X-Api-Key=API_KEY"];
    let bridge = Bridge::to_script(&options, "call() { text \"key:$API_KEY\"; }");
    let head = "X-Api-Key: Zoë\r\n";
    let session = initialize(&bridge.url, head);
    let head = format!("{head}Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t"}});
    let called = post(&bridge.url, &head, &call);
    assert!(called.contains("key:Zoë"), "{called}");

    let long = format!("X-Api-Key: {}\r\n", "a".repeat(9 << 10));
    let refused = post(&bridge.url, &long, &call);
    let host = bridge
        .url
        .trim_start_matches("http://")
        .trim_end_matches("/mcp");
    let mut stream = TcpStream::connect(host).expect("it listens");
    let latin = b"\r\nX-Api-Key: Zo\xEB\r\nConnection: close\r\n\r\n";
    let request = [b"GET /mcp HTTP/1.1\r\nHost: ", host.as_bytes(), latin].concat();
    stream.write_all(&request).expect("it reads");
    for refused in [refused, read(stream)] {
        let reason = "the header X-Api-Key is not UTF-8, or longer than 8192 bytes";
        let is_refused = refused.starts_with("HTTP/1.1 400") && refused.contains(reason);
        assert!(is_refused, "{refused}");
    }
}

#[test]
fn a_command_that_misbehaves_fails_its_calls_and_not_the_bridge() {
    for (functions, options, word) in [
        ("call() { exit 7; }", &[][..], "ended"),
        (
            "call() { echo garbage; echo '{'; head -c 100000 /dev/zero; echo; text done; }",
            &[],
            "done",
        ),
        (
            "call() { :; }",
            &["--timeout", "500ms"],
            "no answer within 500ms",
        ),
        (
            "call() { i=0; while [ $i -lt 20000 ]; do echo 0123456789 >&2; i=$((i+1)); done; text done; }",
            &[],
            "done",
        ),
    ] {
        let bridge = Bridge::to_script(options, functions);
        let before = bridge.resident_bytes();
        for _ in 0..2 {
            let called = bridge.call(&["t"]);
            let told = format!("{}{}", called.out, called.err);
            assert!(told.contains(word), "{functions}: {told}");
        }
        let grown = bridge.resident_bytes().saturating_sub(before);
        assert!(grown < 16 << 20, "{functions}: {grown} bytes more");
    }
}

/// Waits until the command for lists, if there is one, and that of one session run.
fn wait_for_session(bridge: &Bridge) {
    let deadline = Instant::now() + SOON;
    while bridge.servers().len() < 2 {
        assert!(Instant::now() < deadline, "{:?}", bridge.servers());
        sleep(Duration::from_millis(10));
    }
}

/// The time without a request, and five seconds.
const IDLE_AND_MORE: Duration = Duration::from_secs(6);

#[test]
fn a_client_that_is_killed_leaves_no_command() {
    let bridge = Bridge::to_script(&["--idle", "1s"], "call() { sleep 1; text done; }");
    let mut client = command(&["call", &bridge.url, "t", "--era", "legacy"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it runs");
    wait_for_session(&bridge);
    client.kill().expect("it can be killed");
    client.wait().expect("it ends");
    bridge.wait_for_servers_within(0, IDLE_AND_MORE);
}

#[test]
fn a_client_that_vanishes_without_a_word_leaves_no_command() {
    let bridge = Bridge::to_script(&["--idle", "1s"], "call() { text done; }");
    let session = initialize(&bridge.url, "");
    let head = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    // Nobody reads from these connections or closes them. One waits for messages of the session.
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "t"}});
    let _called = open_post(&bridge.url, &head, &call);
    let _listening = open(&bridge.url, "GET", &head, "");
    wait_for_session(&bridge);
    bridge.wait_for_servers_within(0, IDLE_AND_MORE);
}

#[test]
fn a_bridge_lets_users_in_and_keeps_their_commands_apart() {
    let issuer = Issuer::start();
    let resource = "http://127.0.0.1/mcp";
    let options = [
        "--auth",
        &issuer.url,
        "--resource",
        resource,
        "--scope",
        "run",
        "--mode",
        "per-principal",
    ];
    let bridge = Bridge::to_script(&options, "call() { text $$; }");
    let call = |user: &str, scope: &str| {
        let token = issuer.token(user, resource, &[scope]);
        bridge.call(&["t", "-H", &format!("Authorization: Bearer {token}")])
    };
    let ann = call("ann", "run").ends(0).out;
    assert_eq!(call("ann", "run").ends(0).out, ann);
    assert_ne!(call("bob", "run").ends(0).out, ann);
    let refused = call("ann", "other").ends(3);
    assert!(refused.err.contains("scope"), "{refused:#?}");
    bridge.call(&["t"]).ends(3);
}

#[test]
fn a_bridge_listens_at_a_unix_socket_with_the_name_of_its_server() {
    let folder = Scratch::new();
    let address = format!("unix:{}", folder.name("bridge.sock"));
    let script = legacy_server("");
    let words = ["bridge", "--listen", &address, "--", "sh", "-c", &script];
    let _bridge = Serving::start_at(command(&words), "unix:");
    assert_eq!(run(&["call", &address, "t"]).ends(0).out, "done\n");
    let info = run(&["info", &address, "-o", "json"]).ends(0).json();
    assert_eq!(info["serverInfo"]["name"], "sh", "{info}");
}

#[test]
fn a_server_that_cannot_be_reached_ends_the_bridge() {
    let missing = run(&["bridge", "--", "/no/such/program"]).ends(4);
    assert!(missing.err.contains("/no/such/program"), "{missing:#?}");
    let principal = run(&[&["bridge", "--mode", "per-principal"][..], &DEMO].concat()).ends(2);
    assert!(principal.err.contains("--auth"), "{principal:#?}");
}

#[test]
fn users_of_a_command_do_not_read_what_it_writes_for_others() {
    let bridge = Bridge::to_script(
        &["--mode", "shared"],
        "call() { echo hunter2 >&2; exit 9; }",
    );
    let crashed = bridge.call(&["t"]);
    assert!(crashed.code != Some(0), "{crashed:#?}");
    let all = format!("{}{}", crashed.out, crashed.err);
    assert!(all.contains("exit status: 9"), "{crashed:#?}");
    assert!(!all.contains("hunter2"), "{crashed:#?}");

    // On standard streams there is one user.
    let script = legacy_server("call() { echo hunter2 >&2; exit 9; }");
    let words = [
        "call", "t", "--", TOOL, "bridge", "--stdio", "--", "sh", "-c", &script,
    ];
    let crashed = run(&words);
    let all = format!("{}{}", crashed.out, crashed.err);
    assert!(all.contains("hunter2"), "{crashed:#?}");
}

#[test]
fn a_session_that_is_deleted_ends_its_command_although_a_call_is_not_answered() {
    let bridge = Bridge::to_script(&["--idle", "1h"], "call() { :; }");
    bridge.wait_for_servers(0);
    let session = initialize(&bridge.url, "");
    let session = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let message =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "t"}});
    let _call = open_post(&bridge.url, &session, &message);
    bridge.wait_for_servers(1);
    let deleted = read(open(&bridge.url, "DELETE", &session, ""));
    assert!(deleted.starts_with("HTTP/1.1 204"), "{deleted}");
    bridge.wait_for_servers(0);
}
