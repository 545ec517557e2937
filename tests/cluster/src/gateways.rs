//! Two gateways behind HAProxy: a question of a server behind them that came through one of them is answered
//! through the other one.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::{Response, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout};
use turnbuckle::SecretKey;
use turnbuckle_engines::ReservedPort;

use crate::haproxy::{Haproxy, SERVER_HEADER};
use crate::problem::Problem;
use crate::raw_http::{Connection, Events, in_session};

/// The revision of a modern client.
const MODERN: &str = "2026-07-28";

/// The tool that asks.
const TOOL: &str = "demo__test_elicitation";

/// The calls in each era.
const CALLS: usize = 6;

/// The time in which a gateway must listen, and end when it is told to.
const LIMIT: Duration = Duration::from_secs(20);

/// Calls a tool that asks, answers through the other gateway each time, and leaves a call that waits. Then the
/// gateways are told to stop, and nothing of them must be left.
pub(crate) async fn run(tool: &Path, store: &str, folder: &Path) -> Result<(), Problem> {
    let began = Instant::now();
    let file = folder.join("gateway.toml");
    let demo = tool.display();
    fs::write(
        &file,
        format!(
            "store = \"{store}\"\nkeys_env = \"TURNBUCKLE_KEYS\"\n\n\
             [upstream.demo]\ncommand = [\"{demo}\", \"demo\", \"--stdio\"]\n"
        ),
    )?;
    let keys = SecretKey::generate()?.to_text();
    let reserved = [ReservedPort::new()?, ReservedPort::new()?];
    let ports = reserved.each_ref().map(ReservedPort::number);
    let mut gateways = Vec::new();
    for port in ports {
        gateways.push(start(tool, &file, port, &keys).await?);
    }
    let haproxy = Haproxy::start(folder, &ports).await?;
    for number in 0..CALLS {
        modern_call(&haproxy, &format!("modern {number}")).await?;
        legacy_call(&haproxy, &format!("legacy {number}")).await?;
    }
    ask(&haproxy, &mut modern_params("left")).await?;
    let mut processes = Vec::new();
    for gateway in &gateways {
        let id = gateway.id().ok_or("a gateway has ended by itself")?;
        let children = children_of(id)?;
        if children.is_empty() {
            return Err("a gateway has no server behind it".into());
        }
        processes.extend(children);
    }
    for gateway in &mut gateways {
        stop(gateway).await?;
    }
    if let Some(left) = processes.iter().find(|id| is_running(**id)) {
        return Err(format!("the server {left} of a gateway that was told to stop is left").into());
    }
    println!("gateways: {CALLS} calls in each era, {:?}", began.elapsed());
    Ok(())
}

async fn start(tool: &Path, file: &Path, port: u16, keys: &str) -> Result<Child, Problem> {
    let mut child = Command::new(tool)
        .args(["gateway", "--port", &port.to_string(), "--file"])
        .arg(file)
        .env("TURNBUCKLE_KEYS", keys)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let output = child.stdout.take().ok_or("no standard output")?;
    let mut lines = BufReader::new(output).lines();
    let ready = timeout(LIMIT, lines.next_line()).await;
    match ready.map_err(|_| "a gateway did not start in time")?? {
        Some(_) => Ok(child),
        None => Err("a gateway ended at its start".into()),
    }
}

async fn stop(gateway: &mut Child) -> Result<(), Problem> {
    let id = gateway.id().ok_or("a gateway has ended by itself")?;
    std::process::Command::new("kill")
        .arg(id.to_string())
        .status()?;
    let ended = timeout(LIMIT, gateway.wait()).await;
    let status = ended.map_err(|_| "a gateway that was told to stop goes on")??;
    match status.success() {
        true => Ok(()),
        false => Err(format!("a gateway that was told to stop ended with {status}").into()),
    }
}

/// Returns the processes that a process has started and that run.
fn children_of(parent: u32) -> Result<Vec<u32>, Problem> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        if let Some(id) = name.to_str().and_then(|name| name.parse().ok())
            && status_of(id).is_some_and(|(_, of)| of == parent)
        {
            children.push(id);
        }
    }
    Ok(children)
}

fn is_running(process: u32) -> bool {
    status_of(process).is_some_and(|(state, _)| state != 'Z')
}

/// Returns the state of a process and its parent.
fn status_of(process: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?))
}

fn answer(name: &str) -> Value {
    let content = json!({ "username": name, "email": "ann@example.com" });
    json!({ "action": "accept", "content": content })
}

/// Checks the text of a call that was answered.
fn check(response: &Value, name: &str) -> Result<(), Problem> {
    let text = response["result"]["content"][0]["text"].as_str();
    match text.is_some_and(|text| text.contains(name)) {
        true => Ok(()),
        false => Err(format!("a call whose question was answered came to {response}").into()),
    }
}

/// Returns the gateway that a response is of.
fn gateway_of(response: &Response<Incoming>) -> String {
    let name = response.headers().get(SERVER_HEADER);
    let name = name.and_then(|name| name.to_str().ok());
    name.unwrap_or_default().to_owned()
}

fn check_other(one: &str, other: &str) -> Result<(), Problem> {
    match one != other && !one.is_empty() {
        true => Ok(()),
        false => Err(format!("{other:?} got the question and the answer").into()),
    }
}

fn modern_params(message: &str) -> Value {
    json!({
        "name": TOOL, "arguments": { "message": message },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
        },
    })
}

/// Sends a call of a modern client through a connection of its own. Returns the response, and the gateway.
async fn post_modern(haproxy: &Haproxy, params: &Value) -> Result<(Value, String), Problem> {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/call"),
        ("mcp-name", TOOL),
    ];
    let mut connection = Connection::open(haproxy.address()).await?;
    let response = connection.post(&headers, &call).await?;
    let gateway = gateway_of(&response);
    let kind = response.headers().get("content-type");
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        return Ok((Events::new(response).next().await?, gateway));
    }
    let body = response.into_body().collect().await?.to_bytes();
    Ok((serde_json::from_slice(&body)?, gateway))
}

/// Sends a call, which must come to a question, and adds the answer to its parameters. Returns the gateway.
async fn ask(haproxy: &Haproxy, params: &mut Value) -> Result<String, Problem> {
    let (response, gateway) = post_modern(haproxy, params).await?;
    let result = &response["result"];
    let questions = result["inputRequests"].as_object();
    let questions = questions.ok_or_else(|| format!("a call asked nothing: {response}"))?;
    let name = params["arguments"]["message"].as_str().unwrap_or_default();
    let answers: Value = questions
        .keys()
        .map(|key| (key.clone(), answer(name)))
        .collect();
    params["inputResponses"] = answers;
    params["requestState"] = result["requestState"].clone();
    Ok(gateway)
}

async fn modern_call(haproxy: &Haproxy, name: &str) -> Result<(), Problem> {
    let mut params = modern_params(name);
    let asked = ask(haproxy, &mut params).await?;
    let (response, answered) = post_modern(haproxy, &params).await?;
    check_other(&asked, &answered)?;
    check(&response, name)
}

async fn legacy_call(haproxy: &Haproxy, name: &str) -> Result<(), Problem> {
    let session = Connection::open(haproxy.address())
        .await?
        .open_session()
        .await?;
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": { "name": TOOL, "arguments": { "message": name } },
    });
    let mut connection = Connection::open(haproxy.address()).await?;
    let response = connection.post(&in_session(&session), &call).await?;
    let asked = gateway_of(&response);
    let mut events = Events::new(response);
    let question = events.next().await?;
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer(name) });
    let mut connection = Connection::open(haproxy.address()).await?;
    let accepted = connection.post(&in_session(&session), &answer).await?;
    if accepted.status() != StatusCode::ACCEPTED {
        return Err(format!("an answer came to {}", accepted.status()).into());
    }
    check_other(&asked, &gateway_of(&accepted))?;
    check(&events.next().await?, name)
}
