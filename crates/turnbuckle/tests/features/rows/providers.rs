//! Items of providers.

use serde_json::json;
use turnbuckle::client::ChangeFilter;
use turnbuckle::session::handler::Change;

use super::{call_error_text, call_text, error_code};
use crate::cells::each;
use crate::server::providers::BOOKS;

/// Returns the names that end a list, one for each book.
fn names(prefix: &str) -> Vec<String> {
    (0..BOOKS)
        .map(|number| format!("{prefix}{number}"))
        .collect()
}

#[test]
fn provided_items_end_each_list() {
    each(|at| async move {
        let tools = at.list_tools().fetch_all().await.unwrap();
        let tools: Vec<_> = tools.into_iter().map(|tool| tool.name).collect();
        assert!(tools.ends_with(&names("borrow-")), "{tools:?}");
        let prompts = at.list_prompts().fetch_all().await.unwrap();
        let prompts: Vec<_> = prompts.into_iter().map(|prompt| prompt.name).collect();
        assert!(prompts.ends_with(&names("blurb-")), "{prompts:?}");
        let resources = at.list_resources().fetch_all().await.unwrap();
        let resources: Vec<_> = resources.into_iter().map(|it| it.uri).collect();
        assert!(resources.ends_with(&names("shelf://")), "{resources:?}");
    });
}

#[test]
fn provided_items_are_called_got_and_read() {
    each(|at| async move {
        let borrowed = call_text(&at, "borrow-3", json!({"days": 7})).await;
        assert_eq!(borrowed, "book 3 for {\"days\":7}");
        let refused = call_error_text(&at, "borrow-3", json!({"days": 31})).await;
        assert!(refused.contains("days"), "{refused}");
        assert_eq!(error_code(at.call_tool("borrow-6", &()).await), -32602);
        let prompt = at.get_prompt("blurb-5", [("", ""); 0]).await.unwrap();
        let text = prompt.messages[0].content.as_text();
        assert_eq!(text, Some("Praise book 5."));
        let read = at.read_resource("shelf://0").await.unwrap();
        let read = serde_json::to_value(read.contents).unwrap();
        assert_eq!(read[0]["text"], "Chapter one of 0");
        let missing = at.read_resource("shelf://6").await;
        assert_eq!(error_code(missing), at.reader.not_found);
    });
}

#[test]
fn a_subscriber_hears_of_a_changed_provided_resource() {
    each(|at| async move {
        let uri = "shelf://1";
        let interest = ChangeFilter::new().resource(uri);
        let mut subscription = at.subscribe(interest).await.unwrap();
        call_text(&at, "touch", json!({ "uri": uri })).await;
        let change = subscription.next().await;
        assert_eq!(change, Some(Change::Resource(uri.into())));
    });
}
