//! Thoughts: counted, branched, bounded.

use serde_json::{Value, json};
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle_serve::sequential_thinking::{Options, server};

async fn connect() -> TestClient {
    testing::connect(server(Options::new()).unwrap())
        .await
        .unwrap()
}

async fn think(client: &TestClient, more: Value) -> Value {
    let mut arguments = json!({
        "thought": "a step", "thoughtNumber": 1, "totalThoughts": 3, "nextThoughtNeeded": true,
    });
    let more = more.as_object().unwrap().clone();
    arguments.as_object_mut().unwrap().extend(more);
    let result = client
        .call_tool("sequentialthinking", &arguments)
        .await
        .unwrap();
    assert_ne!(result.is_error, Some(true), "{}", result.text());
    let structured: Value = result
        .structured_content
        .as_ref()
        .unwrap()
        .decode()
        .unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&result.text()).unwrap(),
        structured
    );
    structured
}

#[tokio::test]
async fn thoughts_are_counted_and_the_total_grows_with_them() {
    let client = connect().await;
    let first = think(&client, json!({})).await;
    assert_eq!(
        first,
        json!({
            "thoughtNumber": 1, "totalThoughts": 3, "nextThoughtNeeded": true, "branches": [],
            "thoughtHistoryLength": 1,
        })
    );
    let second = think(&client, json!({"thoughtNumber": 5})).await;
    assert_eq!(second["totalThoughts"], 5);
    assert_eq!(second["thoughtHistoryLength"], 2);
}

#[tokio::test]
async fn a_branch_is_named_once() {
    let client = connect().await;
    let branch = |id: &str| json!({"branchFromThought": 1, "branchId": id});
    think(&client, branch("a")).await;
    think(&client, branch("b")).await;
    let last = think(&client, branch("a")).await;
    assert_eq!(last["branches"], json!(["a", "b"]));
    let alone = think(&client, json!({"branchId": "c"})).await;
    assert_eq!(
        alone["branches"],
        json!(["a", "b"]),
        "a branch begins at a thought"
    );
}

#[tokio::test]
async fn branches_are_bounded() {
    let client = connect().await;
    let call = async |id: String| {
        let arguments = json!({
            "thought": "", "thoughtNumber": 1, "totalThoughts": 1, "nextThoughtNeeded": false,
            "branchFromThought": 1, "branchId": id,
        });
        client
            .call_tool("sequentialthinking", &arguments)
            .await
            .unwrap()
    };
    assert_eq!(call("x".repeat(257)).await.is_error, Some(true));
    for number in 0..256 {
        assert_ne!(call(number.to_string()).await.is_error, Some(true));
    }
    assert_eq!(
        call("one more".to_owned()).await.text(),
        "there are 256 branches already"
    );
}

#[tokio::test]
async fn the_check_is_clean() {
    let checked = Checker::new(server(Options::new()).unwrap())
        .run()
        .await
        .unwrap();
    checked.assert_clean();
}
