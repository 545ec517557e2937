//! A server on a pipe is ended under its client, or its client is.

use std::io::{BufRead, BufReader, Read, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::{Error, ReconnectPolicy};
use turnbuckle::session::transport::LinkError;
use turnbuckle::stdio::Command;

use super::load::{Load, call_next_server};
use super::process::{PROGRAM, alone, children, ends, first_line, server_of, signal, start, turn};
use super::{Point, SOON, points};

#[test]
fn a_server_does_not_outlive_its_client() {
    let _turn = turn();
    for mut point in points() {
        let mut client = start(&["client"]);
        let (line, _output) = first_line(client.stdout.take().unwrap());
        assert_eq!(line, "connected\n");
        server_of(client.id());
        let children = children(client.id());
        std::thread::sleep(Duration::from_micros(point.below(40_000)));
        signal(client.id(), point.signal());
        client.wait().unwrap();
        // The server ends with its input, and the helper that watches it too.
        children.into_iter().for_each(ends);
    }
}

#[test]
fn a_client_gets_a_named_error_and_starts_another_server() {
    alone(async {
        for point in points() {
            end_under_a_client(point).await;
        }
    });
}

/// Ends the server after so many answers, while it runs calls.
async fn end_under_a_client(mut point: Point) {
    let policy = ReconnectPolicy::new().initial_backoff(Duration::from_millis(1));
    let builder = Client::builder("c", "1").reconnect_policy(policy);
    let client = builder.connect(Command::new(PROGRAM).arg("run")).await;
    let client = client.unwrap();
    let server = server_of(std::process::id());
    let asking = client.clone();
    let long = tokio::spawn(async move {
        let an_hour = json!({"ms": 3_600_000});
        asking.call_tool("slow", &an_hour).send().await.unwrap_err()
    });
    let load = Load::new(std::slice::from_ref(&client));
    load.until(1 + point.below(200)).await;
    signal(server, point.signal());
    let mut errors = load.end().await;
    let long = timeout(SOON, long).await.expect("a call hangs");
    errors.push(long.unwrap());
    for error in errors {
        let is_named = matches!(
            &error,
            Error::ConnectionLost {
                reason: LinkError::ProcessExited { .. } | LinkError::ConnectionLost { .. },
                ..
            }
        );
        let text = error.to_string();
        assert!(is_named, "{point:?} {error:?}");
        assert!(
            text.contains("signal: 9") || !point.is_kill(),
            "{point:?} {text}"
        );
    }
    ends(server);
    call_next_server(&client).await;
    client.close().await;
    assert_eq!(children(std::process::id()), [0; 0], "{point:?}");
}

/// Returns the lines of a handshake, and of calls.
fn script() -> String {
    let line = |id: u64, method: &str, params: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        format!("{message}\n")
    };
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}});
    let mut script = line(0, "initialize", params);
    for id in 1..200 {
        let arguments = json!({"message": "m".repeat(1500), "number": id});
        script += &line(
            id,
            "tools/call",
            json!({"name": "echo", "arguments": arguments}),
        );
    }
    script
}

#[test]
fn a_server_that_ends_has_written_whole_lines_only() {
    let _turn = turn();
    let script = script();
    for mut point in points() {
        let mut server = start(&["run"]);
        // The last line of its input may be cut.
        let sent = script[..point.below(script.len() as u64) as usize].to_owned();
        let whole_lines = sent.matches('\n').count() as u64;
        let mut input = server.stdin.take().unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(sent.as_bytes());
            input
        });
        let mut text = String::new();
        for _ in 0..point.below(whole_lines + 1) {
            output.read_line(&mut text).unwrap();
        }
        signal(server.id(), point.signal());
        output.read_to_string(&mut text).unwrap();
        server.wait().unwrap();
        drop(writer.join());
        // A process that is killed may be cut off in the middle of a write; one that ends by itself is not.
        let (lines, rest) = text.rsplit_once('\n').unwrap_or(("", &text));
        assert!(rest.is_empty() || point.is_kill(), "{point:?} {rest:?}");
        for line in lines.lines() {
            let message: Value = serde_json::from_str(line).expect("a whole message");
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }
}
