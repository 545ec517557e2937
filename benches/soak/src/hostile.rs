//! Servers on pipes that flood their client, and the client that is flooded.

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use turnbuckle::Client;
use turnbuckle::stdio::Command;

use crate::problem::{Problem, to_problem};
use crate::process::itself;

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
pub(crate) fn serve() -> Result<(), Problem> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value =
            serde_json::from_str(&line.map_err(to_problem)?).map_err(to_problem)?;
        if request["id"].is_null() {
            continue;
        }
        let result = match request["method"].as_str().unwrap_or_default() {
            "initialize" => json!({"protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": {"name": "hostile", "version": "1"}}),
            "tools/list" => page(&request["params"]["cursor"]),
            "tools/call" => {
                send_messages(&mut output)?;
                json!({"content": []})
            }
            _ => {
                let error = json!({"code": -32601, "message": "no such method"});
                let answer = json!({"jsonrpc": "2.0", "id": request["id"], "error": error});
                writeln!(output, "{answer}").map_err(to_problem)?;
                continue;
            }
        };
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        writeln!(output, "{answer}").map_err(to_problem)?;
    }
    Ok(())
}

fn page(cursor: &Value) -> Value {
    let number: u64 = cursor.as_str().and_then(|it| it.parse().ok()).unwrap_or(0);
    let tool = json!({"name": format!("tool-{number}"), "description": "d".repeat(PAGE),
        "inputSchema": {"type": "object"}});
    let mut page = json!({"tools": [tool]});
    if number < PAGES {
        page["nextCursor"] = (number + 1).to_string().into();
    }
    page
}

fn send_messages(output: &mut impl Write) -> Result<(), Problem> {
    let message = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "m".repeat(MESSAGE)}});
    let line = format!("{message}\n");
    for _ in 0..MESSAGES {
        output.write_all(line.as_bytes()).map_err(to_problem)?;
    }
    Ok(())
}

/// Connects to such a server, waits for a line, asks for the list of its tools or calls one, and says what
/// came of it.
pub(crate) async fn ask(calls: bool) -> Result<(), Problem> {
    let server = Command::new(itself()?).arg("hostile");
    let client = Client::builder("flooded", "1.0.0").on_log(|_| {});
    let client = client.connect(server).await.map_err(to_problem)?;
    println!("{CONNECTED}");
    std::io::stdin().lines().next();
    let outcome = if calls {
        client.call_tool("any", &json!({})).send().await.map(drop)
    } else {
        client.list_tools().fetch_all().await.map(drop)
    };
    match outcome {
        Ok(()) => println!("all of it was taken"),
        Err(error) => println!("{GIVEN_UP}{error}"),
    }
    client.close().await;
    // Until the end of its input, what it still holds can be seen.
    while std::io::stdin().lines().next().is_some() {
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
