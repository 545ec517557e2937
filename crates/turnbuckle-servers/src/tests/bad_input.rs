//! Servers behind a proxy that list too much, or other tools while one is called.

use std::num::NonZeroUsize;
use std::sync::Arc;

use tokio::sync::Semaphore;
use turnbuckle_client::Client;
use turnbuckle_server::{HandlerContext, Server, Tool};

use super::support::{ERAS, speak, until};
use crate::{InProcess, Proxy, Servers, ServersLimits};

/// The tools of a server that has too many.
const TOOLS: usize = 10_000;

async fn connect(proxy: &Proxy) -> Client {
    let gateway = InProcess::new(proxy.server().clone());
    Client::builder("c", "1").connect(gateway).await.unwrap()
}

/// Returns a server with 10,000 tools on pages of 100.
fn endless() -> Server {
    let tools = (0..TOOLS)
        .map(|number| Tool::builder(format!("tool{number}")).handler(move || number.to_string()));
    let server = Server::new("endless", "1").page_size(NonZeroUsize::new(100).unwrap());
    tools
        .fold(server, |server, tool| server.tool(tool))
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_tools_are_offered_up_to_the_bound_beside_those_of_another_server() {
    let endless = endless();
    let small = Server::new("small", "1").tool(Tool::builder("one").handler(|| "one"));
    let small = small.build().unwrap();
    for (limits, offered) in [
        (ServersLimits::new(), 1000),
        (
            ServersLimits::new()
                .max_items_per_server(TOOLS)
                .max_items(2 * TOOLS),
            TOOLS,
        ),
    ] {
        let proxy = Servers::builder("host", "1")
            .server("endless", InProcess::new(endless.clone()))
            .server("small", InProcess::new(small.clone()))
            .limits(limits)
            .proxy(Server::new("gateway", "1"))
            .await
            .unwrap();
        let client = connect(&proxy).await;
        let tools = client.list_tools().fetch_all().await.unwrap();
        assert_eq!(tools.len(), offered + 1);
        for name in [
            "endless__tool0",
            &format!("endless__tool{}", offered - 1),
            "small__one",
        ] {
            client.call_tool(name, &()).await.unwrap();
        }
        let problems = &proxy.servers().status()[0].problems;
        let left_out = problems
            .iter()
            .any(|it| it.contains("9000 of its 10000 tools"));
        assert_eq!(left_out, offered < TOOLS, "{problems:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_its_server_replaces_and_removes_the_tool() {
    for era in ERAS {
        let gate = Arc::new(Semaphore::new(0));
        let open = gate.clone();
        let slow = Tool::builder("work").handler(move |(): (), _: HandlerContext| {
            let open = open.clone();
            async move {
                open.acquire().await.unwrap().forget();
                "the first"
            }
        });
        let origin = Server::new("origin", "1").tool(slow).build().unwrap();
        let proxy = Servers::builder("host", "1")
            .server("one", InProcess::new(origin.clone()))
            .clients(speak(era))
            .proxy(Server::new("gateway", "1"))
            .await
            .unwrap();
        let client = connect(&proxy).await;
        let begin = || {
            let call = client.call_tool("one__work", &());
            tokio::spawn(async move { call.await })
        };
        let first = begin();
        tokio::task::yield_now().await;
        let second = Tool::builder("work")
            .description("new")
            .handler(|| "the second");
        origin.remove_tool("work");
        origin.add_tool(second).unwrap();
        let is_new = |servers: &Servers| {
            let tool = servers.tool("one__work");
            tool.is_some_and(|tool| tool.item.description.as_deref() == Some("new"))
        };
        until(proxy.servers(), is_new).await;
        assert_eq!(
            begin().await.unwrap().unwrap().text(),
            "the second",
            "{era:?}"
        );
        origin.remove_tool("work");
        until(proxy.servers(), |servers| servers.tools().is_empty()).await;
        let gone = begin().await.unwrap();
        assert!(gone.is_err() || gone.unwrap().is_error(), "{era:?}");
        gate.add_permits(1);
        assert_eq!(first.await.unwrap().unwrap().text(), "the first", "{era:?}");
    }
}
