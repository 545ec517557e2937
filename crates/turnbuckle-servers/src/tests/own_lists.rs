//! Lists of the connections that clients have for themselves.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use turnbuckle_client::{ChangeFilter, Client, EraPreference};
use turnbuckle_server::middleware::{Next, from_fn};
use turnbuckle_server::service::CallRequest;
use turnbuckle_server::{HandlerContext, Server, Tool};
use turnbuckle_session::handler::Change;
use turnbuckle_types::{PromptReference, ResourceTemplateReference};

use super::personal::{
    Personal, Settings, call, cases, connect, gateway, is_unknown, proxy, servers, tools,
};
use super::support::{ERAS, named_server, speak, tool_names};
use crate::{
    InProcess, ItemKind, ProxiedTarget, Proxy, Rule, Servers, ServersLimits, UpstreamMode,
};

#[tokio::test(start_paused = true)]
async fn each_client_has_the_items_of_its_own_connection_and_no_others() {
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let personal = Personal::default();
        let proxy = proxy(servers(&personal, mode).clients(speak(behind))).await;
        for (name, other) in [("ann", "bob"), ("bob", "ann")] {
            let client = connect(&proxy, name, front).await;
            let own = ["one__name", "one__login", "one__logout"];
            let mut listed = tools(&client).await;
            listed.retain(|it| !own.contains(&&**it));
            assert_eq!(listed, [format!("one__{name}_tool")], "{case}");
            assert_eq!(call(&client, "one__name").await, name, "{case}");
            assert_eq!(
                call(&client, &format!("one__{name}_tool")).await,
                "own",
                "{case}"
            );

            let prompts = client.list_prompts().fetch_all().await.unwrap();
            let prompts: Vec<_> = prompts.iter().map(|it| &*it.name).collect();
            assert_eq!(prompts, [format!("one__{name}_prompt")], "{case}");
            let resources = client.list_resources().fetch_all().await.unwrap();
            let resources: Vec<_> = resources.iter().map(|it| &*it.uri).collect();
            assert_eq!(resources, [format!("one+{name}://all")], "{case}");
            let templates = client.list_resource_templates().fetch_all().await.unwrap();
            let templates: Vec<_> = templates.iter().map(|it| &*it.uri_template).collect();
            assert_eq!(templates, [format!("one+{name}://notes/{{id}}")], "{case}");

            let get = |who: &str| client.get_prompt(format!("one__{who}_prompt"), [("topic", "x")]);
            let topic = |who: &str| {
                let prompt = PromptReference::new(format!("one__{who}_prompt"));
                client.complete(prompt, "topic", "")
            };
            let id = |who: &str| {
                let template = format!("one+{who}://notes/{{id}}");
                client.complete(ResourceTemplateReference::new(template), "id", "")
            };
            get(name).await.unwrap();
            assert_eq!(
                topic(name).await.unwrap().completion.values,
                [name],
                "{case}"
            );
            assert_eq!(id(name).await.unwrap().completion.values, [name], "{case}");
            for path in ["all", "notes/7"] {
                let uri = format!("one+{name}://{path}");
                client.read_resource(uri).await.unwrap();
            }
            // The first connection, which is of nobody, lists items too.
            for other in [other, "nobody"] {
                let tool = format!("one__{other}_tool");
                assert!(is_unknown(client.call_tool(tool, &()).await), "{case}");
                assert!(is_unknown(get(other).await), "{case}");
                assert!(is_unknown(topic(other).await), "{case}");
                for path in ["all", "notes/7"] {
                    let read = client.read_resource(format!("one+{other}://{path}")).await;
                    assert!(read.is_err(), "{case} {read:?}");
                }
            }
        }
        assert_eq!(tool_names(proxy.servers())[1], "one__nobody_tool");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_appears_on_the_connection_of_a_client_is_for_that_client_alone() {
    for (mode, front, behind) in cases() {
        let case = format!("{mode:?} {front:?} {behind:?}");
        let proxy = proxy(servers(&Personal::default(), mode).clients(speak(behind))).await;
        let (ann, bob) = (
            connect(&proxy, "ann", front).await,
            connect(&proxy, "bob", front).await,
        );
        let mut of_ann = ann.subscribe(ChangeFilter::new().tools()).await.unwrap();
        let mut of_bob = bob.subscribe(ChangeFilter::new().tools()).await.unwrap();
        for client in [&ann, &bob] {
            assert_eq!(tools(client).await.len(), 4, "{case}");
            assert!(
                is_unknown(client.call_tool("one__later", &()).await),
                "{case}"
            );
        }
        ann.call_tool("one__login", &()).await.unwrap();
        let change = timeout(Duration::from_secs(1), of_ann.next()).await;
        assert_eq!(change.unwrap(), Some(Change::Tools), "{case}");
        assert_eq!(tools(&ann).await[4..], ["one__later"], "{case}");
        assert_eq!(call(&ann, "one__later").await, "later", "{case}");
        assert_eq!(tools(&bob).await.len(), 4, "{case}");
        assert!(is_unknown(bob.call_tool("one__later", &()).await), "{case}");
        let change = timeout(Duration::from_secs(1), of_bob.next()).await;
        assert!(change.is_err(), "{case}");
        // What has gone can no longer be called.
        ann.call_tool("one__logout", &()).await.unwrap();
        let change = timeout(Duration::from_secs(1), of_ann.next()).await;
        assert_eq!(change.unwrap(), Some(Change::Tools), "{case}");
        assert!(is_unknown(ann.call_tool("one__later", &()).await), "{case}");
        assert_eq!(tools(&ann).await.len(), 4, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_come_at_once_wait_for_the_same_lists() {
    let personal = Personal::new(Settings {
        delay: Duration::from_secs(1),
        ..Settings::default()
    });
    let proxy = proxy(servers(&personal, UpstreamMode::PerPrincipal)).await;
    let ann = connect(&proxy, "ann", EraPreference::Modern).await;
    let calls = (0..100).map(|number| {
        let ann = ann.clone();
        tokio::spawn(async move {
            // Some come while the lists are read.
            sleep(Duration::from_secs(1)).await;
            for _ in 0..5 * number {
                tokio::task::yield_now().await;
            }
            call(&ann, "one__name").await
        })
    });
    let calls: Vec<_> = calls.collect();
    assert_eq!(tools(&ann).await.len(), 4);
    for call in calls {
        assert_eq!(call.await.unwrap(), "ann");
    }
    assert_eq!(personal.settings.opened.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn every_session_of_a_principal_is_told_of_the_list_of_their_connection() {
    for front in ERAS {
        let proxy = proxy(servers(&Personal::default(), UpstreamMode::PerPrincipal)).await;
        let (ann, again) = (
            connect(&proxy, "ann", front).await,
            connect(&proxy, "ann", front).await,
        );
        let mut changes = again.subscribe(ChangeFilter::new().tools()).await.unwrap();
        assert_eq!((tools(&ann).await.len(), tools(&again).await.len()), (4, 4));
        ann.call_tool("one__login", &()).await.unwrap();
        let change = timeout(Duration::from_secs(1), changes.next()).await;
        assert_eq!(change.unwrap(), Some(Change::Tools), "{front:?}");
        assert_eq!(tools(&again).await.len(), 5, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_nobody_serves_those_who_log_in() {
    for (front, behind) in ERAS
        .into_iter()
        .flat_map(|front| ERAS.map(|behind| (front, behind)))
    {
        let case = format!("{front:?} {behind:?}");
        let personal = Personal::new(Settings {
            needs_login: true,
            ..Settings::default()
        });
        let servers = servers(&personal, UpstreamMode::PerPrincipal).clients(speak(behind));
        let proxy = proxy(servers).await;
        let servers = proxy.servers();
        assert!(!servers.status()[0].is_ready() && servers.tools().is_empty());
        assert!(!servers.is_reachable("one"), "{case}");
        let ann = connect(&proxy, "ann", front).await;
        assert_eq!(tools(&ann).await.len(), 4, "{case}");
        assert_eq!(call(&ann, "one__name").await, "ann", "{case}");
        ann.read_resource("one+ann://all").await.unwrap();
        assert!(servers.is_reachable("one"), "{case}");
        // Whoever is nobody sees nothing, and reads why.
        let nobody = Client::builder("c", "1").era(front);
        let nobody = nobody
            .connect(InProcess::new(proxy.server().clone()))
            .await
            .unwrap();
        assert!(tools(&nobody).await.is_empty(), "{case}");
        let refused = call(&nobody, "one__name").await;
        assert!(refused.contains("per-principal"), "{case}: {refused}");
    }
}

#[tokio::test(start_paused = true)]
async fn rules_hold_on_the_lists_of_clients() {
    for mode in [UpstreamMode::PerSession, UpstreamMode::PerPrincipal] {
        let servers = servers(&Personal::default(), mode)
            .server("lib", InProcess::new(named_server("library", &["given"])))
            .tools(|tool| {
                match tool.own_name() {
                    "ann_tool" => tool.rename("mine"),
                    "bob_tool" => return Rule::Drop,
                    // The name of a tool of another server, which stays that server's.
                    "login" => tool.rename("lib__given"),
                    "logout" => tool.rename("taken"),
                    "name" => tool.scopes(["names"]),
                    _ => {}
                }
                Rule::Keep
            })
            .resources(|resource| match resource.own_name().ends_with("notes/7") {
                true => Rule::Drop,
                false => Rule::Keep,
            });
        let taken = gateway().tool(Tool::builder("taken").handler(|| "the proxy's"));
        let proxy = servers.proxy(taken).await.unwrap();
        let ann = connect(&proxy, "ann", EraPreference::Modern).await;
        let bob = connect(&proxy, "bob", EraPreference::Modern).await;
        assert_eq!(
            tools(&ann).await,
            ["taken", "lib__given", "one__name", "mine"]
        );
        assert_eq!(tools(&bob).await, ["taken", "lib__given", "one__name"]);
        assert_eq!(call(&ann, "mine").await, "own");
        assert_eq!(call(&ann, "lib__given").await, "library");
        assert_eq!(call(&ann, "taken").await, "the proxy's");
        assert!(call(&ann, "one__name").await.contains("names"));
        for (client, name) in [
            (&ann, "one__ann_tool"),
            (&bob, "one__bob_tool"),
            (&bob, "mine"),
        ] {
            assert!(is_unknown(client.call_tool(name, &()).await), "{name}");
        }
        ann.read_resource("one+ann://notes/1").await.unwrap();
        ann.read_resource("one+ann://notes/7").await.unwrap_err();
    }
}

#[tokio::test(start_paused = true)]
async fn a_text_that_names_a_tool_of_another_server_is_marked_on_the_list_of_a_client() {
    let describe = |tool: &mut crate::ProxiedItem<turnbuckle_types::Tool>| {
        if tool.own_name() == "ann_tool" {
            tool.describe("Use it instead of lib__given.");
        }
        Rule::Keep
    };
    let servers = servers(&Personal::default(), UpstreamMode::PerPrincipal)
        .server("lib", InProcess::new(named_server("library", &["given"])))
        .tools(describe);
    let proxy = proxy(servers).await;
    let ann = connect(&proxy, "ann", EraPreference::Modern).await;
    let listed = ann.list_tools().fetch_all().await.unwrap();
    let own = listed.iter().find(|it| it.name == "one__ann_tool").unwrap();
    let description = own.description.as_deref().unwrap();
    assert!(
        description.starts_with("(This text of the server \"one\""),
        "{description}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_long_list_of_a_client_comes_in_pages() {
    let names: Vec<String> = (0..1000).map(|number| format!("t{number}")).collect();
    let server = names.iter().fold(Server::new("long", "1"), |server, name| {
        server.tool(Tool::builder(name.clone()).handler(|| "done"))
    });
    let server = InProcess::new(server.build().unwrap());
    for front in ERAS {
        let proxy = Servers::builder("host", "1")
            .server("lib", InProcess::new(named_server("library", &["given"])))
            .server("one", server.clone())
            .upstream("one", |it| it.mode(UpstreamMode::PerPrincipal))
            .proxy(gateway())
            .await
            .unwrap();
        let ann = connect(&proxy, "ann", front).await;
        let first = ann.list_tools().page(None).await.unwrap();
        assert!(first.next_cursor.is_some() && first.tools.len() < 1000);
        let listed = tools(&ann).await;
        let expected = names.iter().map(|name| format!("one__{name}"));
        let expected: Vec<String> = ["lib__given".to_owned()]
            .into_iter()
            .chain(expected)
            .collect();
        assert_eq!(listed, expected, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn lists_of_clients_have_a_bound_in_sum() {
    // Four tools, a prompt, a resource and a template of each client, and half of the bytes for one server.
    let limits = ServersLimits::default().max_own_list_bytes(8_000);
    let servers = servers(&Personal::default(), UpstreamMode::PerPrincipal).limits(limits);
    let proxy = proxy(servers).await;
    let clients = ["ann", "bob", "cid"];
    let mut full = Vec::new();
    for name in clients {
        let client = connect(&proxy, name, EraPreference::Modern).await;
        if tools(&client).await.is_empty() {
            let refused = call(&client, "one__name").await;
            assert!(refused.contains("max_own_list_bytes"), "{refused}");
            full.push(client);
        }
    }
    assert_eq!(full.len(), 2);
    // A connection that is closed makes room.
    sleep(Duration::from_secs(11 * 60)).await;
    assert_eq!(tools(&full[1]).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_anew_after_its_connection_was_closed_or_lost() {
    for front in ERAS {
        let personal = Personal::default();
        let proxy = proxy(servers(&personal, UpstreamMode::PerPrincipal)).await;
        let ann = connect(&proxy, "ann", front).await;
        let mut changes = ann.subscribe(ChangeFilter::new().tools()).await.unwrap();
        let mut is_told = async || {
            let change = timeout(Duration::from_secs(1), changes.next()).await;
            change.is_ok_and(|it| it == Some(Change::Tools))
        };
        assert_eq!(tools(&ann).await.len(), 4);
        // The list of the first connection replaces none.
        assert!(!is_told().await, "{front:?}");
        ann.call_tool("one__login", &()).await.unwrap();
        assert!(is_told().await, "{front:?}");
        assert_eq!(tools(&ann).await.len(), 5);
        let opened = personal.settings.opened.load(Ordering::SeqCst);
        sleep(Duration::from_secs(11 * 60)).await;
        assert_eq!(call(&ann, "one__login").await, "");
        assert!(is_told().await, "{front:?}");
        assert_eq!(tools(&ann).await.len(), 5);
        std::mem::take(&mut *personal.settings.crash.lock().unwrap()).cancel();
        sleep(Duration::from_secs(1)).await;
        assert!(is_unknown(ann.call_tool("one__other", &()).await));
        assert_eq!(call(&ann, "one__name").await, "ann");
        assert!(is_told().await, "{front:?}");
        assert_eq!(tools(&ann).await.len(), 4);
        // The last one is that of the supervisor.
        let opened = personal.settings.opened.load(Ordering::SeqCst) - opened;
        assert_eq!(opened, 3, "{front:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_slow_keeps_no_list_waiting_and_its_items_follow() {
    for (mode, front) in [
        (UpstreamMode::PerSession, EraPreference::Legacy),
        (UpstreamMode::PerPrincipal, EraPreference::Legacy),
        (UpstreamMode::PerPrincipal, EraPreference::Modern),
    ] {
        let slow = Personal::new(Settings {
            delay: Duration::from_secs(15),
            ..Settings::default()
        });
        let servers =
            servers(&slow, mode).server("lib", InProcess::new(named_server("library", &["given"])));
        let proxy = proxy(servers).await;
        let ann = connect(&proxy, "ann", front).await;
        let mut changes = ann.subscribe(ChangeFilter::new().tools()).await.unwrap();
        let begun = Instant::now();
        assert_eq!(tools(&ann).await, ["lib__given"], "{mode:?}");
        assert_eq!(begun.elapsed().as_secs(), 10, "{mode:?}");
        let change = timeout(Duration::from_secs(10), changes.next()).await;
        assert_eq!(change.unwrap(), Some(Change::Tools), "{mode:?}");
        assert_eq!(tools(&ann).await.len(), 5, "{mode:?}");
        // A call waits for the lists.
        let bob = connect(&proxy, "bob", front).await;
        assert_eq!(call(&bob, "one__name").await, "bob", "{mode:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn layers_and_audits_know_the_server_of_an_item_of_one_client() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = seen.clone();
    let layer = from_fn(move |call: CallRequest, next: Next| {
        let target = ProxiedTarget::find(&call);
        let target = target.map(|it| format!("{} {}", it.server, it.own_name));
        log.lock().unwrap().extend(target);
        async move { next.run(call).await }
    });
    let servers = servers(&Personal::default(), UpstreamMode::PerPrincipal).tools(|tool| {
        if tool.own_name() == "ann_tool" {
            tool.rename("mine");
        }
        Rule::Keep
    });
    let proxy = servers.proxy(gateway().layer(layer)).await.unwrap();
    let ann = connect(&proxy, "ann", EraPreference::Modern).await;
    call(&ann, "mine").await;
    ann.get_prompt("one__ann_prompt", [("topic", "x")])
        .await
        .unwrap();
    ann.read_resource("one+ann://all").await.unwrap();
    ann.read_resource("one+ann://notes/7").await.unwrap();
    let seen = seen.lock().unwrap().clone();
    let expected = [
        "one ann_tool",
        "one ann_prompt",
        "one ann://all",
        "one ann://notes/7",
    ];
    assert_eq!(seen, expected);
    let owner = |name| proxy.servers().item_owner(ItemKind::Tool, name);
    assert_eq!(owner("mine"), Some(("one".into(), "ann_tool".into())));
    assert_eq!(owner("one__other"), Some(("one".into(), "other".into())));
    assert_eq!(owner("other"), None);
}

#[tokio::test(start_paused = true)]
async fn a_handler_of_the_proxy_finds_and_calls_the_tools_of_its_client() {
    let caller = Arc::new(std::sync::OnceLock::<Proxy>::new());
    let (lister, calling) = (caller.clone(), caller.clone());
    let list = Tool::builder("list").handler(move |context: HandlerContext| {
        let proxy = lister.clone();
        async move {
            let tools = proxy.get().unwrap().servers().tools_for(&context).await;
            let names = tools.iter().map(|it| it.item.name.clone());
            names.collect::<Vec<_>>().join(" ")
        }
    });
    let own = Tool::builder("own").handler(
        move |context: HandlerContext, ask: turnbuckle_server::Ask| {
            let proxy = calling.clone();
            async move {
                let name = format!("one__{}_tool", context.principal().unwrap().subject);
                let caller = proxy.get().unwrap().tool_caller();
                let none = turnbuckle_types::Json::encode(&serde_json::json!({}))?;
                caller.call(&name, &none, &context, &ask).await
            }
        },
    );
    let servers = servers(&Personal::default(), UpstreamMode::PerPrincipal)
        .server("lib", InProcess::new(named_server("library", &["given"])))
        .tools(|tool| {
            if tool.own_name() == "login" {
                tool.rename("lib__given");
            }
            Rule::Keep
        });
    let proxy = servers.proxy(gateway().tool(list).tool(own)).await.unwrap();
    caller.get_or_init(|| proxy.clone());
    for name in ["ann", "bob"] {
        let client = connect(&proxy, name, EraPreference::Modern).await;
        let listed = call(&client, "list").await;
        let expected = format!("lib__given one__name one__{name}_tool one__logout");
        assert_eq!(listed, expected);
        assert_eq!(call(&client, "own").await, "own");
    }
}
