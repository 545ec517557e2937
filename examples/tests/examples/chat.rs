//! Tests of the `chat` program: a scripted model or an endpoint in the test, several servers, and a
//! user whose lines are written beforehand.

mod endpoint;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::prelude::*;

use crate::harness::{Example, with_timeout};

/// A run of the program that has ended.
struct Chat {
    output: String,
    errors: String,
    succeeded: bool,
}

/// Returns the program with these servers.
fn program(directory: &Path, servers: &Value) -> Command {
    let config = directory.join("mcp.json");
    fs::write(&config, json!({"mcpServers": servers}).to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chat"));
    command.arg(config).env("CHAT_DB", "notes.db");
    command
}

/// Runs the program with these lines of the user.
async fn run(mut command: Command, lines: &str) -> Chat {
    with_timeout(async {
        let mut chat = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut input = chat.stdin.take().unwrap();
        // A program that fails at once reads nothing.
        let _ = input.write_all(lines.as_bytes()).await;
        drop(input);
        let output = chat.wait_with_output().await.unwrap();
        Chat {
            output: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
            succeeded: output.status.success(),
        }
    })
    .await
}

/// Runs the program with these servers, answers of the model, and lines of the user.
async fn chat(servers: &Value, answers: &[Value], lines: &str) -> String {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("answers.jsonl");
    let answers: Vec<String> = answers.iter().map(Value::to_string).collect();
    fs::write(&script, answers.join("\n")).unwrap();
    let mut command = program(directory.path(), servers);
    command
        .args(["--max-rounds", "3"])
        .arg("--scripted")
        .arg(script);
    let chat = run(command, lines).await;
    assert!(chat.succeeded && chat.errors.is_empty(), "{}", chat.errors);
    chat.output
}

/// Returns an answer that calls tools.
fn calls(calls: &[(&str, Value)]) -> Value {
    let calls = calls.iter();
    let calls: Vec<Value> = calls
        .map(|(name, arguments)| json!({"name": name, "arguments": arguments}))
        .collect();
    json!({"calls": calls})
}

fn text(text: &str) -> Value {
    json!({"text": text})
}

/// Asserts that the output contains these lines in this order.
#[track_caller]
fn assert_lines(output: &str, expected: &[&str]) {
    let mut lines = output.lines();
    for wanted in expected {
        assert!(
            lines.any(|line| line.contains(wanted)),
            "no {wanted:?} in its place:\n{output}"
        );
    }
}

#[tokio::test]
async fn the_model_uses_several_servers_over_pipes_and_http() {
    let directory = TempDir::new().unwrap();
    let (source, target) = (
        directory.path().join("source"),
        directory.path().join("target"),
    );
    fs::create_dir(&source).unwrap();
    fs::write(source.join("a.txt"), "a").unwrap();
    let script = directory.path().join("release.sh");
    fs::write(&script, "#!/bin/sh\necho \"released $2\"\n").unwrap();
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
    let backup = Example::new(env!("CARGO_BIN_EXE_backup"))
        .arg(&source)
        .arg(&target);
    let process = backup.serve().await;
    let servers = json!({
        "notes": {"command": env!("CARGO_BIN_EXE_notes"), "args": ["${CHAT_DB}"], "cwd": directory.path()},
        "deploy": {"command": env!("CARGO_BIN_EXE_deploy"), "args": [script]},
        "backup": {"type": "http", "url": process.url, "headers": {"X-Test": "${NONE:-1}"}},
    });
    let answers = [
        calls(&[
            ("notes__add", json!({"title": "Two words", "body": "text"})),
            ("backup__run", json!({})),
        ]),
        text("Both are done."),
        calls(&[(
            "deploy__deploy",
            json!({"service": "shop", "version": "1.0"}),
        )]),
        text("It is released."),
    ];
    let lines =
        "/tools\nwrite and back up\nyes\nyes\nrelease\nyes\nmoon\nproduction\nshop\n:decline\n";
    let output = chat(&servers, &answers, lines).await;
    assert_lines(
        &output,
        &["backup__run  Copy new and changed files", "Both are done."],
    );
    assert_lines(&output, &["deploy__deploy", "Both are done."]);
    assert_lines(
        &output,
        &[
            "-- the model calls add of notes: {\"body\":\"text\",\"title\":\"Two words\"}",
            "-- the model calls run of backup: {}",
            "-- backup: 1/1 a.txt",
            "Both are done.",
            "-- the model calls deploy of deploy",
            "-- deploy asks: Deploy shop 1.0",
            "[staging, production]",
            "-- deploy asks: Deploy shop 1.0 to production? Type",
            "-- deploy asks: shop 1.0 to production is deployed",
            "It is released.",
        ],
    );
}

#[tokio::test]
async fn a_call_needs_consent_each_time_or_once_for_all() {
    let count = Arc::new(Mutex::new(0));
    let counted = count.clone();
    let tool = Tool::builder("count").handler(move || {
        *counted.lock().unwrap() += 1;
        "counted"
    });
    let server = Server::new("counter", "1.0.0").tool(tool).build().unwrap();
    let (servers, serving) = serve("counter", server).await;
    let call = calls(&[("counter__count", json!({}))]);
    for (lines, expected_calls, expected_questions) in [
        ("go\nno\n", 0, 1),
        ("go\nperhaps\n", 0, 1),
        ("go\nyes\ngo\nyes\n", 2, 2),
        ("go\nalways\ngo\n", 2, 1),
    ] {
        *count.lock().unwrap() = 0;
        let answers = [call.clone(), text("so"), call.clone(), text("so")];
        let output = chat(&servers, &answers, lines).await;
        assert_eq!(*count.lock().unwrap(), expected_calls, "{lines}");
        let questions = output.matches("-- the model calls").count();
        assert_eq!(questions, expected_questions, "{output}");
    }
    serving.abort();
}

#[tokio::test]
async fn a_model_that_never_ends_is_stopped() {
    let call = calls(&[("none__such", json!({}))]);
    let answers = [call.clone(), call.clone(), call, text("later")];
    let output = chat(&json!({}), &answers, "go\nagain\nonce more\n").await;
    assert_lines(
        &output,
        &[
            "error: no end after 3 answers (--max-rounds)",
            "later",
            "error: the script has no more answers",
        ],
    );
}

#[tokio::test]
async fn servers_that_cannot_be_reached_are_named_and_the_others_work() {
    let servers = json!({
        "missing": {"command": "/none/such-program"},
        "odd": {},
        "unset": {"command": "x", "args": ["${SURELY_NOT_SET}"]},
        "notes": {"command": env!("CARGO_BIN_EXE_notes"), "args": [":memory:"]},
    });
    let answers = [
        calls(&[("notes__delete", json!({"id": 7}))]),
        text("There is none."),
    ];
    let output = chat(&servers, &answers, "delete it\nyes\n/servers\n").await;
    for named in ["-- missing: ", "-- odd: ", "-- unset: "] {
        assert!(output.contains(named), "{named}: {output}");
    }
    assert_lines(&output, &["There is none.", "notes: ready"]);
}

/// Serves a server over HTTP, and returns the configuration with it.
async fn serve(name: &str, server: Server) -> (Value, tokio::task::JoinHandle<()>) {
    let server = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new());
    let server = server.await.unwrap();
    let mut servers = json!({});
    servers[name] = json!({"url": server.url().to_string()});
    let serving = tokio::spawn(async move {
        let _ = server.serve().await;
    });
    (servers, serving)
}

/// A form with a field of each kind.
#[data]
struct Survey {
    /// The number
    #[schema(min = 1, max = 9)]
    count: u8,
    sure: bool,
    colours: Vec<Colour>,
    remark: Option<String>,
}

#[data(rename_all = "lowercase")]
#[derive(Debug)]
enum Colour {
    Red,
    Green,
    Blue,
}

#[tokio::test]
async fn questions_of_servers_name_the_server_and_wait_for_the_user() {
    let think = Tool::builder("think").handler(async |ask: Ask| -> Result<String> {
        let result = ask.sample("What is two and two?").await?;
        let texts = result.content.iter().filter_map(|part| part.as_text());
        Ok(texts.collect())
    });
    let visit = Tool::builder("visit").handler(async |ask: Ask| -> Result<&'static str> {
        ask.url("Log in there", "https://login.example/x?y=1")
            .await?;
        Ok("you went there")
    });
    let survey = Tool::builder("survey").handler(async |ask: Ask| -> Result<String> {
        let Survey {
            count,
            sure,
            colours,
            remark,
        } = ask.form("Tell us").await?;
        Ok(format!("{count} {sure} {colours:?} {remark:?}"))
    });
    let server = Server::new("thinker", "1.0.0");
    let server = server.tool(think).tool(visit).tool(survey).build().unwrap();
    let (servers, serving) = serve("thinker", server).await;

    let answers = [
        calls(&[("thinker__think", json!({}))]),
        text("four"),
        text("It is four."),
    ];
    let output = chat(&servers, &answers, "think\nyes\nyes\n").await;
    assert_lines(
        &output,
        &[
            "-- thinker asks the model:",
            "What is two and two?",
            "It is four.",
        ],
    );

    let answers = [
        calls(&[
            ("thinker__visit", json!({})),
            ("thinker__survey", json!({})),
        ]),
        text("Done."),
    ];
    let lines = "go\nyes\nyes\nyes\nmany\nyes\nred, blue\n\n10\n3\n";
    let output = chat(&servers, &answers, lines).await;
    assert_lines(
        &output,
        &[
            "-- thinker sends you to login.example",
            "https://login.example/x?y=1",
            "-- thinker asks: Tell us",
            "count: The number",
            "sure [yes, no]",
            "colours [red, green, blue]",
            "remark (optional)",
            "must be an integer",
            "is too large",
            "Done.",
        ],
    );
    serving.abort();
}

#[tokio::test]
async fn an_invalid_configuration_is_an_error() {
    let directory = TempDir::new().unwrap();
    for (text, why) in [
        (None, "mcp.json"),
        (Some("{"), "mcp.json"),
        (Some("[]"), "mcp.json"),
    ] {
        let config = directory.path().join("mcp.json");
        if let Some(text) = text {
            fs::write(&config, text).unwrap();
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_chat"));
        command.arg(&config).args(["--model", "m"]);
        let chat = run(command, "").await;
        assert!(
            !chat.succeeded && chat.errors.contains(why),
            "{}",
            chat.errors
        );
    }
    let mut command = program(directory.path(), &json!({}));
    command.arg("--scripted").arg("/none/such");
    let chat = run(command, "").await;
    assert!(
        !chat.succeeded && chat.errors.contains("/none/such"),
        "{}",
        chat.errors
    );
}
