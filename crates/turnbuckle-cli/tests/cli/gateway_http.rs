//! `gateway` over HTTP: users, upstreams by URL and by OpenAPI document, restarts, metrics.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use turnbuckle::http::{HttpServer, HttpServerOptions};
use turnbuckle::{HandlerContext, Server, Tool};

use crate::peers::legacy_server;
use crate::serving::{Issuer, Serving, initialize, open, post, read};
use crate::support::{HttpDemo, Scratch, command, run};

/// Starts a gateway of a file at a free port.
fn start(file: &str, variables: &[(&str, &str)]) -> Serving {
    let mut command = command(&["gateway", "-f", file, "--port", "0"]);
    command.envs(variables.iter().copied());
    Serving::start(command)
}

/// Returns the table of an upstream with a legacy server in `sh`, whose tool returns its process.
fn script(name: &str, mode: &str) -> String {
    let script = legacy_server("call() { text $$; }");
    let command = json!(["sh", "-c", script]);
    format!("[upstream.{name}]\ncommand = {command}\nmode = \"{mode}\"\n")
}

/// Waits until the audit log has a line with all of these texts, and returns it.
fn wait_for_line(folder: &Scratch, texts: &[&str]) -> String {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let log = std::fs::read_to_string(folder.path().join("audit.jsonl")).unwrap_or_default();
        let mut lines = log.lines();
        if let Some(line) = lines.find(|line| texts.iter().all(|text| line.contains(text))) {
            return line.to_owned();
        }
        assert!(Instant::now() < deadline, "{texts:?}: {log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A server over HTTP whose tool returns the header and the trace of its request.
struct Echo {
    _runtime: Runtime,
    url: String,
}

impl Echo {
    fn start() -> Self {
        let tool = Tool::builder("echo").handler(|context: HandlerContext| {
            let header = context.http().and_then(|http| http.header("x-user"));
            let meta = context.meta().unwrap_or_default();
            let trace: Option<String> = meta.get("traceparent");
            format!("{header:?} {trace:?}")
        });
        let server = Server::new("echo", "1")
            .tool(tool)
            .build()
            .expect("it can be built");
        server.keep_http_heads();
        let runtime = Runtime::new().expect("it starts");
        let http = HttpServer::bind(server, "127.0.0.1:0", HttpServerOptions::new());
        let http = runtime.block_on(http).expect("a port is free");
        let url = http.url();
        runtime.spawn(http.serve());
        Self {
            _runtime: runtime,
            url,
        }
    }
}

/// Returns a modern call of a tool, and the head of its request.
fn modern_call(tool: &str, arguments: &Value, traceparent: &str) -> (String, Value) {
    let head = format!(
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
    );
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "traceparent": traceparent,
        },
    }});
    (head, message)
}

#[test]
fn a_gateway_lets_users_in_keeps_them_apart_and_says_who_calls() {
    const RESOURCE: &str = "http://127.0.0.1/mcp";
    let (issuer, echo, folder) = (Issuer::start(), Echo::start(), Scratch::new());
    let text = format!(
        "audit = 'audit.jsonl'\nmetrics = '/metrics'\n\
         auth = {{ issuer = '{}', resource = '{RESOURCE}', scopes = ['use'] }}\n{}\
         [upstream.web]\nurl = '{}'\nmode = 'per-principal'\n\
         header_principal = {{ X-User = 'subject' }}\nscopes = {{ echo = ['echo'] }}\n",
        issuer.url,
        script("own", "per-principal"),
        echo.url,
    );
    let gateway = start(&folder.file("gateway.toml", &text), &[]);
    let call = |user: &str, scopes: &[&str], tool: &str| {
        let token = issuer.token(user, RESOURCE, scopes);
        gateway.call(&[tool, "-H", &format!("Authorization: Bearer {token}")])
    };
    let ann = call("ann", &["use"], "own__t").ends(0).out;
    assert_eq!(call("ann", &["use"], "own__t").ends(0).out, ann);
    assert_ne!(call("bob", &["use"], "own__t").ends(0).out, ann);
    for user in ["ann", "bob"] {
        let echoed = call(user, &["use", "echo"], "web__echo").ends(0).out;
        assert!(echoed.starts_with(&format!("Some({user:?})")), "{echoed}");
    }
    call("ann", &["use"], "web__echo").ends(3);
    call("ann", &["other"], "own__t").ends(3);
    gateway.call(&["own__t"]).ends(3);

    // The trace of the client reaches the upstream.
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let (head, message) = modern_call("web__echo", &json!({}), trace);
    let token = issuer.token("ann", RESOURCE, &["use", "echo"]);
    let head = format!("{head}Authorization: Bearer {token}\r\n");
    let response = post(&gateway.url, &head, &message);
    assert!(response.contains(trace), "{response}");

    let url = gateway.url.replace("/mcp", "/readyz");
    let ready = read(open(&url, "GET", "", ""));
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    let url = gateway.url.replace("/mcp", "/metrics");
    let metrics = read(open(&url, "GET", "", ""));
    for line in [
        "duration_seconds_count{upstream=\"own\",method=\"tools/call\",outcome=\"completed\"} 3",
        "duration_seconds_count{upstream=\"web\",method=\"tools/call\",outcome=\"completed\"} 3",
        "upstream=\"web\",method=\"tools/call\",outcome=\"missing_scopes\"} 1",
        "outcome=\"unauthorized\"}",
        "turnbuckle_gateway_upstream_ready{upstream=\"web\"} 1",
        "turnbuckle_gateway_audit_lost_lines_total 0",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    wait_for_line(&folder, &["\"principal\":\"bob\"", "\"item\":\"echo\""]);
}

#[test]
fn a_session_outlives_a_restart_of_a_gateway_with_a_store() {
    let folder = Scratch::new();
    let text = format!(
        "store = 'sqlite:gateway.db'\nkeys_env = 'KEYS'\n{}",
        script("own", "per-session")
    );
    let file = folder.file("gateway.toml", &text);
    let keys = run(&["keys", "generate"]).ends(0).out;
    let variables = [("KEYS", keys.trim())];
    let mut first = start(&file, &variables);
    let session = initialize(&first.url, "");
    let head = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let call =
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "own__t"}});
    let before = post(&first.url, &head, &call);
    assert!(before.contains("\"text\""), "{before}");
    assert_eq!(
        post(&first.url, &head, &call).lines().last(),
        before.lines().last()
    );
    let other = initialize(&first.url, "");
    let other = format!("Mcp-Session-Id: {other}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let other = post(&first.url, &other, &call);
    assert_ne!(other.lines().last(), before.lines().last());
    first.kill();
    let second = start(&file, &variables);
    let after = post(&second.url, &head, &call);
    assert!(after.contains("\"text\""), "{after}");
    let unknown = head.replace(&session, "00000000-0000-4000-8000-000000000000");
    let unknown = post(&second.url, &unknown, &call);
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    assert!(folder.path().join("gateway.db").exists());
}

/// Starts a web API that answers each request with a list. Returns its URL, and the heads of its requests.
fn web_api() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!(
        "http://{}",
        listener.local_addr().expect("it has an address")
    );
    let (heads, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("it connects");
            let lines = BufReader::new(stream.try_clone().expect("it can be cloned")).lines();
            let lines = lines
                .map_while(Result::ok)
                .take_while(|line| !line.is_empty());
            let head: Vec<String> = lines.collect();
            if heads.send(head.join("\n")).is_err() {
                return;
            }
            let body = "[{\"name\":\"Ann\"}]";
            let size = body.len();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\
                 Connection: close\r\n\r\n{body}"
            );
        }
    });
    (url, received)
}

#[test]
fn operations_of_an_api_are_called_with_a_key_of_the_environment_as_far_as_they_are_allowed() {
    let (api, heads) = web_api();
    let folder = Scratch::new();
    let document = json!({
        "openapi": "3.1.0",
        "info": {"title": "CRM", "version": "1"},
        "servers": [{"url": "https://crm.example.com"}],
        "paths": {"/contacts": {
            "get": {"operationId": "listContacts", "responses": {}},
            "delete": {"operationId": "deleteContacts", "responses": {}},
        }},
    });
    folder.file("crm.json", &document.to_string());
    let text = format!(
        "audit = 'audit.jsonl'\n[upstream.crm]\nopenapi = 'crm.json'\nserver_url = '{api}'\n\
         allow = ['list*']\nheader_env = {{ X-Api-Key = 'CRM_KEY' }}\n"
    );
    let file = folder.file("gateway.toml", &text);
    let gateway = start(&file, &[("CRM_KEY", "hunter2")]);
    let listed = gateway.call(&["crm__listContacts"]).ends(0);
    assert!(listed.out.contains("Ann"), "{listed:#?}");
    let head = heads.recv().expect("it was asked");
    assert!(head.starts_with("GET /contacts HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("x-api-key: hunter2"), "{head}");
    assert_ne!(gateway.call(&["crm__deleteContacts"]).code, Some(0));
    let raw = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "crm__deleteContacts"}});
    let session = initialize(&gateway.url, "");
    let session = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
    let refused = post(&gateway.url, &session, &raw);
    assert!(refused.contains("\"error\""), "{refused}");
    assert!(heads.try_recv().is_err(), "the API was asked again");
    let line = wait_for_line(&folder, &["\"item\":\"deleteContacts\"", "\"denied\""]);
    assert!(!line.contains("hunter2"), "{line}");
}

#[test]
fn headers_that_mirror_arguments_are_checked_and_sent_on() {
    let demo = HttpDemo::start();
    let folder = Scratch::new();
    let file = folder.file(
        "gateway.toml",
        &format!("[upstream.demo]\nurl = '{}'\n", demo.url),
    );
    let gateway = start(&file, &[]);
    // The demo refuses a call without them, as the gateway does.
    let called = gateway
        .call(&["demo__test_x_mcp_header", "suffix=x"])
        .ends(0);
    assert!(!called.out.is_empty());
    for (tool, url) in [
        ("test_x_mcp_header", &demo.url),
        ("demo__test_x_mcp_header", &gateway.url),
    ] {
        let (head, message) = modern_call(tool, &json!({"suffix": "x"}), "");
        let refused = post(url, &head, &message);
        assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    }
}
