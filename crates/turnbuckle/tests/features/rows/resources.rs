//! Resources.

use serde_json::{Value, json};
use turnbuckle::Client;
use turnbuckle::client::ChangeFilter;
use turnbuckle::session::handler::Change;
use turnbuckle::types::ResourceTemplateReference;

use super::{call_text, error_code};
use crate::cells::each;

async fn read(client: &Client, uri: &str) -> Value {
    let read = client.read_resource(uri).await.unwrap();
    serde_json::to_value(read.contents).unwrap()
}

#[test]
fn a_function_is_a_resource() {
    each(|at| async move {
        let uri = "notes://readme";
        let text = json!([{"uri": uri, "mimeType": "text/plain", "text": "read me"}]);
        assert_eq!(read(&at, uri).await, text);
        let kept = at.read_resource(uri).bypass_cache().await.unwrap().ttl_ms;
        assert_eq!(kept, at.reader.cache_hints.then_some(5));
        let listed = at.list_resources().fetch_all().await.unwrap();
        assert_eq!(listed[0].description.as_deref(), Some("The first steps."));
        let title = at.reader.titles.then_some("Read me");
        assert_eq!(listed[0].title.as_deref(), title);
        assert_eq!(
            error_code(at.read_resource("notes://none").await),
            at.reader.not_found
        );
    });
}

#[test]
fn a_function_is_the_resources_of_a_template() {
    each(|at| async move {
        let note = read(&at, "notes://by-number/4").await;
        assert_eq!(note[0]["text"], "note 5");
        let listed = at.list_resource_templates().fetch_all().await.unwrap();
        assert_eq!(listed[0].uri_template, "notes://by-number/{number}");
        for (uri, code) in [
            ("notes://by-number/four", -32602),
            ("notes://by-number/12", -32603),
        ] {
            assert_eq!(error_code(at.read_resource(uri).await), code, "{uri}");
        }
    });
}

#[test]
fn a_templates_variable_is_completed() {
    each(|at| async move {
        let note = ResourceTemplateReference::new("notes://by-number/{number}");
        let completed = at.complete(note, "number", "2").await.unwrap();
        assert_eq!(completed.completion.values, ["21"]);
    });
}

#[test]
fn a_subscriber_hears_of_a_changed_resource() {
    each(|at| async move {
        let uri = "notes://readme";
        let interest = ChangeFilter::new().resource(uri);
        let mut subscription = at.subscribe(interest).await.unwrap();
        call_text(&at, "touch", json!({"uri": "notes://by-number/1"})).await;
        call_text(&at, "touch", json!({ "uri": uri })).await;
        let change = subscription.next().await;
        assert_eq!(change, Some(Change::Resource(uri.into())));
    });
}
