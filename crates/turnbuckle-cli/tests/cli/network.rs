//! The same over HTTP, and what only HTTP has.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use crate::support::{HttpDemo, command, run};

#[test]
fn the_verbs_work_over_http() {
    let demo = HttpDemo::start();
    for era in ["modern", "legacy"] {
        let info = demo.run("info", &["--era", era]).ends(0);
        assert!(info.out.contains(&format!("({era} era)")), "{info:#?}");
        assert_eq!(
            demo.run("list", &["tools", "-o", "json", "--era", era])
                .ends(0)
                .json()["tools"]
                .as_array()
                .map(Vec::len),
            Some(34)
        );
        let call = demo
            .run("call", &["echo", "message=hi", "--era", era])
            .ends(0);
        assert_eq!(call.out, "hi\n");
        let call = demo.run(
            "call",
            &["test_elicitation_sep1034_defaults", "--yes", "--era", era],
        );
        assert!(call.ends(0).out.contains("action=accept"));
        let call = demo
            .run("call", &["test_tool_with_progress", "--era", era])
            .ends(0);
        assert!(call.out.contains("100"), "{call:#?}");
    }
    let call = demo.run("call", &["test_x_mcp_header", "suffix=x"]).ends(0);
    assert!(!call.out.is_empty());
    let bare = demo.url.strip_prefix("http://").expect("it is plain HTTP");
    assert_eq!(
        run(&["call", bare, "echo", "message=bare"]).ends(0).out,
        "bare\n"
    );
    let old = run(&["call", &demo.sse, "echo", "message=old"]).ends(0);
    assert_eq!(old.out, "old\n");
    let lost = run(&["info", &demo.url.replace("/mcp", "/nowhere")]);
    assert_ne!(lost.code, Some(0), "{lost:#?}");
}

#[test]
fn changes_are_told_as_they_come() {
    let demo = HttpDemo::start();
    for era in ["modern", "legacy"] {
        let words = [
            "listen",
            &demo.url,
            "--resource",
            "test://watched-resource",
            "--count",
            "1",
        ];
        let mut listening = command(&[&words[..], &["-o", "ndjson", "--era", era]].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the tool runs");
        // It says that it listens before anything can be missed.
        let mut said = [0; 9];
        let err = listening.stderr.as_mut().expect("it has one");
        err.read_exact(&mut said).expect("it says so");
        assert_eq!(&said, b"listening");
        demo.run("call", &["touch_watched_resource"]).ends(0);
        let ended = listening.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(
            String::from_utf8_lossy(&ended.stdout),
            "{\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"test://watched-resource\"}}\n"
        );
    }
}

#[test]
fn a_server_that_wants_authorization_says_so_and_headers_reach_it() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!(
        "http://{}/mcp",
        listener.local_addr().expect("it has an address")
    );
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody comes");
        let mut head = Vec::new();
        let mut piece = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            let read = stream.read(&mut piece).expect("it sends");
            head.extend_from_slice(&piece[..read]);
        }
        let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.write_all(answer.as_bytes()).expect("it reads");
        String::from_utf8_lossy(&head).to_lowercase()
    });
    let output = command(&[
        "info",
        &url,
        "-o",
        "json",
        "-H",
        "X-One: 1",
        "--bearer-env",
        "TURNBUCKLE_TEST_TOKEN",
        "--header-env",
        "X-Two=TURNBUCKLE_TEST_TOKEN",
    ])
    .env("TURNBUCKLE_TEST_TOKEN", "a-token")
    .output()
    .expect("the tool runs");
    let head = server.join().expect("it was asked");
    for line in [
        "authorization: bearer a-token",
        "x-one: 1",
        "x-two: a-token",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert_eq!(output.status.code(), Some(3));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(
        err.contains("\"auth_required\"") && !err.contains("a-token"),
        "{err}"
    );
}
