//! A proxy over HTTP, whose clients have connections of their own to the server behind it.

use serde_json::{Value, json};
use turnbuckle_client::EraPreference;
use turnbuckle_it::web::Web;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_servers::{InProcess, Servers, UpstreamMode};
use turnbuckle_types::LoggingLevel;

/// Calls the tool that logs, and returns the data of the log messages.
async fn log_messages(web: &Web) -> Vec<Value> {
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let call = web.modern("tools/call", json!({"name": "origin__log", "_meta": meta}));
    let got = call.address([127, 0, 0, 1].into()).send().await;
    if !got.is_stream() {
        let response = got.json().await;
        panic!("no log message before {response}");
    }
    let messages = got.events().messages().await;
    let data = messages
        .iter()
        .map(|message| message["params"]["data"].clone());
    data.filter(|data| !data.is_null()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_log_message_on_the_connection_of_a_client_reaches_each_of_its_requests() {
    let log = Tool::builder("log").handler(async |context: HandlerContext| {
        context.log(LoggingLevel::Info, None, "hello").await;
        "logged"
    });
    let origin = Server::new("origin", "1").logging().tool(log);
    let origin = origin.build().unwrap();
    for behind in [EraPreference::Legacy, EraPreference::Modern] {
        let proxy = Servers::builder("gateway", "1")
            .server("origin", InProcess::new(origin.clone()))
            .upstream("origin", |options| options.mode(UpstreamMode::PerSession))
            .clients(move |builder| builder.era(behind))
            .proxy(Server::new("gateway", "1"))
            .await
            .unwrap();
        let web = Web::new(proxy.server());
        for _ in 0..3 {
            assert_eq!(log_messages(&web).await, ["hello"], "{behind:?}");
        }
    }
}
