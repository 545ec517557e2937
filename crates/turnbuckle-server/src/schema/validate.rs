//! The general validator, for what typed decoding does not enforce. The only file that knows the
//! engine behind it.
//!
//! Nothing is fetched, and patterns run in time linear in the text: lookaround and backreferences
//! are refused when a schema is registered.

use std::borrow::Cow;
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use serde_json::value::RawValue;

use super::check::{Checked, Dialect, SchemaError};
use super::effort;
use super::shorten::{shorten, shorten_to};
use super::violation::{Violation, join};

/// The most violations that are told at once.
const MAX_VIOLATIONS: usize = 8;

/// The most alternatives that a message lists.
const MAX_ALTERNATIVES: usize = 10;

/// The most memory of one compiled pattern, in bytes.
const MAX_PATTERN: usize = 1 << 20;

/// The longest explanation of an invalid schema, in characters.
const LONGEST_REASON: usize = 300;

/// A schema compiled for validation.
pub(crate) struct Validator {
    compiled: jsonschema::Validator,
    checked: Checked,
}

impl Validator {
    /// Compiles a schema.
    ///
    /// # Errors
    /// If it has a pattern that cannot be compiled.
    pub(crate) fn new(checked: Checked) -> Result<Self, SchemaError> {
        let compiled = jsonschema::options()
            .with_draft(draft(checked.dialect))
            .should_validate_formats(false)
            .with_retriever(Nowhere)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(MAX_PATTERN)
                    .dfa_size_limit(MAX_PATTERN),
            )
            .build(&checked.schema)
            .map_err(|error| invalid(&error))?;
        Ok(Self { compiled, checked })
    }

    /// Validates a value.
    ///
    /// # Errors
    /// The first violations, eight at most.
    pub(crate) fn validate(&self, value: &Value) -> Result<(), Vec<Violation>> {
        if self.checked.recurs && !effort::is_bearable(&self.checked.schema, value) {
            let message = "is nested so deeply that it would take too long to validate";
            return Err(vec![Violation::new("", message)]);
        }
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        Err(self
            .compiled
            .iter_errors(value)
            .take(MAX_VIOLATIONS)
            .map(|e| violation(&e))
            .collect())
    }

    /// Validates the text of a value.
    ///
    /// # Errors
    /// The first violations, eight at most; or one that says that the text is nested too deeply.
    pub(crate) fn validate_raw(&self, json: &RawValue) -> Result<(), Vec<Violation>> {
        let value: Value = serde_json::from_str(json.get())
            .map_err(|error| vec![Violation::new("", shorten(&error.to_string()))])?;
        self.validate(&value)
    }
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator")
            .field("dialect", &self.checked.dialect)
            .finish_non_exhaustive()
    }
}

/// Checks that a schema is valid by its dialect.
pub(super) fn check_dialect(schema: &Value, dialect: Dialect) -> Result<(), SchemaError> {
    match dialect {
        Dialect::Draft202012 => jsonschema::draft202012::meta::validate(schema),
        Dialect::Draft07 => jsonschema::draft7::meta::validate(schema),
    }
    .map_err(|error| invalid(&error))
}

fn draft(dialect: Dialect) -> Draft {
    match dialect {
        Dialect::Draft202012 => Draft::Draft202012,
        Dialect::Draft07 => Draft::Draft7,
    }
}

/// The engine's way to other documents: there is none.
struct Nowhere;

impl jsonschema::Retrieve for Nowhere {
    fn retrieve(
        &self,
        _: &jsonschema::Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err("references out of the schema are not followed".into())
    }
}

fn invalid(error: &ValidationError<'_>) -> SchemaError {
    let (path, message) = explain(error);
    SchemaError::Invalid {
        path,
        message: shorten_to(&message, LONGEST_REASON),
    }
}

fn violation(error: &ValidationError<'_>) -> Violation {
    let (path, message) = explain(error);
    Violation::new(path, message)
}

/// Where something is wrong, and what.
fn explain(error: &ValidationError<'_>) -> (String, String) {
    let path = error.instance_path.as_str().to_owned();
    match &error.kind {
        Kind::Required { property } => {
            let name = property
                .as_str()
                .map_or_else(|| property.to_string(), str::to_owned);
            (join(&path, &name), "is missing, but required".to_owned())
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let name = unexpected.first().map(String::as_str).unwrap_or_default();
            (join(&path, name), "is not expected here".to_owned())
        }
        Kind::FalseSchema
            if error
                .schema_path
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            (path, "takes no members".to_owned())
        }
        _ => {
            let got = shorten(&error.instance.to_string());
            (path, format!("expected {}, got {got}", expected(error)))
        }
    }
}

/// What the schema expects in place of the value, as a noun.
fn expected(error: &ValidationError<'_>) -> Cow<'static, str> {
    let plain: &'static str = match &error.kind {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => return one.to_string().into(),
        Kind::Type {
            kind: TypeKind::Multiple(several),
        } => {
            return listed(several.iter().map(|one| one.to_string())).into();
        }
        Kind::Enum {
            options: Value::Array(options),
        } => {
            return listed(options.iter().map(|option| shorten(&option.to_string()))).into();
        }
        Kind::Constant { expected_value } => return shorten(&expected_value.to_string()).into(),
        Kind::Minimum { limit } => return format!("at least {limit}").into(),
        Kind::Maximum { limit } => return format!("at most {limit}").into(),
        Kind::ExclusiveMinimum { limit } => return format!("more than {limit}").into(),
        Kind::ExclusiveMaximum { limit } => return format!("less than {limit}").into(),
        Kind::MultipleOf { multiple_of } => return format!("a multiple of {multiple_of}").into(),
        Kind::MinLength { limit } => return format!("at least {limit} characters").into(),
        Kind::MaxLength { limit } => return format!("at most {limit} characters").into(),
        Kind::MinItems { limit } => return format!("at least {limit} items").into(),
        Kind::MaxItems { limit } => return format!("at most {limit} items").into(),
        Kind::AdditionalItems { limit } => return format!("at most {limit} items").into(),
        Kind::MinProperties { limit } => return format!("at least {limit} members").into(),
        Kind::MaxProperties { limit } => return format!("at most {limit} members").into(),
        Kind::Pattern { pattern } => {
            return format!("text that matches {}", shorten(pattern)).into();
        }
        Kind::Format { format } => return format!("the format {}", shorten(format)).into(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            return alternatives(error, context).into();
        }
        Kind::PropertyNames { error } => {
            return format!("member names that are {}", expected(error)).into();
        }
        Kind::OneOfMultipleValid { .. } => "exactly one of the alternatives to fit",
        Kind::UniqueItems => "items that all differ",
        Kind::UnevaluatedItems { .. } => "no further items",
        Kind::Contains => "an item that the schema's `contains` describes",
        Kind::Not { .. } => "anything but this",
        Kind::FalseSchema => "nothing",
        _ => "a value that the schema allows",
    };
    plain.into()
}

/// What each alternative expects, where all speak of the value itself.
fn alternatives(error: &ValidationError<'_>, context: &[Vec<ValidationError<'static>>]) -> String {
    let depth = error.instance_path.as_str().len();
    let first: Option<Vec<_>> = context
        .iter()
        .map(|errors| {
            errors
                .first()
                .filter(|e| e.instance_path.as_str().len() == depth)
        })
        .collect();
    let structural = |e: &&ValidationError<'_>| {
        matches!(
            e.kind,
            Kind::Type { .. } | Kind::Enum { .. } | Kind::Constant { .. }
        )
    };
    match first {
        Some(errors) if !errors.is_empty() && errors.iter().all(structural) => {
            listed(errors.into_iter().map(|e| expected(e).into_owned()))
        }
        _ => "a value that fits one of the alternatives".to_owned(),
    }
}

/// `a, b or c`, cut after a few.
fn listed(items: impl Iterator<Item = String>) -> String {
    let mut items: Vec<String> = items.take(MAX_ALTERNATIVES + 1).collect();
    if items.len() > MAX_ALTERNATIVES {
        items.truncate(MAX_ALTERNATIVES);
        return items.join(", ") + " or another of the listed values";
    }
    match items.pop() {
        Some(last) if items.is_empty() => last,
        Some(last) => items.join(", ") + " or " + &last,
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use turnbuckle_types::Schema;

    use super::super::check::{Place, check_schema};
    use super::*;

    fn validator(schema: &Value) -> Result<Validator, SchemaError> {
        Validator::new(check_schema(&Schema::of(schema).unwrap(), Place::Output)?)
    }

    fn violations(schema: Value, value: Value) -> Vec<String> {
        let result = validator(&schema).unwrap().validate(&value);
        result
            .err()
            .unwrap_or_default()
            .iter()
            .map(|v| v.describe("arguments"))
            .collect()
    }

    #[test]
    fn violations_say_where_what_was_expected_and_what_came() {
        let properties = |schema: Value| json!({ "properties": { "x": schema } });
        for (schema, value, message) in [
            (json!({ "type": "string" }), json!(5), "string, got 5"),
            (
                json!({ "type": ["string", "null"] }),
                json!(5),
                "null or string, got 5",
            ),
            (
                json!({ "enum": ["a", "b", 3] }),
                json!("c"),
                r#""a", "b" or 3, got "c""#,
            ),
            (json!({ "const": "a" }), json!("c"), r#""a", got "c""#),
            (json!({ "minimum": 1 }), json!(0), "at least 1, got 0"),
            (
                json!({ "exclusiveMaximum": 1 }),
                json!(1),
                "less than 1, got 1",
            ),
            (
                json!({ "multipleOf": 5 }),
                json!(7),
                "a multiple of 5, got 7",
            ),
            (
                json!({ "minLength": 2 }),
                json!("a"),
                r#"at least 2 characters, got "a""#,
            ),
            (
                json!({ "maxItems": 1 }),
                json!([1, 2]),
                "at most 1 items, got [1,2]",
            ),
            (
                json!({ "pattern": "^a+$" }),
                json!("b"),
                r#"text that matches ^a+$, got "b""#,
            ),
            (
                json!({ "uniqueItems": true }),
                json!([1, 1]),
                "items that all differ, got [1,1]",
            ),
            (json!({ "not": {} }), json!(1), "anything but this, got 1"),
            (
                json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] }),
                json!(5),
                r#""a" or null, got 5"#,
            ),
        ] {
            assert_eq!(
                violations(properties(schema), json!({ "x": value })),
                [format!("arguments.x: expected {message}")]
            );
        }
        assert_eq!(
            violations(json!({ "required": ["city"] }), json!({})),
            ["arguments.city: is missing, but required"]
        );
        assert_eq!(
            violations(
                json!({ "properties": { "b": {} }, "additionalProperties": false }),
                json!({ "a": 1 })
            ),
            ["arguments.a: is not expected here"]
        );
        assert_eq!(
            violations(json!({ "additionalProperties": false }), json!({ "a": 1 })),
            ["arguments: takes no members"]
        );
    }

    #[test]
    fn a_fitting_value_passes_and_formats_are_annotations() {
        let schema = json!({ "properties": { "when": { "type": "string", "format": "date" } } });
        assert!(violations(schema, json!({ "when": "tomorrow" })).is_empty());
    }

    #[test]
    fn violations_are_few_and_short() {
        let schema = json!({ "items": { "type": "string" } });
        assert_eq!(
            violations(schema.clone(), json!(vec![1; 100])).len(),
            MAX_VIOLATIONS
        );
        let long = json!([["\u{1b}\n".repeat(100_000)]]);
        let message = violations(schema, long).concat();
        assert!(
            message.len() < 300 && !message.contains(['\u{1b}', '\n']),
            "{}",
            message.len()
        );
        let many: Vec<Value> = (0..1000).map(|n| json!(n)).collect();
        assert!(
            violations(json!({ "enum": many }), json!("x"))
                .concat()
                .len()
                < 300
        );
    }

    #[test]
    fn patterns_run_in_linear_time_or_not_at_all() {
        let text = "a".repeat(50_000) + "b";
        assert_eq!(
            violations(json!({ "pattern": "^(a+)+$" }), json!(text)).len(),
            1
        );
        for pattern in ["(?=a)", r"(a)\1", "(", "(a{1000}){1000}"] {
            let refused = validator(&json!({ "pattern": pattern })).unwrap_err();
            assert!(
                matches!(refused, SchemaError::Invalid { .. }),
                "{pattern} {refused}"
            );
        }
    }

    #[test]
    fn the_text_of_a_value_is_validated_too() {
        let validator = validator(&json!({ "type": "object" })).unwrap();
        let raw = |text: String| RawValue::from_string(text).unwrap();
        assert_eq!(validator.validate_raw(&raw("{}".to_owned())), Ok(()));
        assert_eq!(
            validator
                .validate_raw(&raw("1".to_owned()))
                .unwrap_err()
                .len(),
            1
        );
        let deep = "[".repeat(500) + &"]".repeat(500);
        assert!(validator.validate_raw(&raw(deep)).is_err());
    }

    #[test]
    fn a_draft_07_schema_is_read_as_one() {
        let schema = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "items": [{ "type": "string" }],
            "additionalItems": false,
        });
        assert!(violations(schema.clone(), json!(["a"])).is_empty());
        assert_eq!(violations(schema, json!(["a", 1])).len(), 1);
    }

    #[test]
    fn a_value_that_makes_alternatives_explode_is_refused_at_once() {
        let branch = |leaf: &str| json!({ "properties": { "a": { "$ref": "#" } }, "required": ["b"], "const": leaf });
        let schema = json!({ "anyOf": [branch("x"), branch("y"), { "type": "null" }] });
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "a": inner }));
        let message = violations(schema.clone(), deep).concat();
        assert!(message.contains("too long to validate"), "{message}");
        assert!(
            violations(schema, json!({ "a": { "a": {} } }))
                .concat()
                .contains("expected")
        );
    }

    #[test]
    fn a_deep_list_of_a_plain_recursive_schema_is_fine() {
        let schema = json!({ "properties": { "next": { "$ref": "#" }, "n": { "minimum": 0 } } });
        let deep = (0..100).fold(json!({ "n": 1 }), |next, _| json!({ "next": next, "n": 1 }));
        assert!(violations(schema, deep).is_empty());
    }

    #[test]
    fn the_longest_chain_that_is_allowed_fits_the_stack() {
        let steps = (0..2).fold(
            json!({ "properties": { "a": { "$ref": "#" } } }),
            |inner, _| json!({ "allOf": [{ "anyOf": [inner] }] }),
        );
        let deep = |n| (0..n).fold(json!({}), |inner, _| json!({ "a": inner }));
        assert!(violations(steps.clone(), deep(80)).is_empty());
        assert!(violations(steps, deep(100)).concat().contains("too long"));
    }
}
