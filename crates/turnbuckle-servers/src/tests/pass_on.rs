//! Methods of extensions, metadata, the name of a server, and calls of a tool that stands for others, as a proxy
//! passes them on.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_client::{Client, FormAnswer};
use turnbuckle_server::middleware::{Next, from_fn};
use turnbuckle_server::service::CallRequest;
use turnbuckle_server::{
    Ask, Extension, HandlerContext, RawArguments, Result, Server, ServerBuilder, Tool,
};
use turnbuckle_types::{
    self as types, CallToolResult, ExtensionRequest, Icon, Json, Map, RawObject, Request, Schema,
    TASKS_EXTENSION,
};

use super::support::ERAS;
use crate::{InProcess, ProxiedItem, Proxy, Rule, Servers};

/// A request of an extension.
struct Probe;

impl Request for Probe {
    const METHOD: &'static str = "example/probe";
    type Params = Map<Json>;
    type Result = Map<Json>;
}

impl ExtensionRequest for Probe {
    const EXTENSION: &'static str = "com.example/probe";
}

/// Returns a server that answers a probe with the parameters, and remembers the extensions of its client.
fn probed(declared: &Arc<Mutex<Vec<String>>>) -> InProcess {
    let declared = declared.clone();
    let method = move |params: Map<Json>, context: HandlerContext| {
        let extensions = context.client_capabilities().extensions.clone();
        let ids = extensions.keys().filter(|id| *id != TASKS_EXTENSION);
        let ids = ids.map(ToOwned::to_owned);
        *declared.lock().unwrap() = ids.collect();
        async move { Ok(params) }
    };
    let extension = Extension::new(Probe::EXTENSION).method::<Probe, _, _>(method);
    let server = Server::new("probed", "1").extension(extension).build();
    InProcess::new(server.unwrap())
}

async fn proxy(servers: &[(&str, InProcess)], server: ServerBuilder) -> Proxy {
    let builder = servers.iter().fold(
        Servers::builder("host", "1"),
        |builder, (name, connector)| builder.server(*name, connector.clone()),
    );
    builder.proxy(server).await.unwrap()
}

async fn client(proxy: &Proxy, extensions: &[&str]) -> Client {
    let builder = extensions
        .iter()
        .fold(Client::builder("c", "1"), |builder, id| {
            builder.extension(*id, RawObject::empty())
        });
    let builder = builder.on_form(async |_, _| FormAnswer::Accept(Map::new()));
    builder
        .connect(InProcess::new(proxy.server().clone()))
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_client_and_not_the_proxy_holds_structured_content_against_its_schema() {
    let schema: Schema = r#"{"type":"object","required":["n"]}"#.parse().unwrap();
    let definition = types::Tool::new("count", Schema::object()).output_schema(schema);
    let count = Tool::builder("count")
        .foreign_definition(Arc::new(definition))
        .handler(|| CallToolResult::new().structured_content(Json::empty_object()));
    let upstream = Server::new("one", "1").tool(count).build().unwrap();
    let one = proxy(
        &[("one", InProcess::new(upstream))],
        Server::new("gateway", "1"),
    )
    .await;
    let client = client(&one, &[]).await;
    let passed = client.call_tool("one__count", &()).await.unwrap();
    assert_eq!(passed.structured_content, Some(Json::empty_object()));
    client.list_tools().fetch_all().await.unwrap();
    let error = client.call_tool("one__count", &()).await.unwrap_err();
    assert!(
        matches!(error, turnbuckle_client::Error::OutputMismatch { .. }),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_method_of_an_extension_reaches_the_server_that_has_it() {
    let declared = Arc::default();
    let plain = Server::new("plain", "1").dynamic_tools().build().unwrap();
    let servers = [
        ("plain", InProcess::new(plain)),
        ("probed", probed(&declared)),
    ];
    let one = proxy(&servers, Server::new("gateway", "1")).await;
    let params: Map<Json> =
        serde_json::from_value(json!({"a": 1, "_meta": {"com.example/b": 2}})).unwrap();
    let asking = client(&one, &[Probe::EXTENSION, "com.example/other"]).await;
    let answer = asking
        .request_extension::<Probe>(params.clone())
        .await
        .unwrap();
    let answer: Value = serde_json::from_str(Json::encode(&answer).unwrap().as_str()).unwrap();
    assert_eq!(
        (&answer["a"], &answer["_meta"]["com.example/b"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        answer["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "gateway"
    );
    // The server reads what the client has declared.
    let expected = ["com.example/other", Probe::EXTENSION];
    let mut ids = declared.lock().unwrap().clone();
    ids.sort();
    assert_eq!(ids, expected);
    let silent = client(&one, &[]).await;
    let refused = silent
        .request_extension::<Probe>(params.clone())
        .await
        .unwrap_err();
    assert!(
        refused.to_string().contains("no server has an extension"),
        "{refused}"
    );

    let two = [("one", probed(&declared)), ("two", probed(&declared))];
    let several = proxy(&two, Server::new("gateway", "1")).await;
    let asking = client(&several, &[Probe::EXTENSION]).await;
    let refused = asking.request_extension::<Probe>(params).await.unwrap_err();
    assert!(refused.to_string().contains("several servers"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_proxy_of_one_server_can_have_its_name() {
    let icon = Icon::new("https://example.com/a.png");
    let own = Server::new("own", "7").title("Own").icon(icon);
    let own = InProcess::new(own.dynamic_tools().build().unwrap());
    for mirrors in [true, false] {
        let builder = Servers::builder("host", "1").server("one", own.clone());
        let builder = if mirrors {
            builder.mirror_server_info()
        } else {
            builder
        };
        let proxy = builder.proxy(Server::new("bridge", "1")).await.unwrap();
        let info = client(&proxy, &[]).await.server_info().unwrap();
        let info = info.implementation.clone().unwrap();
        let read = (
            &*info.name,
            &*info.version,
            info.title.as_deref(),
            info.icons.is_some(),
        );
        let expected = match mirrors {
            true => ("own", "7", Some("Own"), true),
            false => ("bridge", "1", None, false),
        };
        assert_eq!(read, expected);
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Agreement {
    agree: Option<bool>,
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_stands_for_others_takes_their_way_through_the_proxy() {
    let ask = Tool::builder("ask").handler(
        async |context: HandlerContext, ask: Ask| -> Result<String> {
            let Agreement { agree } = ask.form("Go on?").await?;
            let meta = context
                .meta()
                .and_then(|meta| meta.get::<String>("com.example/a"));
            Ok(format!("{agree:?} {meta:?}"))
        },
    );
    let own = InProcess::new(Server::new("own", "1").tool(ask).build().unwrap());
    for era in ERAS {
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let layered = seen.clone();
        let layer = from_fn(move |call: CallRequest, next: Next| {
            layered.lock().unwrap().push(call.name().to_owned());
            async move { next.run(call).await }
        });
        let stands = Tool::builder("call").handler(|_: RawArguments| "no tool");
        let server = Server::new("gateway", "1")
            .layer(layer)
            .tool(stands)
            .redirect_calls("call");
        let proxy = Servers::builder("host", "1")
            .server("one", own.clone())
            .tools(|tool: &mut ProxiedItem<turnbuckle_types::Tool>| {
                tool.hide_from_lists();
                Rule::Keep
            })
            .proxy(server)
            .await
            .unwrap();
        let builder = Client::builder("c", "1").era(era);
        let builder = builder.on_form(async |_, _| FormAnswer::Accept(Map::new()));
        let client = builder
            .connect(InProcess::new(proxy.server().clone()))
            .await
            .unwrap();
        let listed = client.list_tools().fetch_all().await.unwrap();
        assert_eq!(
            listed.iter().map(|it| &*it.name).collect::<Vec<_>>(),
            ["call"]
        );
        let call = |name: &str| {
            let mut call = client.call_tool("call", &json!({"name": name}));
            call.params_mut().meta.set("com.example/a", "b").unwrap();
            call
        };
        assert_eq!(
            call("one__ask").await.unwrap().text(),
            "None Some(\"b\")",
            "{era:?}"
        );
        assert!(
            !seen.lock().unwrap().contains(&"call".to_owned()),
            "{seen:?}"
        );
        let unknown = call("one__none").await.unwrap_err();
        assert!(unknown.to_string().contains("one__none"), "{unknown}");
        assert_eq!(call("call").await.unwrap().text(), "no tool");
        assert_eq!(seen.lock().unwrap().last().unwrap(), "call");
    }
}

/// A caller of a tool in a handler passes the metadata of the request on.
#[tokio::test(start_paused = true)]
async fn a_handler_that_calls_a_tool_passes_metadata() {
    let tool = Tool::builder("read").handler(|context: HandlerContext| {
        let meta = context
            .meta()
            .and_then(|meta| meta.get::<String>("com.example/a"));
        meta.unwrap_or_default()
    });
    let own = InProcess::new(Server::new("own", "1").tool(tool).build().unwrap());
    let caller = Arc::new(std::sync::OnceLock::<crate::ToolCaller>::new());
    let later = caller.clone();
    let outer = Tool::builder("outer").handler(move |context: HandlerContext, ask: Ask| {
        let later = later.clone();
        async move {
            let caller = later.get().unwrap();
            caller
                .call("one__read", &Json::empty_object(), &context, &ask)
                .await
        }
    });
    let proxy = proxy(&[("one", own)], Server::new("gateway", "1").tool(outer)).await;
    caller.get_or_init(|| proxy.tool_caller());
    let client = client(&proxy, &[]).await;
    let mut call = client.call_tool("outer", &json!({}));
    call.params_mut().meta.set("com.example/a", "b").unwrap();
    assert_eq!(call.await.unwrap().text(), "b");
}
