//! The interface for authors of extensions: who is served, mirrored parameters, subscriptions, work beside
//! requests, and the client's side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use turnbuckle_client::ChangeFilter;
use turnbuckle_it::coupled::Coupled;
use turnbuckle_it::harness::{Bind, Case, Client};
use turnbuckle_it::web::Web;
use turnbuckle_server::{
    AcceptedFilter, Background, Extension, Group, HandlerContext, Resource, Result, Server, Tool,
    UndeclaredPolicy,
};
use turnbuckle_types::{ExtensionNotification, ExtensionRequest, Notification, Request};

use crate::client_support::{plain, settle};
use crate::extensions::{ID, Zone, clock, declaring};
use crate::servers::echo_builder;
use crate::traced::Traced;

/// A request that names an alarm, which the header mirrors.
pub(crate) struct Stop;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AlarmParams {
    pub(crate) alarm_id: String,
}

impl Request for Stop {
    const METHOD: &'static str = "clock/stop";
    type Params = AlarmParams;
    type Result = AlarmParams;
}

impl ExtensionRequest for Stop {
    const EXTENSION: &'static str = ID;
    const MIRRORED_PARAM: Option<&'static str> = Some("alarmId");
    const IS_SAFE_TO_RESEND: bool = true;
}

/// A notification for the subscribers of an alarm.
struct Rang;

impl Notification for Rang {
    const METHOD: &'static str = "notifications/clock/rang";
    type Params = serde_json::Value;
}

impl ExtensionNotification for Rang {
    const EXTENSION: &'static str = ID;
}

/// Returns an extension with alarms: a method, and a member of filters that accepts ids that begin with
/// `a`.
fn alarms(policy: UndeclaredPolicy) -> Extension {
    let accept = async |ids: Vec<String>, _: HandlerContext| -> Result<AcceptedFilter> {
        let accepted: Vec<_> = ids.into_iter().filter(|id| id.starts_with('a')).collect();
        let filter = AcceptedFilter::new(&accepted)?;
        Ok(accepted.into_iter().fold(filter, AcceptedFilter::topic))
    };
    Extension::new(ID)
        .undeclared_policy(policy)
        .method::<Stop, _, _>(async |alarm: AlarmParams, _: HandlerContext| Ok(alarm))
        .filter("alarmIds", accept)
}

fn alarm_server(policy: UndeclaredPolicy) -> Server {
    let builder = echo_builder().max_subscriptions(3);
    builder.extension(alarms(policy)).build().unwrap()
}

const POLICIES: [UndeclaredPolicy; 3] = [
    UndeclaredPolicy::Hidden,
    UndeclaredPolicy::MissingCapability,
    UndeclaredPolicy::Served,
];

#[tokio::test(start_paused = true)]
async fn an_extension_decides_what_an_undeclared_client_gets() {
    for case in Case::modern()
        .into_iter()
        .filter(|it| it.binding != Bind::Http)
    {
        for policy in POLICIES {
            let server = alarm_server(policy);
            let mut client = Client::connect(case, &server).await;
            let answer = client.request(Stop::METHOD, json!({"alarmId": "a"})).await;
            let filter = json!({"notifications": {"alarmIds": ["a"]}});
            let listened = match policy {
                UndeclaredPolicy::MissingCapability => {
                    client.request("subscriptions/listen", filter).await
                }
                _ => {
                    client.start("subscriptions/listen", filter).await;
                    client.next().await
                }
            };
            let acknowledged = &listened["params"]["notifications"];
            match policy {
                UndeclaredPolicy::Hidden => {
                    assert_eq!(answer["error"]["code"], -32601, "{case}: {answer}");
                    assert_eq!(*acknowledged, json!({}), "{case}: {listened}");
                }
                UndeclaredPolicy::MissingCapability => {
                    for answer in [&answer, &listened] {
                        let error = &answer["error"];
                        assert_eq!(error["code"], -32021, "{case}: {answer}");
                        let needed = json!({"extensions": {ID: {}}});
                        assert_eq!(error["data"]["requiredCapabilities"], needed, "{case}");
                    }
                }
                _ => {
                    assert_eq!(answer["result"]["alarmId"], "a", "{case}: {answer}");
                    assert_eq!(acknowledged["alarmIds"], json!(["a"]), "{case}: {listened}");
                }
            }
            let mut client = Client::connect_with(case, &server, declaring()).await;
            let answer = client.request(Stop::METHOD, json!({"alarmId": "a"})).await;
            assert_eq!(answer["result"]["alarmId"], "a", "{case}: {answer}");
        }
    }
}

/// A request whose name the core of older revisions has.
struct Follow;

impl Request for Follow {
    const METHOD: &'static str = "resources/subscribe";
    type Params = AlarmParams;
    type Result = AlarmParams;
}

impl ExtensionRequest for Follow {
    const EXTENSION: &'static str = ID;
}

#[tokio::test(start_paused = true)]
async fn an_extension_may_use_a_name_that_only_older_revisions_have_in_their_core() {
    let extension = alarms(UndeclaredPolicy::Served)
        .method::<Follow, _, _>(async |alarm: AlarmParams, _: HandlerContext| Ok(alarm));
    let resource = Resource::builder("r:1", "r").handler(|| "text");
    let server = echo_builder().resource(resource).extension(extension);
    let server = server.build().unwrap();
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server).await;
        let answer = client.request(Follow::METHOD, json!({"uri": "r:1"})).await;
        assert_eq!(answer["result"], json!({}), "{case}: {answer}");
        let params = json!({"alarmId": "a"});
        let answer = client.request(Follow::METHOD, params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{case}: {answer}");
        let answer = client.request(Stop::METHOD, params).await;
        assert_eq!(answer["error"]["code"], -32601, "{case}: {answer}");
    }
    let follow = |server: &Server| {
        let params = json!({"alarmId": "a"});
        Web::new(server).modern(Follow::METHOD, params).json()
    };
    let (status, answer) = follow(&server).await;
    assert_eq!(
        (status, &answer["result"]["alarmId"]),
        (200, &json!("a")),
        "{answer}"
    );
    // Without the extension there is no such method in the newer revision.
    let plain = echo_builder().dynamic_resources().build().unwrap();
    let (status, answer) = follow(&plain).await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!(-32601)),
        "{answer}"
    );
}

macro_rules! refused_names {
    ($($Name:ident = $method:literal;)+) => {$(
        struct $Name;

        impl Request for $Name {
            const METHOD: &'static str = $method;
            type Params = Zone;
            type Result = Zone;
        }

        impl ExtensionRequest for $Name {
            const EXTENSION: &'static str = ID;
        }
    )+

    #[test]
    fn an_extension_cannot_define_a_method_of_the_core() {
        $(
            let own = Extension::new(ID)
                .method::<$Name, _, _>(async |zone: Zone, _: HandlerContext| Ok(zone));
            let error = echo_builder().extension(own).build().unwrap_err().to_string();
            assert!(error.contains(concat!("\"", $method, "\" is a method of the core")), "{error}");
        )+
    }};
}

refused_names! {
    Call = "tools/call";
    Listen = "subscriptions/listen";
    Sample = "initialize";
    Pong = "ping";
}

#[test]
fn an_extension_cannot_define_a_filter_member_twice_or_of_the_core() {
    for member in ["toolsListChanged", "resourceSubscriptions", "alarmIds"] {
        let accept = async |_: Vec<String>, _: HandlerContext| Ok(AcceptedFilter::default());
        let extension = alarms(UndeclaredPolicy::Hidden).filter(member, accept);
        let error = echo_builder()
            .extension(extension)
            .build()
            .unwrap_err()
            .to_string();
        assert!(error.contains(&format!("{member:?}")), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_server_holds_the_name_header_against_the_parameter_of_an_extension() {
    let web = Web::new(&alarm_server(UndeclaredPolicy::Served));
    let ask = |params| web.modern(Stop::METHOD, params);
    let alarm = || json!({"alarmId": "á"});
    let encoded = "=?base64?w6E=?=";
    let (status, answer) = ask(alarm()).header("mcp-name", encoded).json().await;
    assert_eq!(
        (status, &answer["result"]["alarmId"]),
        (200, &json!("á")),
        "{answer}"
    );
    for wrong in [
        ask(alarm()),
        ask(alarm()).header("mcp-name", "a"),
        ask(alarm())
            .header("mcp-name", encoded)
            .and_header("mcp-name", encoded),
        ask(json!({"alarmId": 5})).header("mcp-name", "5"),
        ask(json!({"alarm": "a"})).header("mcp-name", "a"),
    ] {
        let (status, answer) = wrong.json().await;
        assert_eq!(
            (status, &answer["error"]["code"]),
            (400, &json!(-32020)),
            "{answer}"
        );
    }
    // A method without such a parameter has no such header.
    let web = Web::new(&clock());
    let (status, answer) = web.modern("clock/now", json!({"zone": "UTC"})).json().await;
    assert_eq!(
        (status, &answer["error"]["code"]),
        (404, &json!(-32601)),
        "{answer}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_topic_reaches_its_subscribers_with_its_latest_notification() {
    for case in Case::modern() {
        let server = alarm_server(UndeclaredPolicy::Hidden);
        let mut client = Client::connect_with(case, &server, declaring()).await;
        let filter = json!({"notifications": {"alarmIds": ["a1", "b", "a2"], "other": 1}});
        let id = client.start("subscriptions/listen", filter).await;
        let acknowledged = client.next().await;
        let accepted = json!({"alarmIds": ["a1", "a2"]});
        assert_eq!(acknowledged["params"]["notifications"], accepted, "{case}");
        for (topic, count) in [("a1", 1), ("a1", 2), ("a3", 3), ("b", 4), ("a2", 5)] {
            let params = json!({"count": count, "_meta": {"com.example/x": 1}});
            server.notify_topic::<Rang>(topic, &params).unwrap();
        }
        for count in [2, 5] {
            let rang = client.next().await;
            assert_eq!(rang["method"], Rang::METHOD, "{case}");
            assert_eq!(rang["params"]["count"], count, "{case}: {rang}");
            let meta = json!({"com.example/x": 1, "io.modelcontextprotocol/subscriptionId": id});
            assert_eq!(rang["params"]["_meta"], meta, "{case}");
        }
        client.expect_silence().await;
        assert!(server.notify_topic::<Rang>("a1", &json!(5)).is_err());
        client.cancel(id).await;
        client.settle().await;
        assert_eq!(server.subscription_count(), 0, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn topics_count_like_resources_and_malformed_members_are_refused() {
    let server = alarm_server(UndeclaredPolicy::Hidden);
    for case in Case::modern() {
        for (member, code, text) in [
            (
                json!(["a1", "a2", "a3", "a4"]),
                -32602,
                "ServerBuilder::max_subscriptions",
            ),
            (json!("a1"), -32602, "notifications.alarmIds: "),
        ] {
            let mut client = Client::connect_with(case, &server, declaring()).await;
            let params = json!({"notifications": {"alarmIds": member}});
            let answer = client.request("subscriptions/listen", params).await;
            assert_eq!(answer["error"]["code"], code, "{case}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(text), "{case}: {message}");
        }
        assert_eq!(server.subscription_count(), 0, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn our_client_calls_and_hears_an_extension() {
    for case in Case::all() {
        let server = alarm_server(UndeclaredPolicy::MissingCapability);
        let rang = Arc::new(Mutex::new(Vec::new()));
        let heard = rang.clone();
        let builder = plain()
            .extension(ID, turnbuckle_types::RawObject::empty())
            .on_notification::<Rang>(move |params| {
                heard.lock().unwrap().push(params["count"].clone())
            });
        let client = Coupled::connect(case, &server, builder).await;
        let alarm = |id: &str| AlarmParams {
            alarm_id: id.into(),
        };
        let stopped = client.request_extension::<Stop>(alarm("á")).await;
        if !case.is_modern() {
            let error = stopped.map(|_| ()).unwrap_err().to_string();
            assert!(
                error.contains("the revision has no extensions"),
                "{case}: {error}"
            );
            continue;
        }
        assert_eq!(stopped.unwrap().alarm_id, "á", "{case}");
        if case.binding == Bind::Http {
            let post = client.posts.with_method(Stop::METHOD).pop().unwrap();
            assert_eq!(post.header("mcp-name"), Some("=?base64?w6E=?="));
        }
        let ids = turnbuckle_types::Json::encode(&["a1", "b1"]).unwrap();
        let filter = ChangeFilter::new().extension("alarmIds", ids);
        let subscription = client.subscribe(filter).await.unwrap();
        let accepted = subscription.acknowledged_filter();
        let accepted = accepted.extension_member("alarmIds").unwrap();
        assert_eq!(accepted.as_str(), "[\"a1\"]", "{case}");
        server
            .notify_topic::<Rang>("a1", &json!({"count": 7}))
            .unwrap();
        settle().await;
        assert_eq!(*rang.lock().unwrap(), [json!(7)], "{case}");
        drop(subscription);
        settle().await;
        server
            .notify_topic::<Rang>("a1", &json!({"count": 8}))
            .unwrap();
        settle().await;
        assert_eq!(rang.lock().unwrap().len(), 1, "{case}");
        // The client asks nothing of a server that does not declare the extension.
        let client = Coupled::connect(case, &echo_builder().build().unwrap(), plain()).await;
        let error = client
            .request_extension::<Stop>(alarm("a"))
            .await
            .map(|_| ());
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("does not declare the extension"),
            "{case}: {error}"
        );
        assert!(client.tap().sent_of(Stop::METHOD).is_empty(), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn background_work_begins_and_ends_with_the_server() {
    let traced = Traced::start();
    let (starts, ends) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counts = (starts.clone(), ends.clone());
    let extension = Extension::new(ID)
        .background(async move |background: Background| {
            counts.0.fetch_add(1, Ordering::Relaxed);
            assert!(background.server().is_some());
            background.end().closing().await;
            assert!(background.server().is_none());
            counts.1.fetch_add(1, Ordering::Relaxed);
        })
        .background(async |_| panic!("secret of the work"))
        .background(async |_: Background| {
            std::future::pending::<()>().await;
        });
    let server = echo_builder().extension(extension).build().unwrap();
    settle().await;
    assert_eq!(starts.load(Ordering::Relaxed), 0, "nobody serves it");
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = client.request("tools/list", json!({})).await;
        assert!(answer["result"]["tools"].is_array(), "{case}");
        settle().await;
        assert_eq!(starts.load(Ordering::Relaxed), 1, "{case}");
    }
    settle().await;
    assert_eq!(
        ends.load(Ordering::Relaxed),
        0,
        "somebody still has the server"
    );
    drop(server);
    settle().await;
    assert_eq!(ends.load(Ordering::Relaxed), 1);
    let ended = "background work of an extension has ended with a panic";
    assert_eq!(traced.with(ended).len(), 1, "{}", traced.text());
    assert!(traced.with("was dropped").is_empty());
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(traced.with("was dropped").len(), 1, "{}", traced.text());
}

#[tokio::test(start_paused = true)]
async fn an_extension_brings_items() {
    let tool = Tool::builder("chime").handler(async |(): (), _: HandlerContext| "ding");
    let extension = Extension::new(ID).items(Group::new().tool(tool));
    let server = echo_builder().extension(extension).build().unwrap();
    for case in Case::all() {
        let mut client = Client::connect(case, &server).await;
        let answer = client.request("tools/call", json!({"name": "chime"})).await;
        assert_eq!(answer["result"]["content"][0]["text"], "ding", "{case}");
    }
}
