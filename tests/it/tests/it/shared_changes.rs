//! Changes that reach the subscribers of all instances of a server.

mod streams;
mod subscriptions;

use std::time::Duration;

use serde_json::{Value, json};
use turnbuckle_it::faulty_store::{Fault, FaultyStore};
use turnbuckle_it::harness::{Bind, Case, Client, ClientOptions};
use turnbuckle_server::{
    HandlerContext, KeyRing, Prompt, ReadRequest, Resource, SecretKey, Server, Tasks, Tool,
};
use turnbuckle_session::transport::Dispatch as _;
use turnbuckle_store::{MemoryStore, StoreErrorKind};
use turnbuckle_wire::revision::Revision;

use crate::support::{principal, result};

const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A time in which every change has arrived.
const SOON: Duration = Duration::from_millis(100);

/// A time in which an instance has noticed that its store is back.
const BACK: Duration = Duration::from_secs(10);

/// An instance of the server.
struct Instance {
    server: Server,
    line: FaultyStore,
}

fn instance(store: &MemoryStore) -> Instance {
    let line = FaultyStore::for_engine(store);
    let read = async |_: ReadRequest, _: HandlerContext| "";
    let nap = async |(): (), _: HandlerContext| {
        tokio::time::sleep(Duration::from_secs(5)).await;
        "slept"
    };
    let complete = async |(): (), context: HandlerContext| {
        context.elicitation_notifier().notify_complete("e").await;
        "told"
    };
    let server = Server::new("changing", "1.0.0")
        .dynamic_prompts()
        .tool(Tool::builder("complete").handler(complete))
        .tool(
            Tool::builder("nap")
                .task(turnbuckle_server::TaskSupport::required())
                .handler(nap),
        )
        .resource(Resource::builder("r:1", "one").handler(read))
        .resource(Resource::builder("r:2", "two").handler(read))
        .extension(Tasks::new())
        .keys(KeyRing::new(SecretKey::from_bytes([7; 32])))
        .store(line.clone())
        .build()
        .unwrap();
    server.cluster().expect("it has a store").start();
    Instance { server, line }
}

fn add_prompt(server: &Server) {
    let prompt = Prompt::builder("p").handler(async |(): (), _: HandlerContext| String::new());
    server.add_prompt(prompt).unwrap();
}

/// Connects a client that is subscribed to the lists and to the resource `r:1`.
async fn subscribe(case: Case, instance: &Instance) -> Client {
    let mut client = Client::connect(case, &instance.server).await;
    if case.is_modern() {
        let filter = json!({
            "toolsListChanged": true, "promptsListChanged": true,
            "resourceSubscriptions": ["r:1"],
        });
        let params = json!({"notifications": filter});
        client.start("subscriptions/listen", params).await;
        client
            .next_of("notifications/subscriptions/acknowledged")
            .await;
    } else {
        let uri = json!({"uri": "r:1"});
        result(&client.request("resources/subscribe", uri).await);
    }
    client.wait(SOON).await;
    client
}

/// Returns the methods of what a client was told within a time.
async fn take_methods(client: &mut Client, time: Duration) -> Vec<String> {
    client.wait(time).await;
    let messages = client.messages().await;
    let methods = messages.iter().map(|it| it["method"].as_str().unwrap());
    methods.map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn a_change_reaches_the_subscribers_of_all_instances_once() {
    for case in Case::all() {
        let store = MemoryStore::new();
        let [one, two] = [instance(&store), instance(&store)];
        let mut clients = [subscribe(case, &one).await, subscribe(case, &two).await];
        type Notify = fn(&Server);
        let changes: [(Notify, &str); 3] = [
            (add_prompt, PROMPTS),
            (Server::notify_tools_changed, TOOLS),
            (|server| server.notify_resource_updated("r:1"), UPDATED),
        ];
        for (change, method) in changes {
            change(&one.server);
            for client in &mut clients {
                assert_eq!(take_methods(client, SOON).await, [method], "{case}");
            }
        }
        two.server.notify_resource_updated("r:2");
        for client in &mut clients {
            assert_eq!(take_methods(client, SOON).await, [""; 0], "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_are_told_here_at_once_and_elsewhere_once_the_store_is_back() {
    for case in Case::all() {
        let store = MemoryStore::new();
        let [one, two] = [instance(&store), instance(&store)];
        let mut clients = [subscribe(case, &one).await, subscribe(case, &two).await];
        let gone = Fault::Error(StoreErrorKind::Unavailable);
        one.line.fail("append", gone);
        two.line.fail("read", gone);
        one.server.notify_tools_changed();
        one.server.notify_resource_updated("r:1");
        let here = take_methods(&mut clients[0], SOON).await;
        assert_eq!(here, [TOOLS, UPDATED], "{case}");
        one.server.notify_tools_changed();
        assert_eq!(take_methods(&mut clients[0], SOON).await, [TOOLS], "{case}");
        one.line.heal();
        assert_eq!(take_methods(&mut clients[1], BACK).await, [""; 0], "{case}");
        two.line.heal();
        let elsewhere = take_methods(&mut clients[1], BACK).await;
        assert_eq!(elsewhere, [TOOLS, UPDATED], "{case}");
        assert_eq!(
            take_methods(&mut clients[0], SOON).await,
            [""; 0],
            "{case}: twice"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn lost_messages_between_instances_lose_no_change() {
    for case in Case::all() {
        let store = MemoryStore::new();
        let [one, two] = [instance(&store), instance(&store)];
        let mut client = subscribe(case, &two).await;
        one.line
            .fail("publish", Fault::Error(StoreErrorKind::Unavailable));
        one.server.notify_tools_changed();
        assert_eq!(take_methods(&mut client, BACK).await, [TOOLS], "{case}");
        store.interrupt();
        assert_eq!(take_methods(&mut client, BACK).await, [""; 0], "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_missed_changes_says_that_everything_may_have_changed() {
    let cases = Case::with_revisions([Revision::NEWEST_LEGACY, Revision::NEWEST]);
    let over_pipes = |case: &Case| case.binding == Bind::Pipe;
    for case in cases.into_iter().filter(over_pipes) {
        let store = MemoryStore::new();
        let [one, two] = [instance(&store), instance(&store)];
        let mut client = subscribe(case, &two).await;
        let gone = Fault::Error(StoreErrorKind::Unavailable);
        two.line.fail("read", gone);
        for batch in 0..11 {
            for number in 0..1000 {
                let uri = format!("r:{batch}-{number}");
                one.server.notify_resource_updated(&uri);
            }
            client.wait(SOON).await;
        }
        two.line.heal();
        let told = take_methods(&mut client, BACK).await;
        let listed = &told[..told.len() - 1];
        match case.is_legacy() {
            true => assert_eq!(listed, [TOOLS, PROMPTS, RESOURCES], "{case}"),
            false => assert_eq!(listed, [TOOLS, PROMPTS], "{case}"),
        }
        assert_eq!(told.last().unwrap(), UPDATED, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_task_reaches_the_subscribers_of_all_instances() {
    for case in Case::modern() {
        let store = MemoryStore::new();
        let [one, two] = [instance(&store), instance(&store)];
        let declared = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
        let options = || {
            ClientOptions::new()
                .capabilities(declared.clone())
                .principal(principal("ada"))
        };
        let mut client = Client::connect_with(case, &one.server, options()).await;
        let params = json!({"name": "nap", "arguments": {}});
        let created = client.request("tools/call", params).await;
        let id = result(&created)["taskId"].clone();
        let mut listener = Client::connect_with(case, &two.server, options()).await;
        let params = json!({"notifications": {"taskIds": [id]}});
        listener.start("subscriptions/listen", params).await;
        listener
            .next_of("notifications/subscriptions/acknowledged")
            .await;
        listener.wait(Duration::from_secs(10)).await;
        let messages = listener.messages().await;
        let last: &Value = messages.last().expect("the end of the task");
        assert_eq!(last["method"], "notifications/tasks", "{case}");
        assert_eq!(last["params"]["taskId"], id, "{case}");
        assert_eq!(last["params"]["status"], "completed", "{case}");
        let text = &last["params"]["result"]["content"][0]["text"];
        assert_eq!(text, "slept", "{case}: {last}");
    }
}
