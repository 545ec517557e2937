//! Forms: how they are built, how they arrive, and what a filled-in one is held to.

use turnbuckle_types::*;

use crate::canonical::{decode, survives};

#[test]
fn a_form_is_built_field_by_field() {
    let form = ElicitationSchema::new()
        .required(
            "name",
            StringSchema::new()
                .title("Name")
                .min_length(1)
                .max_length(50),
        )
        .required("email", StringSchema::email().default("a@b.c"))
        .optional("age", NumberSchema::integer().minimum(18).default(30))
        .optional(
            "score",
            NumberSchema::number().default(Number::try_from(95.5).unwrap()),
        )
        .optional("news", BooleanSchema::new().default(true))
        .optional(
            "plan",
            SingleSelectEnumSchema::untitled(["free", "paid"]).default("free"),
        )
        .optional(
            "colour",
            SingleSelectEnumSchema::titled([("#f00", "Red"), ("#0f0", "Green")]),
        )
        .optional(
            "tags",
            MultiSelectEnumSchema::untitled(["a", "b"])
                .min_items(1)
                .max_items(2),
        )
        .optional(
            "days",
            MultiSelectEnumSchema::titled([("1", "Mon")]).default(["1".to_owned()]),
        )
        .optional(
            "old",
            LegacyTitledEnumSchema::titled([("a", "A"), ("b", "B")]),
        );
    let text = concat!(
        r#"{"type":"object","properties":{"#,
        r#""name":{"type":"string","title":"Name","minLength":1,"maxLength":50},"#,
        r#""email":{"type":"string","format":"email","default":"a@b.c"},"#,
        r#""age":{"type":"integer","minimum":18,"default":30},"#,
        r#""score":{"type":"number","default":95.5},"#,
        r#""news":{"type":"boolean","default":true},"#,
        r#""plan":{"type":"string","enum":["free","paid"],"default":"free"},"#,
        r##""colour":{"type":"string","oneOf":[{"const":"#f00","title":"Red"},{"const":"#0f0","title":"Green"}]},"##,
        r#""tags":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2},"#,
        r#""days":{"type":"array","items":{"anyOf":[{"const":"1","title":"Mon"}]},"default":["1"]},"#,
        r#""old":{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#,
        r#"},"required":["name","email"]}"#
    );
    assert_eq!(serde_json::to_string(&form).unwrap(), text);
    assert_eq!(survives::<ElicitationSchema>(text), form);
    assert!(form.is_required("name") && !form.is_required("age"));
}

#[test]
fn the_last_word_about_a_field_counts() {
    let form = ElicitationSchema::new()
        .required("a", StringSchema::new())
        .required("a", BooleanSchema::new())
        .required("b", StringSchema::new())
        .optional("b", StringSchema::new());
    assert_eq!(form.required.as_deref(), Some(&["a".to_owned()][..]));
    assert_eq!(form.properties.len(), 2);
}

#[test]
fn a_field_of_another_shape_is_kept() {
    for text in [
        r#"{"type":["string","null"]}"#,
        r#"{"type":"object","properties":{"x":{"maximum":1.0}}}"#,
        r#"{"enum":[1,2]}"#,
        "{}",
    ] {
        assert!(
            matches!(survives(text), PrimitiveSchemaDefinition::Unknown(_)),
            "{text}"
        );
    }
    assert!(matches!(
        survives(r#"{"enum":["a"],"enumNames":["A"],"type":"string"}"#),
        PrimitiveSchemaDefinition::LegacyEnum(_)
    ));
    assert!(matches!(
        survives(r#"{"type":"string","enumNames":null,"enum":null}"#),
        PrimitiveSchemaDefinition::String(_)
    ));
    assert!(matches!(
        survives(r#"{"type":"string","enum":["a"],"enumNames":null}"#),
        PrimitiveSchemaDefinition::SingleSelect(_)
    ));
    assert!(
        serde_json::from_str::<PrimitiveSchemaDefinition>(r#"{"type":"string","default":1}"#)
            .is_err()
    );
    assert!(serde_json::from_str::<PrimitiveSchemaDefinition>("true").is_err());
}

#[test]
fn the_mode_decides_and_an_unknown_one_does_not_decode() {
    let form = r#""message":"m","requestedSchema":{"type":"object","properties":{}}"#;
    for text in [
        format!("{{{form}}}"),
        format!(r#"{{{form},"mode":"form"}}"#),
    ] {
        assert!(matches!(survives(&text), ElicitRequestParams::Form(_)));
    }
    let url: ElicitRequestParams = survives(r#"{"mode":"url","message":"m","url":"u"}"#);
    assert_eq!(url, ElicitRequestParams::url("m", "u"));
    assert_eq!(url.message(), "m");
    let error = serde_json::from_str::<ElicitRequestParams>(&format!(r#"{{{form},"mode":"fax"}}"#));
    assert!(error.unwrap_err().to_string().contains("fax"));
    assert!(
        serde_json::from_str::<ElicitRequestParams>(&format!(r#"{{{form},"mode":1}}"#)).is_err()
    );
    assert!(
        serde_json::from_str::<ElicitRequestParams>(r#"{"mode":"url","message":"m"}"#).is_err()
    );
}

#[test]
fn field_values_are_told_apart() {
    assert_eq!(survives::<FieldValue>("\"a\"").as_str(), Some("a"));
    assert_eq!(
        survives::<FieldValue>("-1.50")
            .as_number()
            .unwrap()
            .to_string(),
        "-1.50"
    );
    assert_eq!(survives::<FieldValue>("false").as_bool(), Some(false));
    assert_eq!(survives::<FieldValue>(r#"["a"]"#).as_list().unwrap(), ["a"]);
    for text in ["null", "{}", "[1.0]", r#"["a",null]"#] {
        assert!(matches!(survives(text), FieldValue::Unknown(_)), "{text}");
    }
}

#[test]
fn only_an_accepted_form_has_fields() {
    let result = ElicitResult::accept([("a", "x")]);
    assert_eq!(result.field("a").unwrap().as_str(), Some("x"));
    assert_eq!(result.field("b"), None);
    let rejected: ElicitResult = decode(r#"{"action":"reject"}"#);
    assert_eq!(rejected, ElicitResult::decline());
    let odd: ElicitResult = decode(r#"{"action":"decline","content":{"a":"x"}}"#);
    assert_eq!(odd.field("a"), None);
    assert_eq!(ElicitResult::accept_url().content, None);
}

/// Returns the problem that a form with one field `f` has with a value; `None` if it has none.
fn problem(field: impl Into<PrimitiveSchemaDefinition>, value: &str) -> Option<FieldProblem> {
    let form = ElicitationSchema::new().required("f", field);
    let result: ElicitResult = decode(&format!(
        r#"{{"action":"accept","content":{{"f":{value}}}}}"#
    ));
    result.validate(&form).err().map(|invalid| {
        assert_eq!(invalid.field, "f");
        assert!(invalid.to_string().starts_with("field `f`: "));
        invalid.problem
    })
}

#[test]
fn required_fields_are_filled_in() {
    let form = ElicitationSchema::new()
        .required("a", StringSchema::new())
        .optional("b", StringSchema::new());
    let missing = ElicitResult::accept([("b", "x")])
        .validate(&form)
        .unwrap_err();
    assert_eq!(
        (missing.field.as_str(), missing.problem),
        ("a", FieldProblem::Missing)
    );
    assert!(ElicitResult::accept_url().validate(&form).is_err());
    ElicitResult::accept([("a", "x"), ("unasked", "y")])
        .validate(&form)
        .unwrap();
    ElicitResult::decline().validate(&form).unwrap();
    ElicitResult::cancel().validate(&form).unwrap();
}

#[test]
fn types_are_checked() {
    assert_eq!(
        problem(StringSchema::new(), "1"),
        Some(FieldProblem::Type("a string"))
    );
    assert_eq!(
        problem(StringSchema::new(), "null"),
        Some(FieldProblem::Type("a string"))
    );
    assert_eq!(
        problem(NumberSchema::number(), "\"1\""),
        Some(FieldProblem::Type("a number"))
    );
    assert_eq!(
        problem(NumberSchema::integer(), "1.5"),
        Some(FieldProblem::Type("an integer"))
    );
    assert_eq!(problem(NumberSchema::integer(), "1.0"), None);
    assert_eq!(
        problem(BooleanSchema::new(), "\"true\""),
        Some(FieldProblem::Type("true or false"))
    );
    assert_eq!(problem(BooleanSchema::new(), "false"), None);
    assert_eq!(
        problem(MultiSelectEnumSchema::untitled(["a"]), "\"a\""),
        Some(FieldProblem::Type("a list of strings"))
    );
    assert_eq!(
        problem(MultiSelectEnumSchema::untitled(["a"]), "[1]"),
        Some(FieldProblem::Type("a list of strings"))
    );
    let unknown: PrimitiveSchemaDefinition = decode(r#"{"type":"null"}"#);
    assert_eq!(problem(unknown, "17"), None);
}

#[test]
fn ranges_are_checked() {
    let age = || {
        NumberSchema::integer()
            .minimum(18)
            .maximum(Number::try_from(99.5).unwrap())
    };
    assert_eq!(problem(age(), "17"), Some(FieldProblem::TooSmall));
    assert_eq!(problem(age(), "18"), None);
    assert_eq!(problem(age(), "99"), None);
    assert_eq!(problem(age(), "100"), Some(FieldProblem::TooLarge));
    assert_eq!(problem(age(), "1e400"), Some(FieldProblem::TooLarge));
    let name = || StringSchema::new().min_length(2).max_length(3);
    assert_eq!(problem(name(), "\"a\""), Some(FieldProblem::TooShort));
    assert_eq!(problem(name(), "\"äöü\""), None);
    assert_eq!(problem(name(), "\"abcd\""), Some(FieldProblem::TooLong));
    let tags = || {
        MultiSelectEnumSchema::untitled(["a", "b", "c"])
            .min_items(1)
            .max_items(2)
    };
    assert_eq!(problem(tags(), "[]"), Some(FieldProblem::TooFew));
    assert_eq!(problem(tags(), r#"["a","b"]"#), None);
    assert_eq!(
        problem(tags(), r#"["a","b","c"]"#),
        Some(FieldProblem::TooMany)
    );
}

#[test]
fn choices_are_checked() {
    let wrong = Some(FieldProblem::NotAChoice);
    assert_eq!(
        problem(SingleSelectEnumSchema::untitled(["a", "b"]), "\"b\""),
        None
    );
    assert_eq!(
        problem(SingleSelectEnumSchema::untitled(["a", "b"]), "\"B\""),
        wrong
    );
    assert_eq!(
        problem(SingleSelectEnumSchema::titled([("a", "A")]), "\"a\""),
        None
    );
    assert_eq!(
        problem(SingleSelectEnumSchema::titled([("a", "A")]), "\"A\""),
        wrong
    );
    assert_eq!(
        problem(LegacyTitledEnumSchema::titled([("a", "A")]), "\"a\""),
        None
    );
    assert_eq!(
        problem(LegacyTitledEnumSchema::titled([("a", "A")]), "\"A\""),
        wrong
    );
    assert_eq!(
        problem(
            MultiSelectEnumSchema::titled([("b", "B"), ("a", "A")]),
            r#"["a","b"]"#
        ),
        None
    );
    assert_eq!(
        problem(MultiSelectEnumSchema::untitled(["a"]), r#"["a","A"]"#),
        wrong
    );
}

#[test]
fn formats_are_checked_loosely() {
    type Texts = &'static [&'static str];
    let cases: [(StringSchema, Texts, Texts); 4] = [
        (
            StringSchema::email(),
            &["a@b", "first.last@example.com", "\\\"a@b\\\"@c.d"],
            &["", "a", "@b", "a@", "a b@c", "a@b\\n"],
        ),
        (
            StringSchema::uri(),
            &["https://example.com/?a#b", "urn:isbn:1", "mailto:a@b"],
            &[
                "",
                "example.com",
                "/a",
                ":a",
                "1a:b",
                "https:",
                "a b:c",
                "https://a b",
            ],
        ),
        (
            StringSchema::date(),
            &["2020-02-29", "2000-02-29", "1999-12-31"],
            &[
                "",
                "2021-02-29",
                "1900-02-29",
                "2020-00-01",
                "2020-01-00",
                "2020-13-01",
                "2020-04-31",
                "20-01-01",
                "2020-1-1",
                "2020-01-01-",
                "2020-01-+1",
                "2020/01/01",
            ],
        ),
        (
            StringSchema::date_time(),
            &[
                "2020-02-29T23:59:60Z",
                "2020-01-01t00:00:00.123456z",
                "2020-01-01T00:00:00-08:30",
            ],
            &[
                "",
                "2020-01-01",
                "2020-01-01T00:00:00",
                "2020-01-01T24:00:00Z",
                "2020-01-01T00:00Z",
                "2020-01-01T00:00:00.Z",
                "2020-01-01T00:00:00+1:00",
                "2020-01-01T00:00:00ZZ",
                "2020-01-32T00:00:00Z",
                "2020-01-01T00:00:00+24:00",
                "T00:00:00Z",
            ],
        ),
    ];
    for (field, good, bad) in cases {
        let format = field.format.clone().unwrap();
        for text in good {
            assert_eq!(
                problem(field.clone(), &format!("\"{text}\"")),
                None,
                "{text}"
            );
        }
        for text in bad {
            let found = problem(field.clone(), &format!("\"{text}\""));
            assert_eq!(found, Some(FieldProblem::Format(format.clone())), "{text}");
        }
    }
    assert_eq!(
        problem(StringSchema::new().format("ipv4"), "\"anything\""),
        None
    );
}

#[test]
fn a_validation_error_does_not_contain_the_typed_value() {
    let form = ElicitationSchema::new().required("mail", StringSchema::email());
    let invalid = ElicitResult::accept([("mail", "hunter2")])
        .validate(&form)
        .unwrap_err();
    assert!(!format!("{invalid} {invalid:?}").contains("hunter2"));
}

#[test]
fn form_values_are_not_in_debug_output() {
    let typed = |value: &str| format!("{:?}", decode::<FieldValue>(value));
    assert_eq!(typed("\"hunter2\""), "String(…)");
    assert_eq!(typed("4711"), "Number(…)");
    assert_eq!(typed("true"), "Bool(…)");
    assert_eq!(typed("[\"hunter2\"]"), "List(…)");
    assert_eq!(typed("{\"a\":\"hunter2\"}"), "Unknown(…)");
    let shown = format!("{:?}", ElicitResult::accept([("pin", "hunter2")]));
    assert!(
        shown.contains("pin") && !shown.contains("hunter2"),
        "{shown}"
    );
}
