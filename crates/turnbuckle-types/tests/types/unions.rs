//! Unions are told apart by the member that names them, and keep what they do not recognise.

use turnbuckle_types::*;

use crate::canonical::{decode, survives};

#[test]
fn content_is_told_apart_by_its_type_wherever_it_stands() {
    let text: ContentBlock = survives(r#"{"text":"hi","_meta":{"type":"image"},"type":"text"}"#);
    assert_eq!(text.as_text(), Some("hi"));
    let escaped: ContentBlock = decode(r#"{"\u0074ype":"te\u0078t","text":"hi"}"#);
    assert_eq!(escaped, ContentBlock::text("hi"));
    assert!(matches!(
        survives::<ContentBlock>(r#"{"type":"resource_link","uri":"u","name":"n"}"#),
        ContentBlock::ResourceLink(_)
    ));
}

#[test]
fn a_union_is_read_with_its_members_in_any_order() {
    let members = [
        r#""type":"text""#,
        r#""text":"a \"b\"\n""#,
        r#""_meta":{"type":"image","n":1.50}"#,
        r#""x":[1,{"type":"audio"}]"#,
    ];
    let block = |first: usize| {
        let mut members = members.to_vec();
        members.rotate_left(first);
        decode::<ContentBlock>(&format!("{{{}}}", members.join(",")))
    };
    let expected = block(0);
    assert_eq!(expected.as_text(), Some("a \"b\"\n"));
    for first in 1..members.len() {
        assert_eq!(block(first), expected);
    }
    // Without a borrow of the text, too.
    let text = format!("{{{}}}", members.join(","));
    let read: ContentBlock = serde_json::from_reader(text.as_bytes()).unwrap();
    assert_eq!(read, expected);
}

#[test]
fn unknown_content_is_kept() {
    let text = r#"{"type":"hologram","z":1.10,"a":{}}"#;
    let block: ContentBlock = survives(text);
    assert!(matches!(&block, ContentBlock::Unknown(raw) if raw.as_str() == text));
    assert!(matches!(
        survives(text),
        SamplingMessageContentBlock::Unknown(_)
    ));
}

#[test]
fn known_content_must_be_whole() {
    for text in [
        r#"{"text":"hi"}"#,
        r#"{"type":"text"}"#,
        r#"{"type":1,"text":"hi"}"#,
        r#"{"type":"text","text":"hi","type":"text"}"#,
        r#"{"type":"image","data":"AA=="}"#,
        "[]",
        "\"text\"",
        "null",
    ] {
        assert!(
            serde_json::from_str::<ContentBlock>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn constructors_write_the_examples_of_the_page() {
    let written = |block: ContentBlock| serde_json::to_string(&block).unwrap();
    assert_eq!(written("hi".into()), r#"{"type":"text","text":"hi"}"#);
    assert_eq!(
        written(Image::png([0]).into()),
        r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#
    );
    assert_eq!(
        written(Audio::wav([0]).into()),
        r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#
    );
    assert_eq!(
        written(ContentBlock::resource_link("file:///a", "a")),
        r#"{"type":"resource_link","uri":"file:///a","name":"a"}"#
    );
    assert_eq!(
        written(ContentBlock::resource(ResourceContents::from_base64(
            "file:///a",
            "AA=="
        ))),
        r#"{"type":"resource","resource":{"uri":"file:///a","blob":"AA=="}}"#
    );
    let link: ResourceLink = Resource::new("u", "n").title("T").into();
    assert_eq!(link, ResourceLink::new("u", "n").title("T"));
}

#[test]
fn resource_contents_are_text_or_blob() {
    assert!(matches!(
        survives(r#"{"text":"","uri":"u"}"#),
        ResourceContents::Text(_)
    ));
    assert!(matches!(
        survives(r#"{"uri":"u","blob":"","x":1}"#),
        ResourceContents::Blob(_)
    ));
    assert!(matches!(
        survives(r#"{"uri":"u","text":"","blob":null}"#),
        ResourceContents::Text(_)
    ));
    assert!(matches!(
        survives(r#"{"text":null,"uri":"u","blob":""}"#),
        ResourceContents::Blob(_)
    ));
    let neither: ResourceContents = survives(r#"{"uri":"u","stream":1.0}"#);
    assert!(matches!(neither, ResourceContents::Unknown(_)));
    assert_eq!(neither.uri(), None);
    for text in [r#"{"uri":"u","text":"","blob":""}"#, r#"{"text":""}"#, "[]"] {
        assert!(
            serde_json::from_str::<ResourceContents>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn a_reference_names_its_kind() {
    assert!(matches!(
        survives(r#"{"type":"ref/prompt","name":"n"}"#),
        CompletionReference::Prompt(_)
    ));
    assert!(matches!(
        survives(r#"{"uri":"u","type":"ref/resource"}"#),
        CompletionReference::Resource(_)
    ));
    assert!(matches!(
        survives(r#"{"type":"ref/tool","name":"n"}"#),
        CompletionReference::Unknown(_)
    ));
}

#[test]
fn input_requests_are_told_apart_by_their_method() {
    let asked = InputRequiredResult::new()
        .ask(
            "who",
            ElicitRequestParams::form("Who?", ElicitationSchema::new()),
        )
        .ask(
            "where",
            ElicitRequestUrlParams::new("Go", "https://example.com"),
        )
        .ask(
            "what",
            CreateMessageRequestParams::new(vec![SamplingMessage::user("What?")], 10),
        )
        .ask("roots", InputRequest::list_roots())
        .request_state("s");
    let text = serde_json::to_string(&asked).unwrap();
    assert_eq!(
        text,
        concat!(
            r#"{"inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","#,
            r#""requestedSchema":{"type":"object","properties":{}}}},"#,
            r#""where":{"method":"elicitation/create","params":{"mode":"url","message":"Go","#,
            r#""url":"https://example.com"}},"#,
            r#""what":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","#,
            r#""content":{"type":"text","text":"What?"}}],"maxTokens":10}},"#,
            r#""roots":{"method":"roots/list"}},"requestState":"s"}"#
        )
    );
    assert_eq!(survives::<InputRequiredResult>(&text), asked);
    assert!(!asked.is_empty());
    assert!(InputRequiredResult::new().is_empty());

    let with_params: InputRequest = survives(r#"{"params":{"x":1.0},"method":"roots/list"}"#);
    assert!(matches!(with_params, InputRequest::ListRoots(Some(_))));
    let unknown: InputRequest = survives(r#"{"method":"fax/send","params":[1.0],"x":1}"#);
    assert_eq!(unknown.method(), "fax/send");
    for text in [
        r#"{"params":{}}"#,
        r#"{"method":"elicitation/create"}"#,
        r#"{"method":"roots/list","method":"roots/list"}"#,
        r#"{"method":1}"#,
        "[]",
    ] {
        assert!(
            serde_json::from_str::<InputRequest>(text).is_err(),
            "{text}"
        );
    }
}

#[test]
fn words_outside_the_list_are_kept_or_refused() {
    assert_eq!(survives::<CacheScope>("\"public\""), CacheScope::Public);
    assert_eq!(
        survives::<CacheScope>("\"shared\""),
        CacheScope::from("shared")
    );
    assert_eq!(survives::<IconTheme>("\"sepia\"").as_str(), "sepia");
    assert!(serde_json::from_str::<Role>("\"system\"").is_err());
    let error = serde_json::from_str::<LoggingLevel>("\"loud\"")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("`debug`") && error.contains("`emergency`"),
        "{error}"
    );
}

#[test]
fn log_levels_are_ordered_by_severity() {
    assert!(LoggingLevel::ALL.is_sorted());
    assert_eq!(LoggingLevel::ALL.len(), 8);
    assert!(
        LoggingLevel::Debug < LoggingLevel::Info && LoggingLevel::Alert < LoggingLevel::Emergency
    );
    for level in LoggingLevel::ALL {
        assert_eq!(
            decode::<LoggingLevel>(&format!("{:?}", level.as_str())),
            *level
        );
    }
}

#[test]
fn one_block_and_a_list_of_one_stay_apart() {
    let one: SamplingMessage = survives(r#"{"role":"user","content":{"type":"text","text":""}}"#);
    let many: SamplingMessage =
        survives(r#"{"role":"user","content":[{"type":"text","text":""}]}"#);
    assert_ne!(one, many);
    assert_eq!(one.content.as_slice(), many.content.as_slice());
    assert!(serde_json::from_str::<SamplingMessage>(r#"{"role":"user","content":"hi"}"#).is_err());
}
