//! Errors of handlers, as clients read them.

use serde_json::json;

use super::{call_error_text, error_code};
use crate::cells::each;

/// Asserts that a text hides an error and has a reference to the log.
#[track_caller]
fn assert_masked(text: &str) {
    let reference = text
        .split_once("The request failed for an internal reason (reference ")
        .and_then(|(_, rest)| rest.strip_suffix(")."));
    assert_eq!(reference.map(str::len), Some(8), "{text}");
}

#[test]
fn a_masked_error_is_a_reference_to_the_log() {
    each(|at| async move {
        for tool in ["vault", "ledger"] {
            assert_masked(&call_error_text(&at, tool, json!({})).await);
        }
        let prompt = at.get_prompt("confession", [("", ""); 0]).await;
        assert_masked(&prompt.unwrap_err().error_response().unwrap().message);
        let resource = at.read_resource("vault://diary").await;
        assert_masked(&resource.unwrap_err().error_response().unwrap().message);
    });
}

#[test]
fn an_item_may_show_its_errors_in_a_group_that_masks_them() {
    each(|at| async move {
        let text = call_error_text(&at, "cellar", json!({})).await;
        assert_eq!(text, "the accounts cannot be read");
    });
}

#[test]
fn an_error_type_sets_its_client_message() {
    each(|at| async move {
        let sells = |amount: u32| json!({ "amount": amount });
        for hidden in [0, 1] {
            assert_masked(&call_error_text(&at, "sells", sells(hidden)).await);
        }
        let text = call_error_text(&at, "sells", sells(2)).await;
        assert_eq!(text, "sold out; `restock` orders more");
        assert_eq!(error_code(at.call_tool("sells", &sells(3)).await), -32602);
    });
}
