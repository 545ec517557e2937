//! Many sessions of a proxy that end in every way, and what is left after them.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use turnbuckle_client::{Client, EraPreference, FormAnswer};
use turnbuckle_server::{Ask, Server, Tool};
use turnbuckle_servers::{InProcess, Proxy, Servers, UpstreamMode};
use turnbuckle_types::{CallToolResult, Map};

use super::{Clock, alone, tasks};

const SESSIONS: usize = 24;

/// Longer than questions wait in a proxy, and than connections that nobody uses stay open.
const LONG: Duration = Duration::from_secs(11 * 60);

/// Long enough for a call that is answered, in a time that stands still meanwhile.
const SOON: Duration = Duration::from_millis(1);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Agreement {
    #[serde(rename = "agree")]
    _agree: Option<bool>,
}

/// Returns a server whose handlers hold the token while they run.
fn upstream(token: &Arc<()>) -> Server {
    let (asking, hanging) = (token.clone(), token.clone());
    let ask = Tool::builder("ask").handler(move |ask: Ask| {
        let token = asking.clone();
        async move {
            let asked = ask.form::<Agreement>("Really?").await.map(|_| "asked");
            drop(token);
            asked
        }
    });
    let hang = Tool::builder("hang").handler(move || {
        let token = hanging.clone();
        async move {
            pending::<()>().await;
            drop(token);
        }
    });
    Server::new("origin", "1")
        .tool(ask)
        .tool(hang)
        .tool(Tool::builder("echo").handler(|| "echo"))
        .tool(Tool::builder("fail").handler(|| CallToolResult::error("it failed")))
        .build()
        .unwrap()
}

/// Opens a session with a proxy, calls, and ends it in a way that the round decides.
async fn session(proxy: &Proxy, era: EraPreference, round: usize) {
    let (answers, hangs) = (!round.is_multiple_of(3), round % 4 == 3);
    let client = Client::builder("c", "1")
        .era(era)
        .on_form(move |_, _| async move {
            if !answers {
                pending::<()>().await;
            }
            FormAnswer::Accept(Map::new())
        })
        .connect(InProcess::new(proxy.server().clone()))
        .await
        .unwrap();
    for _ in 0..3 {
        client.call_tool("echo", &()).await.unwrap();
    }
    assert!(client.call_tool("fail", &()).await.unwrap().is_error());
    let call = client.call_tool("ask", &());
    let asked = timeout(SOON, call.send()).await;
    assert_eq!(asked.is_ok_and(|it| it.is_ok()), answers, "{round}");
    if hangs {
        let call = client.call_tool("hang", &());
        assert!(timeout(SOON, call.send()).await.is_err(), "it never ends");
    }
    if round.is_multiple_of(2) {
        client.close().await;
    }
    if hangs || !answers {
        // While the server may work on it, questions of a shared connection reach nobody.
        sleep(LONG).await;
    }
}

#[test]
fn sessions_and_calls_of_a_proxy_leave_nothing() {
    alone(Clock::Paused, async {
        let modes = [
            UpstreamMode::Shared,
            UpstreamMode::PerSession,
            UpstreamMode::Pool(8),
        ];
        for mode in modes {
            for era in [EraPreference::Legacy, EraPreference::Modern] {
                let (before, token) = (tasks(), Arc::new(()));
                let proxy = Servers::builder("host", "1")
                    .server("one", InProcess::new(upstream(&token)))
                    .prefix("one", "")
                    .upstream("one", |one| one.mode(mode))
                    .clients(move |client| client.era(era))
                    .proxy(Server::new("proxy", "1"))
                    .await
                    .unwrap();
                // What is made once, for the first request of each kind, stays.
                for round in 0..12 {
                    session(&proxy, era, round).await;
                }
                sleep(LONG).await;
                let idle = (tasks(), Arc::strong_count(&token));
                for round in 0..SESSIONS {
                    session(&proxy, era, round).await;
                }
                sleep(LONG).await;
                let left = (tasks(), Arc::strong_count(&token));
                assert_eq!(left, idle, "{mode:?} {era:?}");
                proxy.servers().close().await;
                drop(proxy);
                sleep(LONG).await;
                let left = (tasks(), Arc::strong_count(&token));
                assert_eq!(left, (before, 1), "{mode:?} {era:?}");
            }
        }
    });
}
