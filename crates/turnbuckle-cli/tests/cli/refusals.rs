//! Servers over HTTP that refuse, or speak something else than the tool was told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use crate::support::{HttpDemo, run};

/// Starts a server that answers every request with this status and body, and returns its address.
fn refusing_server(status: &'static str, body: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = listener
        .local_addr()
        .expect("it has an address")
        .to_string();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let _ = refuse(connection, status, body);
        }
    });
    address
}

fn refuse(mut connection: TcpStream, status: &str, body: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim().to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    let size = body.len();
    write!(
        connection,
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {size}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[test]
fn the_body_of_a_refusal_is_shown_without_controls() {
    let body = "your plan \u{1b}[31mhas no\u{202e} MCP";
    for (status, code) in [("403 Forbidden", 3), ("400 Bad Request", 4), ("500 Oh", 4)] {
        let address = refusing_server(status, body);
        let refused = run(&["info", &format!("http://{address}/mcp")]).ends(code);
        assert!(refused.err.contains("your plan "), "{refused:#?}");
        assert!(
            !refused.err.contains(['\u{1b}', '\u{202e}']),
            "{refused:#?}"
        );
    }
}

#[test]
fn https_to_a_port_without_tls_is_called_that() {
    let demo = HttpDemo::start();
    let refused = run(&["info", &demo.url.replace("http://", "https://")]).ends(4);
    assert!(
        refused.err.contains("does not speak TLS at this port"),
        "{refused:#?}"
    );
    assert!(refused.err.contains("try `http://`"), "{refused:#?}");
}

#[test]
fn an_era_that_the_transport_does_not_speak_names_the_flag() {
    let demo = HttpDemo::start();
    let refused = run(&["info", &demo.sse, "--era", "modern"]);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    assert!(refused.err.contains("--era"), "{refused:#?}");
    assert!(!refused.err.contains("::"), "{refused:#?}");
}
