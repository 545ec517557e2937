use super::*;
use crate::api::{Choice, DateKind};

fn form(schema: &str) -> Form {
    form_of_schema(Bytes::copy_from_slice(schema.as_bytes()))
}

/// Returns the kind of the only field of a schema.
fn kind(schema: &str) -> (FieldKind, bool) {
    let mut fields = form(&format!(r#"{{"properties":{{"a":{schema}}}}}"#)).fields;
    assert_eq!(fields.len(), 1, "{schema}");
    let field = fields.remove(0);
    (field.kind, field.nullable)
}

#[test]
fn fields_keep_the_order_and_the_numbers_of_the_schema() {
    let form = form(
        r#"{"type":"object","required":["z","o"],"additionalProperties":false,"properties":{
        "z":{"type":"integer","minimum":9007199254740993,"default":1E400,"title":"Z","description":"zed"},
        "a":{"type":"string","minLength":2,"pattern":"^x","x-mcp-header":"Region","examples":["xx"]},
        "o":{"type":"object","required":["i"],"properties":{"i":{"type":"boolean","default":true}}}}}"#,
    );
    let names: Vec<_> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["z", "a", "o"]);
    assert_eq!(form.initial, r#"{"z":1E400,"o":{"i":true}}"#);
    assert!(!form.has_other_members && form.fields[0].required && !form.fields[1].required);
    let FieldKind::Integer { minimum, .. } = &form.fields[0].kind else {
        panic!("{form:?}");
    };
    assert_eq!(minimum.as_deref(), Some("9007199254740993"));
    assert_eq!(form.fields[1].header.as_deref(), Some("Region"));
    assert_eq!(form.fields[1].examples, [r#""xx""#]);
}

#[test]
fn each_kind_of_schema_has_its_field() {
    let choices = |(kind, nullable): (FieldKind, bool)| match kind {
        FieldKind::Choice { choices } => {
            let titles = choices
                .into_iter()
                .map(|Choice { value, title }| format!("{value}={title}"));
            (titles.collect::<Vec<_>>().join(" "), nullable)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(
        choices(kind(r#"{"enum":["a",1.0,null]}"#)),
        ("\"a\"=a 1.0=1.0 null=null".into(), true)
    );
    let titled = r#"{"oneOf":[{"const":"x","title":"X"},{"const":2}]}"#;
    assert_eq!(choices(kind(titled)), ("\"x\"=X 2=2".into(), false));
    let named = r#"{"type":"string","enum":["x"],"enumNames":["X"]}"#;
    assert_eq!(choices(kind(named)), ("\"x\"=X".into(), false));
    let date = FieldKind::Date {
        date: DateKind::DateTime,
    };
    assert_eq!(
        kind(r#"{"type":["string","null"],"format":"date-time"}"#),
        (date, true)
    );
    let file = FieldKind::File {
        media_type: Some("image/png".into()),
    };
    let schema = r#"{"type":"string","contentEncoding":"base64","contentMediaType":"image/png"}"#;
    assert_eq!(kind(schema), (file, false));
    assert_eq!(kind("{}"), (FieldKind::Raw, false));
    assert_eq!(kind("true"), (FieldKind::Raw, false));
    assert_eq!(
        kind(r#"{"type":"array","prefixItems":[{}]}"#).0,
        FieldKind::Raw
    );
    assert!(
        matches!(kind(r#"{"type":"array","items":{"type":"number"}}"#).0,
        FieldKind::List { item, .. } if matches!(item.kind, FieldKind::Number { .. }))
    );
    let FieldKind::Union { variants } = kind(r#"{"type":["string","integer"]}"#).0 else {
        panic!("no union");
    };
    assert_eq!(variants[1].title, "integer");
    let union =
        r#"{"anyOf":[{"type":"string"},{"title":"Point","properties":{"x":{}}},{"type":"null"}]}"#;
    let (FieldKind::Union { variants }, true) = kind(union) else {
        panic!("no union");
    };
    assert_eq!((variants.len(), &*variants[1].title), (2, "Point"));
    // Of one kind and null there is no choice to make.
    let optional = r#"{"anyOf":[{"type":"boolean"},{"type":"null"}]}"#;
    assert_eq!(kind(optional), (FieldKind::Boolean, true));
    // Alternatives that only demand members are no kinds of their own.
    let demands = r#"{"type":"boolean","anyOf":[{"required":["a"]},{"required":["b"]}]}"#;
    assert_eq!(kind(demands), (FieldKind::Boolean, false));
}

#[test]
fn references_are_followed_and_recursion_ends() {
    let form = form(
        r##"{"properties":{"node":{"$ref":"#/$defs/no~1de"}},"allOf":[{"properties":{"more":{"type":"boolean"}}}],
        "$defs":{"no/de":{"type":"object","properties":{"left":{"$ref":"#/$defs/no~1de"},
        "right":{"$ref":"#/$defs/no~1de"}}}}}"##,
    );
    assert!(serde_json::to_string(&form).unwrap().len() < 2_000_000);
    assert!(
        form.left_out
            .iter()
            .any(|sentence| sentence.contains("2000 fields"))
    );
    for endless in [
        r##"{"$ref":"#"}"##,
        r##"{"properties":{"a":{"$ref":"#/properties/a"}}}"##,
    ] {
        assert!(self::form(endless).fields.len() <= 1);
    }
    let wide: String = (0..5000).map(|n| format!(r#""f{n}":{{}},"#)).collect();
    let wide = self::form(&format!(r#"{{"properties":{{{}"z":{{}}}}}}"#, wide));
    assert_eq!(wide.fields.len(), 2_000);
    // Each of many fields refers to one large schema.
    let large: String = (0..5000).map(|n| format!(r#""x{n}":1,"#)).collect();
    let fields: String = (0..1999)
        .map(|n| format!(r##""f{n}":{{"$ref":"#/$defs/l"}},"##))
        .collect();
    let costly = self::form(&format!(
        r##"{{"$defs":{{"l":{{{large}"z":1}}}},"properties":{{{fields}"z":{{}}}}}}"##
    ));
    assert!(costly.fields.len() < 100 && costly.left_out.len() == 1);
    // Each of many fields has the same long choices and examples.
    let long = format!("\"{}\"", "x".repeat(3000));
    let texts = vec![long.as_str(); 100].join(",");
    let fields: String = (0..300)
        .map(|n| format!(r##""f{n}":{{"$ref":"#/$defs/l"}},"##))
        .collect();
    let long = self::form(&format!(
        r##"{{"$defs":{{"l":{{"enum":[{texts}],"examples":[{texts}]}}}},"properties":{{{fields}"z":{{}}}}}}"##
    ));
    assert!(serde_json::to_string(&long).unwrap().len() < 2_000_000);
    assert_eq!(long.left_out.len(), 1);
}

#[test]
fn prompts_and_templates_have_fields_of_text() {
    let prompt = br#"{"name":"p","arguments":[{"name":"a","required":true},{"name":"b","description":"B"}]}"#;
    let form = form_of_item(ItemKind::Prompts, &Bytes::from_static(prompt));
    assert!(form.fields[0].required && form.fields[1].help.as_deref() == Some("B"));
    let template = br#"{"uriTemplate":"x://{a}/{+path*}{?q,r:3}{a}"}"#;
    let form = form_of_item(ItemKind::Templates, &Bytes::from_static(template));
    let names: Vec<_> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["a", "path", "q", "r"]);
    let broken = Bytes::from_static(br#"{"uriTemplate":"x://{a}{broken"}"#);
    assert!(form_of_item(ItemKind::Templates, &broken).fields.is_empty());
}

#[test]
fn arguments_are_checked_and_faults_name_their_place() {
    let tool = br#"{"inputSchema":{"type":"object","required":["b"],"properties":{"a":{"type":"integer"}}}}"#;
    let tool = Bytes::from_static(tool);
    let faults = |text: &str| {
        let arguments: RawObject = serde_json::from_str(text).unwrap();
        let faults = faults_of_arguments(&tool, Some(&arguments));
        faults
            .into_iter()
            .map(|fault| fault.path)
            .collect::<Vec<_>>()
    };
    assert_eq!(faults(r#"{"a":1,"b":2}"#), [""; 0]);
    assert_eq!(faults(r#"{"a":"x","b":2}"#), ["/a"]);
    assert_eq!(faults_of_arguments(&tool, None).len(), 1);
    let unusable = Bytes::from_static(br#"{"inputSchema":{"$ref":"https://example.com"}}"#);
    assert!(
        faults_of_arguments(&unusable, None)[0]
            .sentence
            .contains("cannot be used")
    );
    let Params::Invalid(faults) = read_params("{\"a\":}") else {
        panic!("invalid");
    };
    assert_eq!(faults[0].sentence, "a value belongs here (byte 5)");
    assert!(matches!(read_params("[1]"), Params::Invalid(_)));
    assert!(matches!(read_params(" "), Params::Object(None)));
    let text = r#"{"n": 9007199254740993, "n":1E400}"#;
    let Params::Object(Some(object)) = read_params(text) else {
        panic!("an object");
    };
    assert_eq!(object.as_str(), text);
}
