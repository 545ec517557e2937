//! Extensions.

use serde_json::{Value, json};
use turnbuckle::types::RawObject;

use super::{call_text, error_code, find_tool};
use crate::cells::each;
use crate::server::{EXTENSION, pages};

#[test]
fn an_extension_has_methods_where_there_are_extensions() {
    each(|at| async move {
        let params = RawObject::encode(&json!({"shout": "ahoy"})).unwrap();
        let answer = at.request_raw(EXTENSION, Some(params), None).await;
        if at.reader.extensions {
            let result: Value = answer.unwrap().decode().unwrap();
            assert_eq!(result["shout"], "ahoy");
        } else {
            assert_eq!(error_code(answer), -32601);
        }
    });
}

#[test]
fn a_tool_has_a_page_where_clients_show_such() {
    each(|at| async move {
        let expected = match at.reader.extensions {
            true => "rain, as shown",
            false => "It rains.",
        };
        assert_eq!(call_text(&at, "weather", json!({})).await, expected);
        let mute = at.mute().await;
        assert_eq!(call_text(&mute, "weather", json!({})).await, "It rains.");
        let tool = find_tool(&at, "weather").await.unwrap();
        let uri = at.reader.titles.then_some(json!(pages::PAGE));
        assert_eq!(tool.pointer("/_meta/ui/resourceUri"), uri.as_ref());
        let page = at.read_resource(pages::PAGE).await.unwrap();
        let page = serde_json::to_value(page.contents).unwrap();
        assert!(page[0]["text"].as_str().unwrap().contains("id=now"));
    });
}
