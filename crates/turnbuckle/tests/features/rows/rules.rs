//! Groups, mounted servers, layers and visibility.

use serde_json::json;
use turnbuckle::client::Error;
use turnbuckle::types::PromptReference;

use super::{call_text, error_code, find_tool};
use crate::cells::{Transport, each};
use crate::readers::Web;

#[test]
fn methods_share_their_value() {
    each(|at| async move {
        let before: u32 = call_text(&at, "count", json!({"step": 2}))
            .await
            .parse()
            .unwrap();
        let after = call_text(&at, "count", json!({})).await;
        assert_eq!(after, (before + 1).to_string());
        let double = call_text(&at, "count_double", json!({})).await;
        assert_eq!(double, (before * 2 + 2).to_string());
    });
}

#[test]
fn methods_of_several_blocks_are_one_group_and_complete() {
    each(|at| async move {
        let prompt = PromptReference::new("explain_count");
        let units = at.complete(prompt, "unit", "do").await.unwrap();
        assert_eq!(units.completion.values, ["dozens"]);
        let prompt = at.get_prompt("explain_count", [("unit", "days")]).await;
        let messages = serde_json::to_value(prompt.unwrap().messages).unwrap();
        let text = "Explain a count of days.";
        assert_eq!(messages[0]["content"]["text"], text);
    });
}

#[test]
fn groups_have_state_of_their_own() {
    each(|at| async move {
        assert_eq!(call_text(&at, "lucky", json!({})).await, "lucky 7");
        assert_eq!(call_text(&at, "lucky_too", json!({})).await, "lucky 8");
    });
}

#[test]
fn a_server_is_mounted_in_another() {
    each(|at| async move {
        assert_eq!(call_text(&at, "inner_which", json!({})).await, "server 2");
        assert!(find_tool(&at, "inner_which").await.is_some());
        assert_eq!(error_code(at.call_tool("which", &()).await), -32602);
    });
}

#[test]
fn a_layer_stands_around_a_tool() {
    each(|at| async move {
        let whole = call_text(&at, "fragile", json!({"whole": true})).await;
        assert_eq!(whole, "whole");
        let broken = call_text(&at, "fragile", json!({"whole": false})).await;
        assert_eq!(broken, "fragile rescued");
    });
}

#[test]
fn a_function_around_a_tool_changes_its_arguments_and_its_result() {
    each(|at| async move {
        let loud = call_text(&at, "whisper", json!({"words": "hush"})).await;
        assert_eq!(loud, "HUSH\n!");
    });
}

#[test]
fn a_function_around_a_server_filters_its_lists() {
    each(|at| async move {
        assert!(find_tool(&at, "unlisted").await.is_none());
        assert_eq!(call_text(&at, "unlisted", json!({})).await, "here");
        assert!(find_tool(&at, "whisper").await.is_some());
    });
}

#[test]
fn a_hidden_item_cannot_be_used() {
    each(|at| async move {
        assert!(find_tool(&at, "hidden").await.is_none());
        assert_eq!(error_code(at.call_tool("hidden", &()).await), -32602);
        let signed_in = at.signed_in().await;
        assert_eq!(signed_in.is_none(), at.cell.transport == Transport::Stdio);
        if let Some(client) = signed_in {
            assert!(find_tool(&client, "hidden").await.is_some());
            let found = call_text(&client, "hidden", json!({})).await;
            assert_eq!(found, "found by Some(\"ada\")");
        }
    });
}

#[test]
fn a_scope_is_needed() {
    each(|at| async move {
        assert!(find_tool(&at, "administer").await.is_some());
        let refused = at.call_tool("administer", &()).await.unwrap_err();
        // What is posted beside a stream was accepted before anybody looked into it.
        match (at.cell.transport, at.reader.http) {
            (Transport::Http, Web::Streamable) => assert!(
                matches!(refused, Error::Unauthorized { status: 403, .. }),
                "{refused:?}"
            ),
            _ => assert!(refused.to_string().contains("admin"), "{refused:?}"),
        }
        if let Some(client) = at.signed_in().await {
            let done = call_text(&client, "administer", json!({})).await;
            assert_eq!(done, "administered");
        }
    });
}
