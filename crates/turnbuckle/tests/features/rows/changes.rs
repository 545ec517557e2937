//! What changes while a server runs.

use serde_json::json;
use turnbuckle::client::ChangeFilter;
use turnbuckle::session::Change;

use super::{listed, refusal, said};
use crate::cells::each;

#[test]
fn a_batch_of_changes_is_told() {
    each(|at| async move {
        let interest = ChangeFilter::new().tools().prompts();
        let mut subscription = at.subscribe(interest).await.unwrap();
        said(&at, "shelve", json!({})).await;
        assert_eq!(subscription.next().await, Some(Change::Tools));
        assert!(listed(&at, "shelved").await.is_none());
        assert!(listed(&at, "extra").await.is_some());
        assert_eq!(said(&at, "extra", json!({})).await, "new here");
        said(&at, "unshelve", json!({})).await;
        assert_eq!(subscription.next().await, Some(Change::Tools));
        assert!(listed(&at, "extra").await.is_none());
    });
}

#[test]
fn a_disabled_tool_is_unknown() {
    each(|at| async move {
        assert_eq!(said(&at, "shelved", json!({})).await, "still here");
        said(&at, "shelve", json!({})).await;
        let unknown = refusal(at.call_tool("nothing", &()).await);
        assert_eq!(refusal(at.call_tool("shelved", &()).await), unknown);
        said(&at, "unshelve", json!({})).await;
        assert_eq!(said(&at, "shelved", json!({})).await, "still here");
    });
}
