//! Changes of a running server.

use serde_json::json;
use turnbuckle::client::ChangeFilter;
use turnbuckle::session::handler::Change;

use super::{call_text, error_code, find_tool};
use crate::cells::each;

#[test]
fn a_batch_of_changes_is_told() {
    each(|at| async move {
        let interest = ChangeFilter::new().tools().prompts();
        let mut subscription = at.subscribe(interest).await.unwrap();
        call_text(&at, "shelve", json!({})).await;
        assert_eq!(subscription.next().await, Some(Change::Tools));
        assert!(find_tool(&at, "shelved").await.is_none());
        assert!(find_tool(&at, "extra").await.is_some());
        assert_eq!(call_text(&at, "extra", json!({})).await, "new here");
        call_text(&at, "unshelve", json!({})).await;
        assert_eq!(subscription.next().await, Some(Change::Tools));
        assert!(find_tool(&at, "extra").await.is_none());
    });
}

#[test]
fn a_disabled_tool_is_unknown() {
    each(|at| async move {
        assert_eq!(call_text(&at, "shelved", json!({})).await, "still here");
        call_text(&at, "shelve", json!({})).await;
        let unknown = error_code(at.call_tool("nothing", &()).await);
        assert_eq!(error_code(at.call_tool("shelved", &()).await), unknown);
        call_text(&at, "unshelve", json!({})).await;
        assert_eq!(call_text(&at, "shelved", json!({})).await, "still here");
    });
}
