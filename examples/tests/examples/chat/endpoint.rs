//! A model behind an endpoint in the test, which sees the messages of the conversation.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use turnbuckle::prelude::*;

use super::{assert_lines, program, run, serve};

/// A request to the endpoint: its head in lower case, and its body.
type SeenRequest = (String, Value);

/// Answers requests to a model's endpoint with these statuses and bodies, one after another. Returns
/// the URL and the requests.
async fn endpoint(answers: Vec<(u16, Value)>) -> (String, Arc<Mutex<Vec<SeenRequest>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let seen: Arc<Mutex<Vec<SeenRequest>>> = Arc::default();
    let requests = seen.clone();
    tokio::spawn(async move {
        for (status, answer) in answers {
            let (mut socket, _) = listener.accept().await.unwrap();
            let request = read_request(&mut socket).await;
            requests.lock().unwrap().push(request);
            let body = answer.to_string();
            let head = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all((head + &body).as_bytes()).await.unwrap();
        }
    });
    (url, seen)
}

async fn read_request(socket: &mut TcpStream) -> SeenRequest {
    let mut bytes = Vec::new();
    loop {
        assert_ne!(socket.read_buf(&mut bytes).await.unwrap(), 0);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            return (head.to_lowercase(), body);
        }
    }
}

#[tokio::test]
async fn an_openai_compatible_endpoint_is_the_model() {
    let tool = Tool::builder("add")
        .description("Adds")
        .handler(|| "the sum is 4");
    let server = Server::new("sums", "1.0.0").tool(tool).build().unwrap();
    let (servers, serving) = serve("sums", server).await;
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "sums__add", "arguments": "{}"}});
    let message = |message: Value| (200, json!({"choices": [{"message": message}]}));
    let (url, seen) = endpoint(vec![
        message(json!({"role": "assistant", "content": null, "tool_calls": [call]})),
        message(json!({"role": "assistant", "content": "four"})),
        (429, json!({"error": "slow down"})),
    ])
    .await;
    let directory = TempDir::new().unwrap();
    let mut command = program(directory.path(), &servers);
    command
        .args(["--model", "small", "--url", &url])
        .env("OPENAI_API_KEY", "the-key");
    let chat = run(command, "add\nyes\nonce more\n").await;
    assert!(chat.succeeded, "{}", chat.errors);
    assert_lines(
        &chat.output,
        &[
            "four",
            "answered 429 Too Many Requests: {\"error\":\"slow down\"}",
        ],
    );
    assert!(!(chat.output + &chat.errors).contains("the-key"));

    let seen = seen.lock().unwrap();
    let (head, body) = &seen[0];
    assert!(head.starts_with("post /v1/chat/completions "), "{head}");
    assert!(head.contains("authorization: bearer the-key"), "{head}");
    assert_eq!(body["model"], "small");
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": "add"}])
    );
    let function = &body["tools"][0]["function"];
    assert_eq!(function["name"], "sums__add");
    assert_eq!(function["description"], "Adds");
    assert_eq!(function["parameters"]["type"], "object");
    let result = json!({"role": "tool", "tool_call_id": "c1", "content": "the sum is 4"});
    assert_eq!(seen[1].1["messages"][2], result);
    serving.abort();
}

/// Returns the contents of the messages of a request to the endpoint.
fn contents(request: &SeenRequest) -> Vec<&str> {
    let messages = request.1["messages"].as_array().unwrap();
    let contents = messages.iter().map(|message| &message["content"]);
    contents
        .map(|text| text.as_str().unwrap_or_default())
        .collect()
}

#[tokio::test]
async fn the_oldest_messages_are_dropped_and_each_call_keeps_a_result() {
    let tool = Tool::builder("count").handler(|| "x".repeat(200));
    let server = Server::new("counter", "1.0.0").tool(tool).build().unwrap();
    let (servers, serving) = serve("counter", server).await;
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "counter__count", "arguments": "{}"}});
    let calls = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let says = |text: &str| json!({"role": "assistant", "content": text});
    let answers = [
        says("one"),
        calls.clone(),
        calls,
        says("two"),
        says("three"),
    ];
    let answers = answers.map(|message| (200, json!({"choices": [{"message": message}]})));
    let (url, seen) = endpoint(answers.into()).await;
    let third = "third ".repeat(20).trim_end().to_owned();
    let directory = TempDir::new().unwrap();
    let mut command = program(directory.path(), &servers);
    command.args(["--model", "small", "--url", &url, "--max-history", "760"]);
    let chat = run(command, &format!("first\nsecond\nalways\n{third}\n")).await;
    assert!(chat.succeeded, "{}", chat.errors);
    assert_lines(&chat.output, &["one", "two", "three"]);

    let seen = seen.lock().unwrap();
    let result = "x".repeat(200);
    let left_out = "(left out: the conversation is too long)";
    assert_eq!(contents(&seen[1]), ["first", "one", "second"]);
    assert_eq!(contents(&seen[2]), ["first", "one", "second", "", &result]);
    assert_eq!(contents(&seen[3]), ["second", "", left_out, "", &result]);
    assert_eq!(contents(&seen[4]), [third]);
    serving.abort();
}

#[prompt]
fn ask(about: String) -> String {
    format!("Explain {about}")
}

#[tokio::test]
async fn resources_and_prompts_of_the_servers_become_messages() {
    let note = Resource::builder("notes://1", "note").handler(|_: ReadRequest| "tea is green");
    let server = Server::new("notes", "1.0.0")
        .resource(note)
        .prompts(prompts![ask]);
    let (servers, serving) = serve("notes", server.build().unwrap()).await;
    let answer = || {
        (
            200,
            json!({"choices": [{"message": {"role": "assistant", "content": "so"}}]}),
        )
    };
    let (url, seen) = endpoint(vec![answer(), answer()]).await;
    let directory = TempDir::new().unwrap();
    let mut command = program(directory.path(), &servers);
    command.args(["--model", "small", "--url", &url]);
    let lines = "/resources\n/attach notes+notes://1\nwhat is it?\n/prompts\n\
        /prompt notes__ask about=tea\n/attach notes+notes://2\n/prompt none\n/prompt x y\n";
    let chat = run(command, lines).await;
    assert_lines(
        &chat.output,
        &[
            "notes+notes://1  note",
            "so",
            "notes__ask about=…",
            "so",
            "error: ",
            "error: ",
            "error: an argument is NAME=VALUE",
        ],
    );
    let seen = seen.lock().unwrap();
    let attached = "The resource notes+notes://1:\ntea is green\n\nwhat is it?";
    assert_eq!(contents(&seen[0]), [attached]);
    assert_eq!(contents(&seen[1]), [attached, "so", "Explain tea"]);
    serving.abort();
}
