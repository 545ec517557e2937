//! Declared capabilities, down to the sub-capability.

use turnbuckle_types::*;

use crate::canonical::decode;

fn client(text: &str) -> ClientCapabilities {
    decode(text)
}

#[test]
fn elicitation_without_a_mode_means_form() {
    let modes = |text: &str| {
        let client = client(text);
        (
            client.supports_elicitation_form(),
            client.supports_elicitation_url(),
        )
    };
    assert_eq!(modes("{}"), (false, false));
    assert_eq!(modes(r#"{"elicitation":{}}"#), (true, false));
    assert_eq!(modes(r#"{"elicitation":{"form":{}}}"#), (true, false));
    assert_eq!(modes(r#"{"elicitation":{"url":{}}}"#), (false, true));
    assert_eq!(
        modes(r#"{"elicitation":{"form":{},"url":{}}}"#),
        (true, true)
    );
    assert_eq!(modes(r#"{"elicitation":null}"#), (false, false));
}

#[test]
fn sampling_and_roots_are_read_to_their_parts() {
    let none = client("{}");
    assert!(!none.supports_sampling() && !none.supports_roots());
    let plain = client(r#"{"sampling":{},"roots":{}}"#);
    assert!(plain.supports_sampling() && plain.supports_roots());
    assert!(!plain.supports_sampling_tools() && !plain.supports_sampling_context());
    let full = client(r#"{"sampling":{"tools":{},"context":{}},"roots":{"listChanged":true}}"#);
    assert!(full.supports_sampling_tools() && full.supports_sampling_context());
    assert_eq!(full.roots.unwrap().list_changed, Some(true));
}

#[test]
fn capabilities_are_objects() {
    for text in [
        r#"{"sampling":true}"#,
        r#"{"elicitation":[]}"#,
        r#"{"roots":1}"#,
    ] {
        assert!(
            serde_json::from_str::<ClientCapabilities>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn a_missing_capability_is_named_with_its_member() {
    let missing = |have: &str, need: &str| {
        let missing = client(have).missing(&client(need));
        missing.map(|missing| serde_json::to_string(&missing).unwrap())
    };
    assert_eq!(missing("{}", "{}"), None);
    assert_eq!(missing(r#"{"sampling":{}}"#, r#"{"sampling":{}}"#), None);
    assert_eq!(
        missing("{}", r#"{"sampling":{}}"#).unwrap(),
        r#"{"sampling":{}}"#
    );
    assert_eq!(
        missing("{}", r#"{"elicitation":{}}"#).unwrap(),
        r#"{"elicitation":{}}"#
    );
    assert_eq!(missing("{}", r#"{"roots":{}}"#).unwrap(), r#"{"roots":{}}"#);
    assert_eq!(
        missing(
            r#"{"sampling":{"context":{}}}"#,
            r#"{"sampling":{"tools":{},"context":{}}}"#
        )
        .unwrap(),
        r#"{"sampling":{"tools":{}}}"#
    );
    assert_eq!(
        missing(
            r#"{"elicitation":{}}"#,
            r#"{"elicitation":{"form":{},"url":{}}}"#
        )
        .unwrap(),
        r#"{"elicitation":{"url":{}}}"#
    );
    assert_eq!(
        missing(r#"{"elicitation":{"url":{}}}"#, r#"{"elicitation":{}}"#).unwrap(),
        r#"{"elicitation":{"form":{}}}"#
    );
    assert_eq!(
        missing(
            r#"{"extensions":{"a/x":{}}}"#,
            r#"{"extensions":{"a/x":{"v":1},"a/y":{}}}"#
        )
        .unwrap(),
        r#"{"extensions":{"a/y":{}}}"#
    );
}

#[test]
fn capabilities_are_built() {
    let server = ServerCapabilities::new()
        .tools(ListCapability::new().list_changed(true))
        .resources(ResourcesCapability::new().subscribe(true))
        .logging(Settings::new())
        .extension("com.example/x", Json::empty_object())
        .unwrap();
    assert_eq!(
        serde_json::to_string(&server).unwrap(),
        r#"{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{},"extensions":{"com.example/x":{}}}"#
    );
    assert!(server.extensions.contains_key("com.example/x"));
}
