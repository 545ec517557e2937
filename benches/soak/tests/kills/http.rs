//! A server over HTTP is ended under load.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Child;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;
use turnbuckle::Client;
use turnbuckle::client::{EraPreference, Error};
use turnbuckle::http::HttpConnector;
use turnbuckle::session::transport::LinkError;

use super::load::{Load, call_next_server};
use super::process::{alone, ends, first_line, signal, start, turn};
use super::{Point, SOON, points};

/// Starts a server on that port. Returns it and its address.
fn serve(port: u16) -> (Child, SocketAddr) {
    let mut server = start(&["run", "--http", &format!("127.0.0.1:{port}")]);
    let (line, _) = first_line(server.stderr.take().unwrap());
    let address = line.split('/').nth(2).unwrap_or_else(|| panic!("{line:?}"));
    (server, address.parse().unwrap())
}

fn connect(address: SocketAddr) -> TcpStream {
    let connection = TcpStream::connect(address).unwrap();
    connection.set_read_timeout(Some(SOON)).unwrap();
    connection
}

#[test]
fn clients_get_named_errors_and_the_next_server_has_the_same_port() {
    alone(async {
        for point in points() {
            end_under_clients(point).await;
        }
    });
}

async fn end_under_clients(mut point: Point) {
    let (mut server, address) = serve(0);
    let mut clients = Vec::new();
    for number in 0..4 {
        let era = match number % 2 {
            0 => EraPreference::Modern,
            _ => EraPreference::Legacy,
        };
        let connector = HttpConnector::new(&format!("http://{address}/mcp")).unwrap();
        let client = Client::builder("c", "1").era(era).connect(connector).await;
        clients.push(client.unwrap());
    }
    let load = Load::new(&clients);
    load.until(point.below(400)).await;
    signal(server.id(), point.signal());
    for error in load.end().await {
        let is_named = matches!(
            &error,
            Error::Unreachable { .. }
                | Error::ConnectionLost {
                    reason: LinkError::ConnectionLost { .. }
                        | LinkError::Unreachable { .. }
                        | LinkError::HttpStatus { .. },
                    ..
                }
        );
        assert!(is_named, "{point:?} {error:?}");
    }
    ends(server.id());
    server.wait().unwrap();
    let (mut next, again) = serve(address.port());
    assert_eq!(again, address);
    for client in clients {
        call_next_server(&client).await;
        timeout(SOON, client.close()).await.expect("the end hangs");
    }
    signal(next.id(), Signal::KILL);
    next.wait().unwrap();
}

/// Returns a call as a modern client posts it.
fn post(tool: &str, arguments: &Value) -> String {
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

/// Takes a whole answer off the front. Returns whether there was one.
fn take_answer(text: &mut &str) -> bool {
    let Some((head, rest)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let length = head.split("content-length: ").nth(1).expect("a length");
    let length: usize = length.lines().next().unwrap().parse().unwrap();
    let Some((body, rest)) = rest.split_at_checked(length) else {
        return false;
    };
    serde_json::from_str::<Value>(body).expect("a whole message");
    *text = rest;
    true
}

#[test]
fn a_server_that_ends_has_written_whole_answers_only() {
    let _turn = turn();
    for mut point in points() {
        let (mut server, address) = serve(0);
        let mut connection = connect(address);
        let mut asking = connection.try_clone().unwrap();
        let writer = std::thread::spawn(move || {
            let call = post("echo", &json!({"message": "m".repeat(1500), "number": 1}));
            let _ = asking.write_all(call.repeat(300).as_bytes());
        });
        let mut read = vec![0; point.below(300_000) as usize];
        connection.read_exact(&mut read).unwrap();
        signal(server.id(), point.signal());
        if let Err(error) = connection.read_to_end(&mut read) {
            // Requests that are not read any more break the connection: that is an end, too.
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{point:?}");
        }
        server.wait().unwrap();
        writer.join().unwrap();
        let text = String::from_utf8(read).unwrap();
        let mut rest = text.as_str();
        while take_answer(&mut rest) {}
        assert!(rest.is_empty() || point.is_kill(), "{point:?} {rest:?}");
    }
}

#[test]
fn a_server_that_is_asked_to_end_answers_running_calls() {
    let _turn = turn();
    for mut point in points() {
        let (mut server, address) = serve(0);
        let mut calls = Vec::new();
        for _ in 0..8 {
            let mut connection = connect(address);
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
        assert!(TcpStream::connect(address).is_err(), "it still listens");
    }
}
