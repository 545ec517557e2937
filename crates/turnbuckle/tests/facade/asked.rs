//! Scripted answers to questions of a server.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use turnbuckle::prelude::*;
use turnbuckle::testing::{self, TestClient};
use turnbuckle::types::{CallToolResult, ContentBlock, Principal};

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Confirm {
    go: bool,
}

/// Asks with a form for each message, one after the other.
fn server() -> Server {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Forms {
        messages: Vec<String>,
    }

    let forms = Tool::builder("forms").handler(
        async |Args(Forms { messages }): Args<Forms>, ask: Ask| -> Result<String> {
            let mut outcomes = Vec::new();
            for message in &messages {
                outcomes.push(match ask.form::<Confirm>(message.as_str()).await {
                    Ok(Confirm { go }) => go.to_string(),
                    Err(error) => error.to_string(),
                });
            }
            Ok(outcomes.join("; "))
        },
    );
    let sample = Tool::builder("sample").handler(async |ask: Ask| -> Result<String> {
        let answer = ask.sample("What is the answer?").await?;
        Ok(format!("{answer:?}"))
    });
    let roots = Tool::builder("roots")
        .handler(async |ask: Ask| -> Result<String> { Ok(format!("{:?}", ask.roots().await?)) });
    Server::new("asking", "1.0.0")
        .tool(forms)
        .tool(sample)
        .tool(roots)
        .build()
        .unwrap()
}

async fn forms(client: &TestClient, messages: &[&str]) -> Result<CallToolResult> {
    Ok(client
        .call_tool("forms", &json!({ "messages": messages }))
        .await?)
}

fn text(result: &CallToolResult) -> &str {
    match result.content.as_slice() {
        [ContentBlock::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

/// Returns the message that dropping the client fails the test with.
fn fault(client: TestClient) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(client))).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

/// Returns the revisions with forms.
fn with_forms() -> impl Iterator<Item = turnbuckle::Revision> {
    testing::revisions().filter(|revision| revision.features().elicitation)
}

#[tokio::test]
async fn forms_are_answered_in_order_and_by_their_text() -> Result {
    for revision in with_forms() {
        let client = testing::client(server())
            .revision(revision)
            .when("third")
            .answer_form(json!({"go": false}))
            .answer_form(json!({"go": true}))
            .decline_form()
            .cancel_form()
            .connect()
            .await?;
        let result = forms(&client, &["first", "third", "second", "last"]).await?;
        let outcomes: Vec<&str> = text(&result).split("; ").collect();
        assert_eq!(outcomes[..2], ["true", "false"], "{revision:?}");
        assert!(outcomes[2].contains("declined"), "{outcomes:?}");
        assert!(outcomes[3].contains("closed"), "{outcomes:?}");
    }
    Ok(())
}

#[tokio::test]
async fn sampling_and_roots_are_answered() -> Result {
    for revision in with_forms() {
        let client = testing::client(server())
            .revision(revision)
            .answer_sampling("forty-two")
            .roots(["file:///work"])
            .connect()
            .await?;
        let result = client.call_tool("sample", &()).await?;
        assert!(text(&result).contains("forty-two"), "{result:?}");
        let roots = client.call_tool("roots", &()).await?;
        assert!(text(&roots).contains("file:///work"), "{roots:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_question_without_an_answer_fails_the_test() -> Result {
    for revision in with_forms() {
        let client = testing::client(server())
            .revision(revision)
            .connect()
            .await?;
        // It fails in one era and is told to the tool in the other.
        let _ = forms(&client, &["Deploy?"]).await;
        assert_eq!(
            fault(client),
            "the script does not match the server:\n\
             - the server asked by form without a scripted answer: \"Deploy?\"",
            "{revision:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn an_answer_without_a_question_fails_the_test() -> Result {
    let client = testing::client(server())
        .answer_form(json!({"go": true}))
        .when("never")
        .decline_form()
        .answer_sampling("unheard")
        .connect()
        .await?;
    forms(&client, &["Deploy?"]).await?;
    assert_eq!(
        fault(client),
        "the script does not match the server:\n\
         - the server never asked by form for answer 2 of the script, for \"never\"\n\
         - the server never asked by sampling for answer 3 of the script"
    );
    Ok(())
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_is_not_asked() -> Result {
    let client = testing::client(server())
        .without_answers()
        .connect()
        .await?;
    let result = forms(&client, &["Deploy?"]).await?;
    assert_ne!(text(&result), "true");
    Ok(())
}

#[tokio::test]
async fn an_invalid_answer_is_reported_by_connect() {
    let error = testing::client(server()).answer_form(1).connect().await;
    let error = format!("{:?}", error.map(drop).unwrap_err());
    assert!(
        error.starts_with("the answer to a form must be an object"),
        "{error}"
    );
    let error = testing::client(server()).roots(["work"]).connect().await;
    assert!(error.is_err());
}

#[tokio::test]
async fn a_client_can_have_a_principal() {
    let whoami = Tool::builder("whoami")
        .visible_to(|principal| principal.is_some())
        .handler(|context: HandlerContext| {
            let principal = context.principal();
            principal.map_or_else(String::new, |principal| principal.subject.clone())
        });
    let server = Server::new("s", "1").tool(whoami).build().unwrap();
    let ada = Principal::new("https://issuer.example", "ada");
    let client = testing::client(&server)
        .principal(ada)
        .connect()
        .await
        .unwrap();
    let answer = client.call_tool("whoami", &()).await.unwrap();
    assert_eq!(answer.content[0].as_text(), Some("ada"));
    let nobody = testing::connect(&server).await.unwrap();
    assert!(nobody.call_tool("whoami", &()).await.is_err());
}
