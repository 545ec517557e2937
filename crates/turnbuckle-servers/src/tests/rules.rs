//! Rules about the items of servers, and what layers of a proxy see.

use std::sync::{Arc, Mutex};

use serde_json::json;
use turnbuckle_client::{ChangeFilter, Client};
use turnbuckle_server::middleware::{Next, from_fn};
use turnbuckle_server::service::CallRequest;
use turnbuckle_server::{Prompt, ReadRequest, Resource, Server, Tool};
use turnbuckle_types::{self as types, PromptReference, ResourceTemplateReference};

use super::support::{named_server, tool_names, until};
use crate::{
    ChangeKind, InProcess, ProxiedItem, ProxiedTarget, Proxy, Rule, Servers, UpstreamMode,
};

fn read(request: ReadRequest) -> String {
    request.uri
}

/// Returns a server with two items of each kind, of which one is secret.
fn library() -> Server {
    let prompt = |name: &'static str| {
        let prompt = Prompt::builder(name).arguments([types::PromptArgument::new("title")]);
        prompt
            .complete("title", || vec!["Emma"])
            .handler(move || name)
    };
    let template = |uri: &'static str, name: &'static str| {
        Resource::builder(uri, name)
            .complete("id", || vec!["7"])
            .handler(read)
    };
    Server::new("library", "1")
        .tool(Tool::builder("lend").handler(|| "lent"))
        .tool(Tool::builder("burn").handler(|| "burnt"))
        .prompt(prompt("praise"))
        .prompt(prompt("insult"))
        .resource(Resource::builder("books:1", "book").handler(read))
        .resource(Resource::builder("books:secret", "secret").handler(read))
        .resource(template("books:{id}", "any"))
        .resource(template("secrets:{id}", "hidden"))
        .build()
        .unwrap()
}

/// Drops everything whose own name is one of these.
fn drop_named<T>(names: &'static [&'static str]) -> impl Fn(&mut ProxiedItem<T>) -> Rule
where
    ProxiedItem<T>: OwnName,
{
    move |item| match names.contains(&item.name_at_server()) {
        true => Rule::Drop,
        false => Rule::Keep,
    }
}

/// The own name of an item of any kind.
trait OwnName {
    fn name_at_server(&self) -> &str;
}

macro_rules! own_names {
    ($($Item:ty),*) => {$(
        impl OwnName for ProxiedItem<$Item> {
            fn name_at_server(&self) -> &str {
                self.own_name()
            }
        }
    )*};
}
own_names!(
    types::Tool,
    types::Prompt,
    types::Resource,
    types::ResourceTemplate
);

async fn connect(proxy: &Proxy) -> Client {
    let gateway = InProcess::new(proxy.server().clone());
    Client::builder("c", "1").connect(gateway).await.unwrap()
}

fn is_refused<T: std::fmt::Debug>(result: Result<T, turnbuckle_client::Error>) -> bool {
    matches!(result, Err(turnbuckle_client::Error::ErrorResponse(error)) if error.code == -32602)
}

#[tokio::test(start_paused = true)]
async fn what_a_rule_drops_can_be_neither_listed_nor_used() {
    let proxy = Servers::builder("host", "1")
        .server("lib", InProcess::new(library()))
        .tools(drop_named(&["burn"]))
        .prompts(drop_named(&["insult"]))
        .resources(drop_named(&["books:secret", "books:3"]))
        .resource_templates(drop_named(&["secrets:{id}"]))
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let client = connect(&proxy).await;
    let tools = client.list_tools().fetch_all().await.unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(
        client.call_tool("lib__lend", &()).await.unwrap().text(),
        "lent"
    );
    assert!(is_refused(client.call_tool("lib__burn", &()).await));

    assert_eq!(client.list_prompts().fetch_all().await.unwrap().len(), 1);
    assert!(is_refused(
        client.get_prompt("lib__insult", [("title", "x")]).await
    ));
    let complete = |name| client.complete(PromptReference::new(name), "title", "");
    assert_eq!(
        complete("lib__praise").await.unwrap().completion.values,
        ["Emma"]
    );
    assert!(is_refused(complete("lib__insult").await));

    assert_eq!(client.list_resources().fetch_all().await.unwrap().len(), 1);
    let templates = client.list_resource_templates().fetch_all().await.unwrap();
    assert_eq!(templates.len(), 1);
    assert!(client.read_resource("lib+books:1").await.is_ok());
    assert!(client.read_resource("lib+books:2").await.is_ok());
    // The last one is listed nowhere: a template matches it.
    for uri in ["lib+books:secret", "lib+secrets:1", "lib+books:3"] {
        let read = client.read_resource(uri).await;
        assert!(read.is_err(), "{uri}: {read:?}");
    }
    for uri in ["lib+books:secret", "lib+books:3"] {
        let read = proxy.servers().read_resource(uri).await;
        assert!(
            matches!(read, Err(crate::Error::UnknownItem { .. })),
            "{read:?}"
        );
    }
    let template = ResourceTemplateReference::new("lib+secrets:{id}");
    assert!(is_refused(client.complete(template, "id", "").await));
}

#[tokio::test(start_paused = true)]
async fn a_completion_names_and_suggests_no_resource_that_rules_keep_a_client_from() {
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let rows = Resource::builder("db://{table}/{id}", "row")
        .complete("table", move || {
            *count.lock().unwrap() += 1;
            vec!["public", "secrets", "restricted"]
        })
        .complete("id", || vec!["1", "2"])
        .handler(read);
    let rows = Server::new("db", "1").resource(rows).build().unwrap();
    let decide = |name: &str| match name {
        "db://secrets/{id}" | "db://secrets/1" | "db://public/2" => None,
        _ => Some(name.starts_with("db://restricted/")),
    };
    /// Drops an item, or demands a scope for it.
    macro_rules! rule {
        () => {
            move |item| {
                let Some(is_restricted) = decide(item.own_name()) else {
                    return Rule::Drop;
                };
                item.scopes(is_restricted.then_some("db"));
                Rule::Keep
            }
        };
    }
    let proxy = Servers::builder("host", "1")
        .server("db", InProcess::new(rows))
        .resources(rule!())
        .resource_templates(rule!())
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let client = connect(&proxy).await;
    let complete = async |uri: &str, variable, table: Option<&str>| {
        let reference = ResourceTemplateReference::new(uri);
        let mut request = client.complete(reference, variable, "");
        if let Some(table) = table {
            let given = types::Map::from_iter([("table".to_owned(), table.to_owned())]);
            request.params_mut().context = Some(types::CompletionContext::new().arguments(given));
        }
        request.await.map(|result| result.completion.values)
    };
    const TEMPLATE: &str = "db+db://{table}/{id}";
    assert_eq!(complete(TEMPLATE, "table", None).await.unwrap(), ["public"]);
    assert_eq!(
        complete("db+db://public/1", "table", None).await.unwrap(),
        ["public"]
    );
    assert_eq!(
        complete(TEMPLATE, "id", Some("public")).await.unwrap(),
        ["1"]
    );
    assert_eq!(*asked.lock().unwrap(), 2);
    for (uri, table) in [
        ("db+db://secrets/1", None),
        (TEMPLATE, Some("secrets")),
        ("db+db://none", None),
    ] {
        assert!(
            is_refused(complete(uri, "id", table).await),
            "{uri} {table:?}"
        );
    }
    for (uri, table) in [
        ("db+db://restricted/1", None),
        (TEMPLATE, Some("restricted")),
    ] {
        let error = complete(uri, "id", table).await.unwrap_err();
        assert!(error.to_string().contains("Forbidden: "), "{uri}: {error}");
    }
    assert_eq!(*asked.lock().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_rule_renames_describes_and_restricts_an_item() {
    let proxy = Servers::builder("host", "1")
        .server("lib", InProcess::new(library()))
        .tools(|tool| {
            if tool.own_name() == "lend" {
                assert_eq!((tool.server(), &*tool.item().name), ("lib", "lib__lend"));
                tool.rename("lend_book");
                tool.title("Lend");
                tool.describe("Lends a book");
            } else {
                tool.visible_to(|principal| principal.is_some());
            }
            Rule::Keep
        })
        .prompts(|prompt| {
            prompt.scopes(["books:praise"]);
            Rule::Keep
        })
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let client = connect(&proxy).await;
    let tools = client.list_tools().fetch_all().await.unwrap();
    let texts = |tool: &types::Tool| (tool.title.clone(), tool.description.clone());
    let tools: Vec<_> = tools
        .iter()
        .map(|tool| (tool.name.clone(), texts(tool)))
        .collect();
    let expected = (Some("Lend".to_owned()), Some("Lends a book".to_owned()));
    assert_eq!(tools, [("lend_book".to_owned(), expected)]);
    assert_eq!(
        client.call_tool("lend_book", &()).await.unwrap().text(),
        "lent"
    );
    for name in ["lib__lend", "lib__burn"] {
        assert!(is_refused(client.call_tool(name, &()).await), "{name}");
    }
    let praise = client.get_prompt("lib__praise", [("title", "x")]).await;
    assert!(praise.unwrap_err().to_string().contains("books:praise"));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_another_item_has_is_refused_in_the_order_of_the_servers() {
    let first = named_server("first", &["x"]);
    let second = named_server("second", &["y"]);
    let proxy = Servers::builder("host", "1")
        .server("first", InProcess::new(first.clone()))
        .server("second", InProcess::new(second.clone()))
        .tools(|tool| {
            match tool.own_name() {
                "own" => tool.rename("mine"),
                "bad" => tool.rename("no name"),
                _ => tool.rename("same"),
            }
            Rule::Keep
        })
        .proxy(Server::new("gateway", "1").tool(Tool::builder("mine").handler(|| "mine")))
        .await
        .unwrap();
    let servers = proxy.servers();
    let client = connect(&proxy).await;
    let call = async || {
        client
            .call_tool("same", &())
            .await
            .unwrap()
            .text()
            .into_owned()
    };
    assert_eq!(tool_names(servers), ["same"]);
    assert_eq!(call().await, "first");
    let problem = servers.status()[1].problems[0].clone();
    assert_eq!(
        problem,
        "\"y\" is left out: the name \"same\" is that of \"x\" of the server \"first\""
    );
    // The name goes to the other server with its item only.
    first.remove_tool("x");
    until(servers, |servers| {
        servers
            .tool("same")
            .is_some_and(|it| *it.server == *"second")
    })
    .await;
    let mut changes = servers.changes();
    first
        .add_tool(Tool::builder("z").handler(|| "other"))
        .unwrap();
    while changes.next().await.unwrap().change != ChangeKind::Problems {}
    assert_eq!(call().await, "other");
    assert!(servers.status()[1].problems[0].starts_with("\"y\" is left out"));

    for (name, problem) in [
        ("own", "\"own\" is left out: the proxy itself has \"mine\""),
        (
            "bad",
            "\"bad\" is left out: a rule gives it the name \"no name\"",
        ),
    ] {
        second
            .add_tool(Tool::builder(name).handler(|| "stolen"))
            .unwrap();
        let is_named = |servers: &Servers| {
            let problems = &servers.status()[1].problems;
            problems.iter().any(|it| it.starts_with(problem))
        };
        until(servers, is_named).await;
    }
    assert_eq!(client.call_tool("mine", &()).await.unwrap().text(), "mine");
}

#[tokio::test(start_paused = true)]
async fn an_item_keeps_its_own_name_from_items_with_a_new_one() {
    let first = named_server("first", &["ask", "b", "a", "say"]);
    let second = named_server("second", &["told"]);
    let servers = Servers::builder("host", "1")
        .server("first", InProcess::new(first.clone()))
        .server("second", InProcess::new(second.clone()))
        .tools(|tool| {
            match tool.own_name() {
                "a" | "b" => tool.rename("first__ask"),
                "say" => tool.rename("second__ask"),
                "told" => tool.rename("first__late"),
                _ => {}
            }
            Rule::Keep
        })
        .connect()
        .await
        .unwrap();
    let owner = |servers: &Servers, name: &str| {
        let tool = servers.tool(name).unwrap();
        format!("{} {}", tool.server, tool.own_name)
    };
    assert_eq!(owner(&servers, "first__ask"), "first ask");
    assert_eq!(owner(&servers, "second__ask"), "first say");
    assert_eq!(owner(&servers, "first__late"), "second told");
    for (server, name) in [(&second, "ask"), (&first, "late")] {
        let tool = Tool::builder(name).handler(|| "own");
        server.add_tool(tool).unwrap();
    }
    for (name, expected) in [("second__ask", "second ask"), ("first__late", "first late")] {
        until(&servers, |servers| owner(servers, name) == expected).await;
    }
    let problems = servers.status()[0].problems.clone();
    let expected = ["b", "a"].map(|own| {
        format!("{own:?} is left out: the name \"first__ask\" is that of \"ask\" of the server \"first\"")
    });
    assert!(
        expected.iter().all(|it| problems.contains(it)),
        "{problems:?}"
    );
    // Among new names, the order in which a server lists does not count.
    first.remove_tool("ask");
    until(&servers, |servers| {
        owner(servers, "first__ask") == "first a"
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn rules_run_again_when_a_list_changes() {
    let library = library();
    let proxy = Servers::builder("host", "1")
        .server("lib", InProcess::new(library.clone()))
        .tools(|tool| match tool.item().description.as_deref() {
            Some("dangerous") => Rule::Drop,
            _ => Rule::Keep,
        })
        .proxy(Server::new("gateway", "1"))
        .await
        .unwrap();
    let client = connect(&proxy).await;
    let changes = client.subscribe(ChangeFilter::new().tools()).await;
    let mut changes = changes.unwrap();
    assert!(client.call_tool("lib__lend", &()).await.is_ok());
    let lend = Tool::builder("lend")
        .description("dangerous")
        .handler(|| "lent");
    library.add_tool(lend).unwrap();
    changes.next().await.unwrap();
    assert!(is_refused(client.call_tool("lib__lend", &()).await));
}

#[tokio::test(start_paused = true)]
async fn a_layer_sees_the_upstream_of_a_request() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let layer = from_fn(move |call: CallRequest, next: Next| {
        let target = ProxiedTarget::find(&call);
        let target = target.map(|it| format!("{} {} {:?}", it.server, it.own_name, it.mode));
        log.lock().unwrap().push(target.unwrap_or_default());
        async move { next.run(call).await }
    });
    let gateway = Server::new("gateway", "1")
        .layer(layer)
        .tool(Tool::builder("mine").handler(|| "mine"))
        .resource(Resource::builder("mine:1", "mine").handler(read));
    let proxy = Servers::builder("host", "1")
        .server("lib", InProcess::new(library()))
        .prefix("lib", "")
        .upstream("lib", |lib| lib.mode(UpstreamMode::Shared))
        .tools(|tool| {
            tool.rename("give");
            Rule::Keep
        })
        .tools(drop_named(&["burn"]))
        .proxy(gateway)
        .await
        .unwrap();
    let client = connect(&proxy).await;
    let calls = |name| client.call_tool(name, &());
    calls("give").await.unwrap();
    calls("mine").await.unwrap();
    client.get_prompt::<&str, &str>("praise", []).await.unwrap();
    client.read_resource("books:7").await.unwrap();
    client.read_resource("mine:1").await.unwrap();
    let praise = PromptReference::new("praise");
    client.complete(praise, "title", "").await.unwrap();
    client.list_tools().fetch_all().await.unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        [
            "lib lend Shared",
            "",
            "lib praise Shared",
            "lib books:7 Shared",
            "",
            "lib praise Shared",
            "",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_over_the_bound_of_its_server_is_an_error_that_names_the_bound() {
    let long = Tool::builder("long").handler(|| "x".repeat(1000));
    let server = Server::new("s", "1").tool(long).build().unwrap();
    let servers = Servers::builder("host", "1")
        .server("a", InProcess::new(server))
        .upstream("a", |it| it.max_result_bytes(500))
        .connect()
        .await
        .unwrap();
    let error = servers.call_tool("a__long", &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("max_result_bytes"), "{error}");
}
