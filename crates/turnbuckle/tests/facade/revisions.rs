//! A client in memory, in each revision.

use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::testing;
use turnbuckle::types::ContentBlock;

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

#[tokio::test]
async fn two_lines_call_a_tool() -> Result {
    let client = testing::connect(Server::new("calc", "1.0.0").tools(tools![add])).await?;
    let sum: i64 = client
        .call_tool("add", &json!({"a": 1, "b": 2}))
        .structured_content()
        .await?;
    assert_eq!(sum, 3);
    Ok(())
}

#[tokio::test]
async fn every_revision_can_be_spoken_with_one_server() -> Result {
    let server = Server::new("calc", "1.0.0").tools(tools![add]).build()?;
    let mut spoken = 0;
    for revision in testing::revisions() {
        let client = testing::client(&server)
            .revision(revision)
            .connect()
            .await?;
        assert_eq!(
            client.server_info().map(|server| server.revision),
            Some(revision)
        );
        let result = client.call_tool("add", &json!({"a": 1, "b": 2})).await?;
        let three: ContentBlock = "3".into();
        assert_eq!(result.content, [three]);
        spoken += 1;
    }
    assert_eq!(spoken, 5);
    Ok(())
}

#[tokio::test]
async fn a_server_that_cannot_be_built_is_an_error() {
    let server = Server::new("calc", "1.0.0").tools(tools![add, add]);
    let error = testing::connect(server).await.map(drop).unwrap_err();
    assert!(format!("{error:?}").contains("add"), "{error:?}");
}

#[tokio::test]
async fn the_server_ends_with_its_client() -> Result {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let client = testing::connect(Server::new("calc", "1.0.0").tools(tools![add])).await?;
    assert!(tasks() > 0);
    drop(client);
    while tasks() > 0 {
        tokio::task::yield_now().await;
    }
    Ok(())
}
