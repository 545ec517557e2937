//! A server over HTTP is ended under load.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::{EraPreference, Error};
use turnbuckle::http::HttpConnector;
use turnbuckle::session::transport::LinkError;

use super::load::Load;
use super::point::{Point, SOON, points};
use super::process::{PROGRAM, alone, ends, signal, turn};

/// Starts a server on that port; it and where it is.
fn start(port: u16) -> (Child, SocketAddr) {
    let mut server = Command::new(PROGRAM)
        .args(["run", "--http", &format!("127.0.0.1:{port}")])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut output = BufReader::new(server.stderr.take().unwrap());
    output.read_line(&mut told).unwrap();
    let address = told.split('/').nth(2).unwrap_or_else(|| panic!("{told:?}"));
    (server, address.parse().unwrap())
}

#[test]
fn clients_are_told_by_name_and_the_next_server_has_the_same_port() {
    alone(async {
        for point in points() {
            under_clients(point).await;
        }
    });
}

async fn under_clients(mut point: Point) {
    let (mut server, address) = start(0);
    let mut clients = Vec::new();
    for era in [
        EraPreference::Modern,
        EraPreference::Legacy,
        EraPreference::Modern,
        EraPreference::Legacy,
    ] {
        let connector = HttpConnector::new(&format!("http://{address}/mcp")).unwrap();
        let client = Client::builder("c", "1").era(era).connect(connector).await;
        clients.push(client.unwrap());
    }
    let load = Load::new(&clients);
    load.until(point.below(400)).await;
    signal(server.id(), point.signal());
    let errors = load.end().await;
    for error in errors {
        let named = match &error {
            Error::ConnectionLost { reason, .. } => matches!(
                reason,
                LinkError::ConnectionLost { .. }
                    | LinkError::Unreachable { .. }
                    | LinkError::HttpStatus { .. }
            ),
            Error::Unreachable { .. } => true,
            _ => false,
        };
        assert!(named, "{point:?} {error:?}");
    }
    ends(server.id());
    server.wait().unwrap();
    let (mut next, again) = start(address.port());
    assert_eq!(again, address);
    for client in clients {
        let none = json!({"ms": 0});
        let call = timeout(SOON, client.call_tool("slow", &none).send()).await;
        // A session of the old server is not one of the new; the next call opens another.
        if call.expect("nobody hangs").is_err() {
            let call = timeout(SOON, client.call_tool("slow", &none).send()).await;
            call.expect("nobody hangs").expect("another server");
        }
        timeout(SOON, client.close()).await.expect("nobody hangs");
    }
    signal(next.id(), Signal::KILL);
    next.wait().unwrap();
}

/// Returns a call as a modern client posts it.
fn post(tool: &str, arguments: &serde_json::Value) -> String {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}}}})
    .to_string();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {tool}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Takes a whole answer off the front; whether there was one.
fn whole(text: &mut &str) -> bool {
    let Some((head, rest)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let length = head.split("content-length: ").nth(1).expect("a length");
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let Some((body, rest)) = rest.split_at_checked(length) else {
        return false;
    };
    serde_json::from_str::<serde_json::Value>(body).expect("a whole message");
    *text = rest;
    true
}

#[test]
fn what_a_server_wrote_before_it_ended_is_whole_answers() {
    let _turn = turn();
    for mut point in points() {
        let (mut server, address) = start(0);
        let mut connection = TcpStream::connect(address).unwrap();
        connection.set_read_timeout(Some(SOON)).unwrap();
        let mut asking = connection.try_clone().unwrap();
        let writer = std::thread::spawn(move || {
            let arguments = json!({"message": "m".repeat(1500), "number": 1});
            let call = post("echo", &arguments);
            for _ in 0..300 {
                if asking.write_all(call.as_bytes()).is_err() {
                    return;
                }
            }
        });
        let mut read = Vec::new();
        let until = point.below(300_000);
        let mut piece = [0; 4096];
        while (read.len() as u64) < until {
            let count = connection.read(&mut piece).unwrap();
            assert_ne!(count, 0, "{point:?}: the server ended too soon");
            read.extend_from_slice(&piece[..count]);
        }
        signal(server.id(), point.signal());
        loop {
            match connection.read(&mut piece) {
                Ok(0) => break,
                Ok(count) => read.extend_from_slice(&piece[..count]),
                // What was asked and not read any more breaks the connection: that is an end, too.
                Err(error) => {
                    assert_eq!(
                        error.kind(),
                        std::io::ErrorKind::ConnectionReset,
                        "{point:?}"
                    );
                    break;
                }
            }
        }
        server.wait().unwrap();
        writer.join().unwrap();
        let text = String::from_utf8(read).unwrap();
        let mut rest = text.as_str();
        while whole(&mut rest) {}
        let killed = point.signal() == Signal::KILL;
        assert!(rest.is_empty() || killed, "{point:?} {rest:?}");
    }
}

#[test]
fn what_runs_is_answered_by_a_server_that_is_asked_to_end() {
    let _turn = turn();
    for mut point in points() {
        let (mut server, address) = start(0);
        let mut calls = Vec::new();
        for _ in 0..8 {
            let mut connection = TcpStream::connect(address).unwrap();
            connection.set_read_timeout(Some(SOON)).unwrap();
            let ms = 300 + point.below(300);
            let call = post("slow", &json!({"ms": ms}));
            connection.write_all(call.as_bytes()).unwrap();
            calls.push((connection, ms));
        }
        // Long enough to have taken them, and shorter than they run.
        std::thread::sleep(Duration::from_millis(100 + point.below(100)));
        signal(server.id(), Signal::TERM);
        for (mut connection, ms) in calls {
            let mut text = String::new();
            connection.read_to_string(&mut text).unwrap();
            assert!(text.contains(&format!("{ms} ms")), "{point:?} {text:?}");
        }
        assert!(server.wait().unwrap().success());
        assert!(
            TcpStream::connect(address).is_err(),
            "it takes nobody any more"
        );
    }
}
