//! Functions as tools.

use serde_json::{Value, json};
use turnbuckle::types::StructuredContentError;

use super::{call_error_text, call_text, error_code, find_tool, result};
use crate::cells::each;
use crate::server::PAGE;

#[test]
fn a_function_is_a_tool() {
    each(|at| async move {
        assert_eq!(call_text(&at, "add", json!({"a": 1, "b": 2})).await, "3");
        let tool = find_tool(&at, "add").await.unwrap();
        assert_eq!(tool["description"], "Adds two numbers.");
        let title = at.reader.titles.then_some(json!("Sum"));
        assert_eq!(tool.get("title"), title.as_ref());
        let icon = at
            .reader
            .icons
            .then_some(json!("https://example.com/sum.png"));
        assert_eq!(tool.pointer("/icons/0/src"), icon.as_ref());
        let annotations = at.reader.annotations.then_some(json!(true));
        let hint = tool.pointer("/annotations/readOnlyHint");
        assert_eq!(hint, annotations.as_ref());
    });
}

#[test]
fn an_async_function_is_a_tool() {
    each(|at| async move {
        assert_eq!(call_text(&at, "later", json!({"text": "now"})).await, "now");
    });
}

#[test]
fn a_function_may_block_where_it_says_so() {
    each(|at| async move {
        assert_eq!(
            call_text(&at, "apart", json!({"text": "here"})).await,
            "here"
        );
    });
}

#[test]
fn data_are_structured_output() {
    each(|at| async move {
        let lund = json!({"name": "Lund", "people": 9});
        let five = json!(5);
        for (tool, arguments, output) in [
            ("place", json!({"name": "Lund"}), lund),
            ("add", json!({"a": 2, "b": 3}), five),
        ] {
            let result = result(&at, tool, arguments.clone()).await;
            assert_eq!(super::text(&result), output.to_string());
            let structured = serde_json::to_value(&result.structured_content).unwrap();
            let expected = at.reader.structured.then_some(&output);
            assert_eq!(structured, json!(expected));
            assert_eq!(result.structured::<Value>().unwrap(), output);
            let call = at.call_tool(tool, &arguments);
            assert_eq!(call.structured_content::<Value>().await.unwrap(), output);
        }
        let schema = find_tool(&at, "place").await.unwrap();
        let people = schema.pointer("/outputSchema/properties/people/description");
        let people = people.and_then(|text| text.as_str());
        let expected = at.reader.structured.then_some("The number of inhabitants.");
        assert_eq!(people, expected);
    });
}

#[test]
fn a_result_without_data_says_so() {
    each(|at| async move {
        let text = result(&at, "later", json!({"text": "now"})).await;
        let missing = text.structured::<Value>().unwrap_err();
        assert_eq!(missing, StructuredContentError::Missing);
        let failed = result(&at, "parse", json!({"text": "seven"})).await;
        let failed = failed.structured::<i64>().unwrap_err();
        assert!(matches!(failed, StructuredContentError::ToolFailed(_)));
    });
}

#[test]
fn an_error_is_told_to_the_model() {
    each(|at| async move {
        assert_eq!(call_text(&at, "parse", json!({"text": "7"})).await, "7");
        let text = call_error_text(&at, "parse", json!({"text": "seven"})).await;
        assert_eq!(text, "invalid digit found in string");
    });
}

#[test]
fn a_panic_is_told_without_its_secret() {
    each(|at| async move {
        let text = call_error_text(&at, "breaks", json!({"secret": "xyzzy"})).await;
        let reference = text.strip_prefix("the handler failed unexpectedly (reference ");
        assert!(
            reference.is_some_and(|rest| rest.len() == "01234567)".len()),
            "{text}"
        );
        assert_eq!(call_text(&at, "add", json!({"a": 1, "b": 1})).await, "2");
    });
}

#[test]
fn an_unknown_tool_is_refused() {
    each(|at| async move {
        assert_eq!(error_code(at.call_tool("nothing", &()).await), -32602);
    });
}

#[test]
fn a_list_comes_in_pages() {
    each(|at| async move {
        let first = at.list_tools().page(None).await.unwrap();
        assert_eq!(first.tools.len(), PAGE);
        let next = first.next_cursor.as_deref();
        let second = at.list_tools().page(next).await.unwrap();
        assert!(next.is_some() && second.tools[0].name != first.tools[0].name);
        let prompts = at.list_prompts().fetch_all().await.unwrap();
        let mut names: Vec<_> = prompts.into_iter().map(|prompt| prompt.name).collect();
        names.retain(|name| !name.starts_with("blurb-"));
        names.sort_unstable();
        let all = [
            "confession",
            "explain_count",
            "framework",
            "goodbye",
            "hello",
            "letter",
            "review",
            "thanks",
        ];
        assert_eq!(names, all);
    });
}
