//! A proxy over HTTP, whose clients have connections of their own to the server behind it.

use serde_json::{Value, json};
use turnbuckle_client::EraPreference;
use turnbuckle_it::web::Web;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_servers::{InProcess, Proxy, Servers, UpstreamMode};
use turnbuckle_types::{LoggingLevel, Principal};

/// Returns a server whose tool logs.
fn origin() -> Server {
    let log = Tool::builder("log").handler(async |context: HandlerContext| {
        context.log(LoggingLevel::Info, None, "hello").await;
        "logged"
    });
    Server::new("origin", "1")
        .logging()
        .tool(log)
        .build()
        .unwrap()
}

/// Calls the tool that logs for this user, and returns the data of the log messages.
async fn log_messages(web: &Web, user: Option<&'static str>) -> Vec<Value> {
    let meta = json!({"io.modelcontextprotocol/logLevel": "debug"});
    let call = web.modern("tools/call", json!({"name": "origin__log", "_meta": meta}));
    let mut call = call.address([127, 0, 0, 1].into());
    if let Some(user) = user {
        call = call.principal(Principal::new("https://issuer.example", user));
    }
    let got = call.send().await;
    if !got.is_stream() {
        let result = got.json().await;
        assert_eq!(result["result"]["content"][0]["text"], "logged", "{result}");
        return Vec::new();
    }
    let messages = got.events().messages().await;
    let data = messages
        .iter()
        .map(|message| message["params"]["data"].clone());
    data.filter(|data| !data.is_null()).collect()
}

async fn proxy(mode: UpstreamMode, behind: EraPreference) -> Proxy {
    Servers::builder("gateway", "1")
        .server("origin", InProcess::new(origin()))
        .upstream("origin", |options| options.mode(mode))
        .clients(move |builder| builder.era(behind))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap()
}

const BEHIND: [EraPreference; 2] = [EraPreference::Legacy, EraPreference::Modern];

#[tokio::test(start_paused = true)]
async fn a_log_message_on_the_connection_of_a_client_reaches_each_of_its_requests() {
    for behind in BEHIND {
        let proxy = proxy(UpstreamMode::PerSession, behind).await;
        let web = Web::new(proxy.server());
        for _ in 0..3 {
            assert_eq!(log_messages(&web, None).await, ["hello"], "{behind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_log_message_on_a_shared_connection_reaches_the_user_and_no_other() {
    for behind in BEHIND {
        let proxy = proxy(UpstreamMode::Shared, behind).await;
        let web = Web::new(proxy.server());
        for _ in 0..3 {
            assert_eq!(
                log_messages(&web, Some("ann")).await,
                ["hello"],
                "{behind:?}"
            );
        }
        // It may be about a call of the other one, which came late.
        assert!(
            log_messages(&web, Some("bob")).await.is_empty(),
            "{behind:?}"
        );
        assert!(log_messages(&web, None).await.is_empty(), "{behind:?}");
    }
}
