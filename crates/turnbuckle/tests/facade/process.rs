//! The example `calc` as a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};
use turnbuckle::Client;
use turnbuckle::http::HttpConnector;

/// Returns the path of the example, which is built with the tests.
fn path() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.set_file_name("examples");
    path.push(format!("calc{}", std::env::consts::EXE_SUFFIX));
    assert!(
        path.exists(),
        "build the examples first: {}",
        path.display()
    );
    path
}

/// A server that ends with its test.
struct Calc(Child);

impl Drop for Calc {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Calc {
    fn start(arguments: &[&str]) -> Self {
        let child = Command::new(path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        Self(child.unwrap())
    }
}

fn output(arguments: &[&str]) -> Output {
    let mut command = Command::new(path());
    command.args(arguments).stdin(Stdio::null());
    command.output().unwrap()
}

#[test]
fn keys_of_the_environment_are_read_and_never_shown() {
    let run = |keys: &str| {
        let mut command = Command::new(path());
        command.env("TURNBUCKLE_KEYS", keys).stdin(Stdio::null());
        command.output().unwrap()
    };
    let key = turnbuckle::SecretKey::generate().unwrap().to_text();
    assert!(run(&key).status.success());
    let output = run(&format!("{key},{key}!"));
    assert_eq!(output.status.code(), Some(1));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("TURNBUCKLE_KEYS: key 2 of the list"),
        "{error}"
    );
    assert!(!error.contains(&key));
}

fn error(arguments: &[&str]) -> String {
    let output = output(arguments);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn without_http_it_serves_standard_input_and_output() {
    for arguments in [&[][..], &["verbose"], &["--", "--http", "0.0.0.0:0"]] {
        let mut calc = Calc::start(arguments);
        let mut input = calc.0.stdin.take().unwrap();
        let mut output = BufReader::new(calc.0.stdout.take().unwrap()).lines();
        let mut ask = |message: Value| {
            writeln!(input, "{message}").unwrap();
            let answer = output.next().unwrap().unwrap();
            serde_json::from_str::<Value>(&answer).unwrap()
        };
        let greeted = ask(json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"},
            },
        }));
        assert_eq!(greeted["result"]["serverInfo"]["name"], "calc");
        assert_eq!(greeted["result"]["protocolVersion"], "2025-11-25");
        let sum = ask(json!({
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 19, "b": 23}},
        }));
        assert_eq!(sum["result"]["content"][0]["text"], "42", "{sum}");
        // The client is gone: the server ends by itself, and was quiet.
        drop(input);
        assert!(calc.0.wait().unwrap().success());
        let mut noise = String::new();
        let mut stderr = calc.0.stderr.take().unwrap();
        stderr.read_to_string(&mut noise).unwrap();
        assert_eq!(noise, "");
    }
}

#[tokio::test]
async fn with_an_address_it_serves_http_until_a_signal() {
    for arguments in [&["--http", "127.0.0.1:0"][..], &["--http=127.0.0.1:0"]] {
        let mut calc = Calc::start(arguments);
        let mut stderr = BufReader::new(calc.0.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.strip_prefix("serving MCP at ").expect(&line).trim();
        let connector = HttpConnector::new(url).unwrap();
        let client = Client::builder("test", "1.0.0").connect(connector).await;
        let client = client.unwrap();
        let call = client.call_tool("add", &json!({"a": 1, "b": 2}));
        assert_eq!(call.await.unwrap().content, ["3".into()]);
        client.close().await;
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};

            let pid = Pid::from_raw(calc.0.id().try_into().unwrap()).unwrap();
            kill_process(pid, Signal::TERM).unwrap();
            assert!(calc.0.wait().unwrap().success());
        }
    }
}

#[test]
fn an_invalid_address_is_reported() {
    let missing = "Error: --http needs an address, as in --http 127.0.0.1:8080\n";
    assert_eq!(error(&["--http"]), missing);
    assert_eq!(error(&["--http="]), missing);
    let unknown = error(&["--htp", "127.0.0.1:3000"]);
    assert!(unknown.contains("did you mean \"--http\"?"), "{unknown}");
    let none = error(&["--http", "nowhere"]);
    assert!(
        none.starts_with("Error: cannot serve HTTP on nowhere: "),
        "{none}"
    );
    let open = error(&["--http", "0.0.0.0:0"]);
    assert!(
        open.starts_with("Error: cannot serve HTTP on 0.0.0.0:0: "),
        "{open}"
    );
    assert!(open.contains("reachable from other machines"), "{open}");
}
