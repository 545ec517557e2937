//! The commands over HTTP, and features that only HTTP has.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Stdio;

use crate::support::{HttpDemo, command, run};

#[test]
fn the_commands_work_over_http() {
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
            Some(42)
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

/// Listens with these options, calls a tool of the demo, and returns the first change as JSON.
fn change_after(demo: &HttpDemo, options: &[&str], tool: &str) -> String {
    let words = [
        &["listen", &demo.url, "--count", "1", "-o", "ndjson"],
        options,
    ]
    .concat();
    let mut listening = command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool runs");
    // The message appears once the subscription is active.
    let mut message = [0; 9];
    let err = listening.stderr.as_mut().expect("it has one");
    err.read_exact(&mut message).expect("it says so");
    assert_eq!(&message, b"listening");
    demo.run("call", &[tool]).ends(0);
    let ended = listening.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0));
    String::from_utf8(ended.stdout).expect("it is UTF-8")
}

#[test]
fn changes_of_a_resource_are_printed_as_they_arrive() {
    let demo = HttpDemo::start();
    for era in ["modern", "legacy"] {
        let options = ["--resource", "test://watched-resource", "--era", era];
        assert_eq!(
            change_after(&demo, &options, "touch_watched_resource"),
            "{\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"test://watched-resource\"}}\n"
        );
    }
}

#[test]
fn the_demo_changes_each_of_its_lists() {
    let demo = HttpDemo::start();
    for (list, tool) in [
        ("tools", "test_trigger_tool_change"),
        ("prompts", "test_trigger_prompt_change"),
        ("resources", "test_trigger_resource_change"),
    ] {
        // The first call adds an item, the second removes it.
        for era in ["modern", "legacy"] {
            let before = demo.run("list", &[list]).ends(0).out;
            let change = change_after(&demo, &[&format!("--{list}"), "--era", era], tool);
            assert_eq!(
                change,
                format!("{{\"method\":\"notifications/{list}/list_changed\"}}\n")
            );
            assert_ne!(before, demo.run("list", &[list]).ends(0).out, "{list}");
        }
    }
}

#[test]
fn every_item_of_the_demo_has_a_title() {
    let demo = HttpDemo::start();
    for tool in ["tool", "prompt", "resource"] {
        demo.run("call", &[&format!("test_trigger_{tool}_change")])
            .ends(0);
    }
    let all = demo.run("list", &["-o", "json"]).ends(0).json();
    let mut count = 0;
    for list in all.as_object().expect("it is an object").values() {
        for item in list.as_array().expect("it is a list") {
            // A skill has a name and a description.
            if item["uri"]
                .as_str()
                .is_some_and(|uri| uri.starts_with("skill:"))
            {
                continue;
            }
            assert!(item["title"].is_string(), "{item}");
            count += 1;
        }
    }
    assert_eq!(count, 43 + 5 + 1 + 6);
}

#[test]
fn headers_are_sent_and_a_401_means_authorization_is_needed() {
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

#[test]
fn headers_are_never_sent_to_another_machine_without_encryption() {
    for url in [
        "http://203.0.113.1/mcp",
        "HTTP://203.0.113.1/mcp",
        " http://203.0.113.1/mcp",
        "http:\\\\203.0.113.1/mcp",
        "ht\ttp://203.0.113.1/mcp",
        "http:///203.0.113.1/mcp",
        "http://0xcb007101/mcp",
        "http://user.localhost.example/mcp",
    ] {
        let refused = run(&["info", url, "-H", "X-Key: s3cret"]).ends(2);
        assert!(!refused.err.contains("s3cret"), "{refused:#?}");
    }
}
