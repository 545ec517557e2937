//! A server on a pipe that floods its client, and that client.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnbuckle::Client;
use turnbuckle::stdio::Command;

use crate::problem::Result;
use crate::process::itself;
use crate::role::print_line;

/// The bytes of the only item of a page: nearly as many as a message may have.
const PAGE: usize = 15 << 20;

/// Pages after which a list comes to its end all the same: 2 GiB.
const PAGES: u64 = 150;

/// Messages about one request, and the bytes of each.
const MESSAGES: u64 = 50_000;
const MESSAGE: usize = 60_000;

/// The line that a flooded client prints once it is connected, and the beginning of the one that it prints
/// when it has given its server up.
pub(crate) const CONNECTED: &str = "connected";
pub(crate) const GIVEN_UP: &str = "given up: ";

/// Serves lists whose pages are large and many, and calls with very many messages.
pub(crate) fn serve() -> Result {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        let method = request["method"].as_str().unwrap_or_default();
        let result = match method {
            _ if request["id"].is_null() => continue,
            "initialize" => json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "hostile", "version": "1"}}),
            "tools/list" => page(&request["params"]["cursor"]),
            "tools/call" => {
                let message = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": "m".repeat(MESSAGE)}});
                let line = format!("{message}\n");
                for _ in 0..MESSAGES {
                    output.write_all(line.as_bytes())?;
                }
                json!({"content": []})
            }
            _ => Value::Null,
        };
        let mut answer = json!({"jsonrpc": "2.0", "id": request["id"]});
        if result.is_null() {
            answer["error"] = json!({"code": -32601, "message": "no such method"});
        } else {
            answer["result"] = result;
        }
        writeln!(output, "{answer}")?;
    }
    Ok(())
}

fn page(cursor: &Value) -> Value {
    let number: u64 = cursor
        .as_str()
        .and_then(|cursor| cursor.parse().ok())
        .unwrap_or(0);
    let tool = json!({"name": format!("tool-{number}"), "description": "d".repeat(PAGE),
        "inputSchema": {"type": "object"}});
    let mut page = json!({"tools": [tool]});
    if number < PAGES {
        page["nextCursor"] = (number + 1).to_string().into();
    }
    page
}

/// Connects to such a server, waits for a line, lists its tools or calls one, and prints the outcome.
pub(crate) async fn ask(calls: bool) -> Result {
    let server = Command::new(itself()?).arg("hostile");
    let client = Client::builder("flooded", "1.0.0").on_log(|_| {});
    let client = client.connect(server).await?;
    print_line(CONNECTED)?;
    std::io::stdin().lines().next();
    let outcome = if calls {
        client.call_tool("any", &json!({})).await.map(drop)
    } else {
        client.list_tools().fetch_all().await.map(drop)
    };
    print_line(&match outcome {
        Ok(()) => "all of it was taken".to_owned(),
        Err(error) => format!("{GIVEN_UP}{error}"),
    })?;
    client.close().await;
    // Until the end of its input, the memory that it still has can be seen.
    while std::io::stdin().lines().next().is_some() {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
