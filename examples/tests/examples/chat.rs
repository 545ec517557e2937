//! Tests of the `chat` client with several servers and a script of commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::prelude::*;

use crate::harness::{Example, with_timeout};

/// Runs a chat with these servers and commands, and returns its output and whether it succeeded.
async fn chat(servers: &Value, lines: &str, model: Option<&str>) -> (String, bool) {
    let directory = TempDir::new().unwrap();
    let (config, script) = (
        directory.path().join("mcp.json"),
        directory.path().join("script"),
    );
    fs::write(&config, json!({"mcpServers": servers}).to_string()).unwrap();
    fs::write(&script, lines).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_chat"));
    command.arg(&config).arg("--script").arg(&script);
    if let Some(model) = model {
        command.args(["--model", model]);
    }
    let running = command
        .env("CHAT_DB", "notes.db")
        .kill_on_drop(true)
        .output();
    let output = with_timeout(running).await.unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (stdout, output.status.success())
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
async fn several_servers_are_driven_over_pipes_and_http() {
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
    let lines = "
# Notes
notes.add title='Two words' body=text tags=[\"home\"]
wait
notes.add {\"title\": \"Other\", \"body\": \"more\"}
wait
notes.search text=two
read notes notes://1
prompt notes.summarize tag=home
watch notes notes://2
notes.edit id=2 body=new
wait
# A form with a choice, one that has to be typed, and one that is declined
deploy.deploy service=shop version=1.0
moon
production
shop
:decline
backup.run
tools
resources
prompts
servers
quit
not reached
";
    let (output, succeeded) = chat(&servers, lines, None).await;
    assert!(succeeded, "{output}");
    assert_lines(&output, &["Two words", "-- notes: its resources changed"]);
    assert_lines(
        &output,
        &[
            "# Two words",
            "text",
            "Summarize them",
            "-- notes: notes://2 changed",
        ],
    );
    assert_lines(
        &output,
        &[
            "-- deploy asks: Deploy shop 1.0",
            "environment",
            "[staging, production]",
            "-- deploy asks: Deploy shop 1.0 to production? Type",
            "-- deploy asks: shop 1.0 to production is deployed",
            "released shop",
        ],
    );
    assert_lines(
        &output,
        &[
            "-- backup: ",
            "   0/1 a.txt",
            "   1/1 a.txt",
            "\"copied\":1",
        ],
    );
    assert_lines(
        &output,
        &[
            "backup.run  Copy new and changed files",
            "deploy.deploy",
            "notes.add  Write a new note.",
        ],
    );
    assert_lines(
        &output,
        &[
            "notes notes://1  Two words",
            "notes notes://{id}",
            "notes.summarize",
        ],
    );
    assert_lines(
        &output,
        &["backup: backup", "deploy: deploy", "notes: notes"],
    );
    assert!(!output.contains("error"), "{output}");
}

#[tokio::test]
async fn errors_are_printed_and_later_commands_run() {
    let servers = json!({
        "missing": {"command": "/none/such-program"},
        "odd": {},
        "unset": {"command": "x", "args": ["${SURELY_NOT_SET}"]},
        "notes": {"command": env!("CARGO_BIN_EXE_notes"), "args": [":memory:"]},
    });
    let lines = "
nonsense
other.tool
notes.fly
notes.add title
notes.add {\"title\": }
notes.add body=x
notes.delete id=7
read other notes://1
read notes
read notes notes://1
tools now
notes.add title=a body=b
";
    let (output, succeeded) = chat(&servers, lines, None).await;
    assert!(!succeeded);
    assert_lines(
        &output,
        &[
            "\"nonsense\" is not a command; type help",
            "there is no server \"other\"; there are: notes",
            "notes has no tool \"fly\"; it has: add, edit, delete, search",
            "\"title\" is not key=value",
            "the arguments are not valid JSON: expected value",
            "title",
            "there is no note 7",
            "notes.delete failed",
            "there is no server \"other\"",
            "read SERVER URI",
            "error: ",
            "tools takes no arguments",
            "\"id\":1",
        ],
    );
    for unreachable in [
        "error: missing: ",
        "error: odd: the server has neither a command nor a url",
        "error: unset: the environment variable SURELY_NOT_SET is not set",
    ] {
        assert!(output.contains(unreachable), "{unreachable}: {output}");
    }
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
async fn models_answer_and_new_tools_are_used() {
    let think = Tool::builder("think").handler(async |ask: Ask| -> Result<String> {
        let result = ask.sample("What is two and two?").await?;
        let texts = result.content.iter().filter_map(|part| part.as_text());
        Ok(format!(
            "{} said: {}",
            result.model,
            texts.collect::<String>()
        ))
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
    let grow = Tool::builder("grow").handler(|context: HandlerContext| -> Result<&'static str> {
        let new = Tool::builder("new").handler(|| "something new");
        context.server().add_tool(new)?;
        Ok("there is more now")
    });
    let server = Server::new("thinker", "1.0.0")
        .tool(think)
        .tool(visit)
        .tool(survey)
        .tool(grow)
        .build()
        .unwrap();
    let server = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new())
        .await
        .unwrap();
    let url = server.url();
    let serving = tokio::spawn(server.serve());
    let servers = json!({"my.thinker": {"url": url.to_string()}});
    let lines = "my.thinker.think\nmy.thinker.grow\nwait\nmy.thinker.new\n";
    let (output, succeeded) = chat(&servers, lines, None).await;
    assert!(succeeded, "{output}");
    assert_lines(
        &output,
        &[
            "-- my.thinker asks the model",
            "echo said: What is two and two?",
            "there is more now",
            "something new",
        ],
    );
    assert!(
        output.contains("-- my.thinker: its tools changed"),
        "{output}"
    );

    let lines = "my.thinker.visit\nyes\nmy.thinker.survey\nmany\nyes\nred, blue\n\n10\n3\n";
    let (output, succeeded) = chat(&servers, lines, None).await;
    assert!(succeeded, "{output}");
    assert_lines(
        &output,
        &[
            "-- my.thinker sends you to login.example",
            "https://login.example/x?y=1",
            "you went there",
            "count: The number",
            "sure [yes, no]",
            "colours [red, green, blue]",
            "remark (optional)",
            "must be an integer",
            "count: The number",
            "is too large",
            "3 true [Red, Blue] None",
        ],
    );
    let lines = "my.thinker.visit\nno\nmy.thinker.survey\n:cancel\nmy.thinker.survey";
    let (output, succeeded) = chat(&servers, lines, None).await;
    assert!(!succeeded, "{output}");
    assert_lines(
        &output,
        &["declined", "closed the question", "closed the question"],
    );

    let (output, _) = chat(&servers, "my.thinker.think\n", Some("tr a-z A-Z")).await;
    assert_lines(&output, &["tr a-z A-Z said: WHAT IS TWO AND TWO?"]);
    let (output, succeeded) = chat(&servers, "my.thinker.think\n", Some("false")).await;
    assert!(!succeeded && output.contains("error"), "{output}");
    serving.abort();
}

#[tokio::test]
async fn commands_are_read_from_standard_input_until_its_end() {
    let directory = TempDir::new().unwrap();
    let config = directory.path().join("mcp.json");
    fs::write(&config, "{\"mcpServers\": {}}").unwrap();
    with_timeout(async {
        let mut chat = Command::new(env!("CARGO_BIN_EXE_chat"))
            .arg(&config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut typed = chat.stdin.take().unwrap();
        typed.write_all(b"help\n\xff\xfe\nhelp\n").await.unwrap();
        drop(typed);
        let output = chat.wait_with_output().await.unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.starts_with("servers "), "{stdout}");
    })
    .await;
}

#[tokio::test]
async fn an_invalid_configuration_is_an_error() {
    let directory = TempDir::new().unwrap();
    for (text, why) in [
        (None, "No such file"),
        (Some("{"), "EOF"),
        (Some("{}"), "mcpServers"),
        (
            Some("{\"mcpServers\": {\"a b\": {}}}"),
            "\"a b\" is not a valid name",
        ),
    ] {
        let config = directory.path().join("mcp.json");
        if let Some(text) = text {
            fs::write(&config, text).unwrap();
        }
        let output = Command::new(env!("CARGO_BIN_EXE_chat"))
            .arg(&config)
            .output();
        let output = with_timeout(output).await.unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr.contains(why), "{stderr}");
    }
}
