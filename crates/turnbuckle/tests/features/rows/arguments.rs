//! Arguments of tools: their schemas and their parsing.

use serde_json::json;

use super::{call_error_text, call_text, find_tool};
use crate::cells::each;

#[test]
fn the_schema_of_arguments_is_told() {
    each(|at| async move {
        let tool = find_tool(&at, "book").await.unwrap();
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        assert_eq!(schema["required"], json!(["name", "people"]));
        let properties = &schema["properties"];
        assert_eq!(
            properties["name"],
            json!({"type": "string", "description": "The name of the guest.", "minLength": 2,
                   "pattern": "^[A-Z]"})
        );
        let people = &properties["people"];
        assert_eq!([&people["minimum"], &people["maximum"]], [1, 9]);
        let room = &properties["room"];
        assert_eq!(room["enum"], json!(["garden", "hall"]));
        assert_eq!(room["default"], "garden");
        assert_eq!(properties["wishes"]["type"], "array");
    });
}

#[test]
fn the_fields_of_a_flattened_parameter_are_arguments() {
    each(|at| async move {
        let page = json!({"shelf": "sea", "limit": "5"});
        assert_eq!(call_text(&at, "browse", page).await, "sea, 5 from 0");
        let tool = find_tool(&at, "browse").await.unwrap();
        assert_eq!(tool["inputSchema"]["required"], json!(["shelf", "limit"]));
        let wrong = json!({"shelf": 1, "limt": 5, "offset": -1});
        let text = call_error_text(&at, "browse", wrong).await;
        for place in ["shelf", "limit", "offset"] {
            assert!(text.contains(&format!("arguments.{place}: ")), "{text}");
        }
        assert!(text.contains("did you mean `limit`?"), "{text}");
    });
}

#[test]
fn invalid_arguments_are_refused_with_all_their_faults() {
    each(|at| async move {
        let wrong = json!({"name": "a", "people": 12, "room": "hal", "wishes": [1]});
        let text = call_error_text(&at, "book", wrong).await;
        for place in ["name", "people", "room", "wishes[0]"] {
            let line = format!("arguments.{place}: ");
            assert!(text.contains(&line), "{text}");
        }
        let typo = call_error_text(&at, "book", json!({"nam": "Ada", "people": 2})).await;
        assert!(typo.contains("arguments.name: "), "{typo}");
        assert!(typo.contains("did you mean `name`?"), "{typo}");
    });
}

#[test]
fn arguments_of_a_near_type_are_converted() {
    each(|at| async move {
        let meant = json!({"name": "Ada", "people": "2", "wishes": "[\"tea\"]"});
        let text = call_text(&at, "book", meant).await;
        assert_eq!(text, "Ada, 2, Garden, Some([\"tea\"])");
        let null = json!({"name": "Ada", "people": 2, "wishes": null});
        assert_eq!(call_text(&at, "book", null).await, "Ada, 2, Garden, None");
    });
}

#[test]
fn optional_arguments_and_defaults_may_be_left_out() {
    each(|at| async move {
        let least = json!({"name": "Ada", "people": 1});
        assert_eq!(call_text(&at, "book", least).await, "Ada, 1, Garden, None");
    });
}

#[test]
fn an_argument_may_be_one_of_an_enum() {
    each(|at| async move {
        let booking = |room| json!({"name": "Ada", "people": 1, "room": room});
        let text = call_text(&at, "book", booking("hall")).await;
        assert_eq!(text, "Ada, 1, Hall, None");
        let text = call_error_text(&at, "book", booking("hal")).await;
        assert!(text.contains("arguments.room: "), "{text}");
        assert!(text.contains("did you mean \"hall\"?"), "{text}");
    });
}
