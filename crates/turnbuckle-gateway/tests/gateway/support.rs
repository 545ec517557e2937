//! An upstream in this process, and a gateway in front of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use turnbuckle::prelude::*;
use turnbuckle::servers::InProcess;
use turnbuckle::testing::TestClient;
use turnbuckle::{CompletionRequest, ReadRequest, testing};
use turnbuckle_gateway::{Gateway, GatewayFile};

/// The names and URIs of the items that an upstream was asked for.
pub(crate) type Used = Arc<Mutex<Vec<String>>>;

/// Returns an upstream with tools and prompts of these names, a resource and a template, which remembers what
/// it was asked for.
pub(crate) fn upstream(names: &'static [&'static str], used: &Used) -> Server {
    let mut server = Server::new("upstream", "1.0.0");
    for name in names {
        let (for_tool, for_prompt, for_completion) = (used.clone(), used.clone(), used.clone());
        let (tool, prompt, typed) = ((*name).to_owned(), (*name).to_owned(), (*name).to_owned());
        server = server
            .tool(
                Tool::builder(*name).handler(move |arguments: RawArguments| {
                    let _ = arguments;
                    for_tool.lock().unwrap().push(format!("tool {tool}"));
                    match tool.ends_with("fail") {
                        true => Err(Failure::new("it failed")),
                        false => Ok("done".to_owned()),
                    }
                }),
            )
            .prompt(
                Prompt::builder(*name)
                    .arguments([turnbuckle::types::PromptArgument::new("topic")])
                    .complete("topic", move |_: CompletionRequest| {
                        for_completion
                            .lock()
                            .unwrap()
                            .push(format!("completion {typed}"));
                        async { vec!["tea".to_owned()] }
                    })
                    .handler(move |arguments: RawArguments| {
                        let _ = arguments;
                        for_prompt.lock().unwrap().push(format!("prompt {prompt}"));
                        "a prompt".to_owned()
                    }),
            );
    }
    for uri in ["db://main", "db://{+path}"] {
        let used = used.clone();
        let read = move |read: ReadRequest| {
            used.lock().unwrap().push(format!("uri {}", read.uri));
            "text".to_owned()
        };
        server = server.resource(Resource::builder(uri, "db").handler(read));
    }
    server.build().unwrap()
}

/// Returns a gateway in front of an upstream `up`, whose table has these lines.
pub(crate) async fn gateway(rules: &str, upstream: Server, directory: &Path) -> Gateway {
    let (top, rules) = rules.split_once("---").unwrap_or(("", rules));
    let file = GatewayFile::parse_toml(&format!("{top}\n[upstream.up]\n{rules}")).unwrap();
    Gateway::builder(file)
        .directory(directory)
        .connector("up", InProcess::new(upstream))
        .connect()
        .await
        .unwrap()
}

/// Returns a client of a gateway.
pub(crate) async fn client(gateway: &Gateway, principal: Option<Principal>) -> TestClient {
    let client = testing::client(gateway.server().clone());
    match principal {
        Some(principal) => client.principal(principal).connect().await.unwrap(),
        None => client.connect().await.unwrap(),
    }
}

/// Returns the lines of an audit log, without their times.
pub(crate) async fn lines(gateway: &Gateway, path: &Path) -> Vec<BTreeMap<String, Value>> {
    gateway.close().await;
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// Returns a member of a line as text.
pub(crate) fn text(line: &BTreeMap<String, Value>, key: &str) -> String {
    line.get(key)
        .and_then(Value::as_str)
        .unwrap_or("-")
        .to_owned()
}
