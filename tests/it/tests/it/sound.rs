//! Our client with the correct server that checks of clients use: neither knows the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnbuckle_check::oracle::{Oracle, Sender};
use turnbuckle_client::{
    ChangeFilter, Client, ClientBuilder, EraPreference, Form, FormAnswer, QuestionContext, Roots,
};
use turnbuckle_it::peer::{PeerConnectors, Sound};
use turnbuckle_types::{CreateMessageRequestParams, CreateMessageResult, Role, Root};
use turnbuckle_wire::revision::{EraKind, Revision};

use crate::client_support::plain;

/// Returns a correct server of one revision, and where the faults of its messages are kept.
fn judged_server(revision: Revision) -> (Sound, Arc<Mutex<Vec<String>>>) {
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let found = Arc::clone(&faults);
    let oracle = Oracle::load();
    let sound = Sound::new().on_reply(move |cause, messages| {
        for message in messages {
            let method = cause.message["method"].as_str();
            if let Err(faults) = oracle.check_message(revision, Sender::Server, message, method) {
                let fault = format!("{revision} {faults:?}: {message}");
                found.lock().unwrap().push(fault);
            }
        }
    });
    (sound, faults)
}

fn able(revision: Revision) -> ClientBuilder {
    let roots = Roots::new();
    roots.add(Root::new("file:///home/ada").unwrap()).unwrap();
    plain()
        .era(EraPreference::Only(revision))
        .roots(roots)
        .on_form(async |form: Form, _: QuestionContext| {
            match form.schema.properties.get("name").is_some() {
                true => FormAnswer::accept([("name", "Ada")]),
                false => form.accept_defaults().unwrap_or(FormAnswer::Decline),
            }
        })
        .on_sampling(async |_: CreateMessageRequestParams, _: QuestionContext| {
            Ok(CreateMessageResult::new(Role::Assistant, "Paris", "m"))
        })
}

/// Returns the arguments of a tool that takes any.
fn arguments_of(tool: &str) -> Value {
    match tool {
        "slow_compute" => json!({"seconds": 1}),
        "add_numbers" => json!({"a": 1, "b": 2}),
        "greet" => json!({"name": "Ada"}),
        "test_sampling" => json!({"prompt": "Say it"}),
        "test_elicitation" => json!({"message": "Who?"}),
        "test_header_argument" => json!({"value": "ü"}),
        "test_header_number" => json!({"count": 7}),
        "test_trigger_resource_update" => json!({"uri": "test://watched-resource"}),
        _ => json!({}),
    }
}

async fn use_everything(client: &Client, revision: Revision) {
    let mut texts = HashMap::new();
    let tools = client.list_tools().fetch_all().await.unwrap();
    for tool in &tools {
        let name = tool.name.as_str();
        let called = client.call_tool(name, &arguments_of(name)).await;
        let called = called.unwrap_or_else(|error| panic!("{revision} {name}: {error}"));
        let called = serde_json::to_value(&called).unwrap();
        let failed = called["isError"] == true;
        assert_eq!(
            failed,
            name == "test_error_handling",
            "{revision} {name} {called}"
        );
        texts.insert(name.to_owned(), called["content"][0]["text"].clone());
    }
    assert_eq!(texts["greet"], "Hello, Ada!");
    if revision.features().era == EraKind::Modern {
        assert_eq!(
            texts["test_input_required_result_request_state"],
            "state-ok"
        );
        assert_eq!(
            texts["test_input_required_result_elicitation"],
            "Hello, Ada!"
        );
    }
    for resource in client.list_resources().fetch_all().await.unwrap() {
        client
            .read_resource(resource.uri.to_string())
            .await
            .unwrap();
    }
    assert_eq!(
        client
            .list_resource_templates()
            .fetch_all()
            .await
            .unwrap()
            .len(),
        1
    );
    client
        .read_resource("test://template/123/data")
        .await
        .unwrap();
    client
        .read_resource("test://nonexistent")
        .await
        .unwrap_err();
    for prompt in client.list_prompts().fetch_all().await.unwrap() {
        let arguments = [
            ("arg1", "a"),
            ("arg2", "b"),
            ("resourceUri", "test://example-resource"),
        ];
        client.get_prompt(prompt.name, arguments).await.unwrap();
    }
    let filter = ChangeFilter::new().tools();
    let mut changes = client.subscribe(filter).await.unwrap();
    client
        .call_tool("test_trigger_tool_change", &json!({}))
        .await
        .unwrap();
    changes.next().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn our_client_uses_everything_of_the_correct_server() {
    for revision in Revision::ALL {
        for web in [false, true] {
            if web && revision == Revision::ALL[0] {
                continue;
            }
            let (sound, faults) = judged_server(revision);
            let client = match web {
                false => able(revision).connect(sound.lines()).await.unwrap(),
                true => able(revision).connect(sound.web()).await.unwrap(),
            };
            use_everything(&client, revision).await;
            assert_eq!(*faults.lock().unwrap(), Vec::<String>::new());
        }
    }
}
