//! A server on a pipe is ended under its client.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command as ServerCommand, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::{Error, ReconnectPolicy};
use turnbuckle::session::transport::LinkError;
use turnbuckle::stdio::Command;

use super::load::Load;
use super::point::{Point, SOON, points};
use super::process::{PROGRAM, alone, children, ends, servers, signal, turn};

#[test]
fn a_client_is_told_that_its_server_has_ended_and_starts_another() {
    alone(async {
        for point in points() {
            under_a_client(point).await;
        }
    });
}

/// Ends the server after so many answers, with calls in its hands.
async fn under_a_client(mut point: Point) {
    let builder = Client::builder("c", "1")
        .reconnect_policy(ReconnectPolicy::new().initial_backoff(Duration::from_millis(1)));
    let client = builder.connect(Command::new(PROGRAM).arg("run")).await;
    let client = client.unwrap();
    let own = servers(std::process::id());
    let [server] = own[..] else { panic!("{own:?}") };
    let asking = client.clone();
    let long = tokio::spawn(async move {
        let an_hour = json!({"ms": 3_600_000});
        asking.call_tool("slow", &an_hour).send().await.unwrap_err()
    });
    let load = Load::new(std::slice::from_ref(&client));
    load.until(1 + point.below(200)).await;
    signal(server, point.signal());
    let mut errors = load.end().await;
    let long = timeout(SOON, long).await.expect("nobody hangs");
    errors.push(long.unwrap());
    let killed = point.signal() == Signal::KILL;
    for error in errors {
        let told = matches!(
            &error,
            Error::ConnectionLost {
                reason: LinkError::ProcessExited { .. } | LinkError::ConnectionLost { .. },
                ..
            }
        );
        assert!(told, "{point:?} {error:?}");
        let named = error.to_string();
        assert!(named.contains("signal: 9") || !killed, "{point:?} {named}");
    }
    ends(server);
    // What is sent before its end is noticed is lost with it.
    let none = json!({"ms": 0});
    let again = timeout(SOON, client.call_tool("slow", &none).send()).await;
    if again.expect("nobody hangs").is_err() {
        let again = timeout(SOON, client.call_tool("slow", &none).send()).await;
        again.expect("nobody hangs").expect("another server");
    }
    client.close().await;
    assert_eq!(children(std::process::id()), [0; 0], "{point:?}");
}

/// Returns how a request stands on a line.
fn line(id: u64, method: &str, params: &Value) -> String {
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    )
}

/// Returns a handshake, and calls.
fn script() -> String {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"}});
    let mut asked = line(0, "initialize", &params);
    for id in 1..200 {
        let arguments = json!({"message": "m".repeat(1500), "number": id});
        let params = json!({"name": "echo", "arguments": arguments});
        asked += &line(id, "tools/call", &params);
    }
    asked
}

#[test]
fn what_a_server_wrote_before_it_ended_is_whole_lines() {
    let _turn = turn();
    let asked = script();
    for mut point in points() {
        let mut server = ServerCommand::new(PROGRAM)
            .arg("run")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The last that it hears may be half a line.
        let heard = asked[..usize::try_from(point.below(asked.len() as u64)).unwrap()].to_owned();
        let whole = heard.matches('\n').count() as u64;
        let mut input = server.stdin.take().unwrap();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        let writer = std::thread::spawn(move || {
            let _ = input.write_all(heard.as_bytes());
            input
        });
        let mut text = String::new();
        for _ in 0..point.below(whole + 1) {
            output.read_line(&mut text).unwrap();
        }
        signal(server.id(), point.signal());
        output.read_to_string(&mut text).unwrap();
        server.wait().unwrap();
        drop(writer.join());
        // What is killed may be cut off in the middle of a write; what ends by itself is not.
        let (lines, rest) = text.rsplit_once('\n').unwrap_or(("", &text));
        let killed = point.signal() == Signal::KILL;
        assert!(rest.is_empty() || killed, "{point:?} {rest:?}");
        for line in lines.lines() {
            let message: Value = serde_json::from_str(line).expect("a whole message");
            assert_eq!(message["jsonrpc"], "2.0");
        }
    }
}
