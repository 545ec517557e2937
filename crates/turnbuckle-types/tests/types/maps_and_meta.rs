//! Ordered maps, raw values, schemas, and the grammar of `_meta` keys.

use turnbuckle_types::meta::{self, check_extension_id};
use turnbuckle_types::{
    ClientCapabilities, Implementation, Json, LoggingLevel, Map, Meta, MetaKeyError, RawObject,
    RequestId, Schema, Tool,
};

use crate::canonical::{decode, survives};

#[test]
fn a_map_keeps_order_and_finds_the_last_of_a_repeated_key() {
    let text = r#"{"b":1,"a":2,"b":3}"#;
    let mut map: Map<Json> = decode(text);
    assert_eq!(serde_json::to_string(&map).unwrap(), text);
    assert_eq!(map.get("b").unwrap().as_str(), "3");
    assert_eq!(map.keys().collect::<Vec<_>>(), ["b", "a", "b"]);

    let old = map.insert("a", Json::encode("new").unwrap());
    assert_eq!(old.unwrap().as_str(), "2");
    assert_eq!(
        serde_json::to_string(&map).unwrap(),
        r#"{"b":1,"a":"new","b":3}"#
    );
    assert_eq!(map.remove("b").unwrap().as_str(), "3");
    assert!(!map.contains_key("b"));
    assert_eq!(map.len(), 1);
    assert_eq!(map.remove("b"), None);
}

#[test]
fn a_map_comes_from_pairs() {
    let map: Map<String> = Map::from([("a", "1"), ("b", "2"), ("a", "3")]);
    assert_eq!(serde_json::to_string(&map).unwrap(), r#"{"a":"3","b":"2"}"#);
}

#[test]
fn raw_json_is_its_text() {
    let json: Json = " {\"a\" : 1.10} ".parse().unwrap();
    assert_eq!(json.as_str(), "{\"a\" : 1.10}");
    assert_eq!(serde_json::to_string(&json).unwrap(), "{\"a\" : 1.10}");
    assert!("{".parse::<Json>().is_err());
    assert_eq!(Json::empty_object().as_str(), "{}");
    assert_eq!(RawObject::empty().as_str(), "{}");
    assert!("[]".parse::<RawObject>().is_err());
    assert!(RawObject::encode(&1).is_err());
    assert_eq!(RawObject::encode(&Meta::new()).unwrap(), RawObject::empty());
}

#[test]
fn a_schema_is_an_object_and_its_text_is_untouched() {
    let text = r#"{ "$schema":"https://json-schema.org/draft/2020-12/schema","$defs":{"b":1,"a":2},"maximum":1.0 }"#;
    let schema: Schema = text.parse().unwrap();
    assert_eq!(schema.as_str(), text);
    assert_eq!(serde_json::to_string(&schema).unwrap(), text);
    assert_eq!(Schema::object().as_str(), r#"{"type":"object"}"#);
    for wrong in ["true", "[]", "null", "\"{\""] {
        assert!(wrong.parse::<Schema>().is_err(), "{wrong}");
    }
    assert!(Schema::encode(&[1]).is_err());
    let tool: Tool = decode(&format!(r#"{{"name":"n","inputSchema":{text}}}"#));
    assert!(serde_json::to_string(&tool).unwrap().contains(text));
}

#[test]
fn an_authors_keys_follow_the_grammar() {
    for key in [
        "",
        "a",
        "a.b-c_d",
        "0",
        "traceparent",
        "com.example/",
        "com.example/name",
        "com.example.mcp/x",
        "a-b.c9/x",
        "mcp/x",
        "modelcontextprotocol/x",
        "example.modelcontextprotocols/x",
    ] {
        assert_eq!(check_key(key), Ok(()), "{key:?}");
    }
    for key in [
        "/x", "1a/x", "a-/x", "-a/x", "a..b/x", "a.b./x", ".a/x", "a_b/x", "é/x", "a b/x",
    ] {
        assert_eq!(check_key(key), Err(MetaKeyError::Prefix), "{key:?}");
    }
    for key in [
        "-a",
        "a-",
        "a b",
        ".",
        "a/b/c",
        "a/_",
        "a/b.",
        "é",
        "a\n",
        "com.example//",
    ] {
        assert_eq!(check_key(key), Err(MetaKeyError::Name), "{key:?}");
    }
}

/// Returns whether an author may set `key`.
fn check_key(key: &str) -> Result<(), MetaKeyError> {
    Meta::new().set(key, "x").map(|_| ())
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> Json {
    Json::encode(value).unwrap()
}

#[test]
fn the_protocols_keys_are_refused_and_have_setters() {
    for key in [
        "io.modelcontextprotocol/x",
        "dev.mcp/x",
        "org.modelcontextprotocol.api/x",
        "com.mcp.tools/",
        "com.MCP/x",
        meta::SERVER_INFO,
        meta::PROGRESS_TOKEN,
    ] {
        assert_eq!(check_key(key), Err(MetaKeyError::Reserved), "{key:?}");
    }

    let mut meta = Meta::new();
    meta.set("com.example/a", &1)
        .unwrap()
        .set("b", &[1.5])
        .unwrap();
    meta.insert_unchecked(meta::PROGRESS_TOKEN, json("t"));
    meta.insert_unchecked(meta::PROTOCOL_VERSION, json("v"));
    meta.insert_unchecked(meta::CLIENT_INFO, json(&Implementation::new("c", "1")));
    meta.insert_unchecked(meta::CLIENT_CAPABILITIES, Json::empty_object());
    meta.insert_unchecked(meta::LOG_LEVEL, json(&LoggingLevel::Notice));
    meta.set_server_info(Implementation::new("s", "2"));
    meta.set_subscription_id(7);
    let text = concat!(
        r#"{"com.example/a":1,"b":[1.5],"progressToken":"t","io.modelcontextprotocol/protocolVersion":"v","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"notice","#,
        r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"},"#,
        r#""io.modelcontextprotocol/subscriptionId":7}"#
    );
    assert_eq!(serde_json::to_string(&meta).unwrap(), text);
    let meta: Meta = survives(text);
    assert_eq!(meta.get::<i64>("com.example/a"), Some(1));
    assert_eq!(meta.get::<String>("com.example/a"), None);
    assert_eq!(meta.progress_token(), Some(RequestId::from("t")));
    assert_eq!(meta.protocol_version().as_deref(), Some("v"));
    assert_eq!(meta.client_info().unwrap().name, "c");
    assert_eq!(meta.client_capabilities(), Some(ClientCapabilities::new()));
    assert_eq!(meta.log_level(), Some(LoggingLevel::Notice));
    assert_eq!(meta.server_info().unwrap().version, "2");
    assert_eq!(meta.subscription_id(), Some(RequestId::from(7)));
}

#[test]
fn received_meta_is_kept_without_validation() {
    let meta: Meta = survives(r#"{"io.mcp/x":1,"-":null,"/":1.10,"progressToken":1.5}"#);
    assert_eq!(meta.progress_token(), None);
    assert_eq!(meta.get_raw("progressToken").unwrap().as_str(), "1.5");
}

#[test]
fn an_extension_id_has_a_prefix() {
    assert_eq!(check_extension_id("com.example/ui"), Ok(()));
    assert_eq!(check_extension_id("ui"), Err(MetaKeyError::MissingPrefix));
    assert_eq!(check_extension_id(""), Err(MetaKeyError::MissingPrefix));
    assert_eq!(check_extension_id("/ui"), Err(MetaKeyError::Prefix));
    assert_eq!(
        check_extension_id("io.modelcontextprotocol/ui"),
        Err(MetaKeyError::Reserved)
    );
    let refused = ClientCapabilities::new().extension("ui", Json::empty_object());
    assert_eq!(refused, Err(MetaKeyError::MissingPrefix));
}

#[test]
fn a_value_that_is_not_json_is_refused() {
    let bad = std::collections::HashMap::from([(vec![1], 1)]);
    assert_eq!(Meta::new().set("k", &bad), Err(MetaKeyError::Value));
}
