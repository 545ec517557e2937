//! Arguments against schemas: the small checker decides as the general one does, what it mends it
//! mends only where something did not fit, and a typed handler sees what was sent, what was meant,
//! or nothing.

use std::num::NonZeroU8;
use std::sync::LazyLock;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnbuckle_schema::{FastValidator, Validator, Violations};
use turnbuckle_server::{Args, HandlerContext, Server, Tool};
use turnbuckle_types::{Json, RawJson, Schema};

use super::converse::{answer, converse_with, request};

/// The most values of an input.
const MAX_VALUES: usize = 8;

/// The most violations that are told.
const MAX_VIOLATIONS: usize = 8;

/// Runs the target on `input`: lines with a schema and then values. The values are also arguments
/// of a typed tool.
pub fn arguments(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = input.split('\n');
    let schema = lines.next().unwrap_or_default().parse::<Schema>();
    let values: Vec<RawJson<'_>> = lines
        .take(MAX_VALUES)
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if let Ok(schema) = schema {
        check_validation(&schema, &values);
    }
    check_typed_handler(&values);
}

fn check_validation(schema: &Schema, values: &[RawJson<'_>]) {
    let shape = match FastValidator::compile(schema) {
        Ok(shape) => shape,
        Err(fault) => return assert!(!fault.to_string().is_empty()),
    };
    // The two differ about what a class of a pattern holds, and the general one is not exact about
    // multiples of numbers that are long or far apart.
    let apart = |text: &str| schema.as_str().contains("ultipleOf") && has_long_numbers(text);
    let comparable = shape.unsupported_keyword().is_none()
        && !schema.as_str().contains("attern")
        && !apart(schema.as_str());
    let validator = Validator::compile(schema).ok().filter(|_| comparable);
    for &value in values {
        let outcome = shape.validate(value);
        assert_eq!(shape.validate(value), outcome, "a shape has a memory");
        if let Err(violations) = &outcome {
            check_violations(violations);
        }
        // A text of JSON has members that come twice; a value has not.
        let plain = serde_json::from_str::<Value>(value.as_str());
        if let (Some(validator), Ok(plain), false) = (&validator, plain, apart(value.as_str())) {
            let plain = Json::encode(&plain).expect("JSON has a JSON form");
            agree(
                &shape.validate((&plain).into()),
                &validator.validate((&plain).into()),
                (&plain).into(),
            );
        }
        let Some(mended) = shape.repair(value) else {
            continue;
        };
        // Whole numbers are written as integers; nothing else of what fits is another.
        let numbers = |text: &str| serde_json::from_str::<Value>(text).map(plain_numbers).ok();
        let same = numbers(value.as_str()) == numbers(mended.as_str());
        assert!(outcome.is_err() || same, "{value} fits and was touched");
        assert_ne!(mended.as_str(), value.as_str());
        if shape.validate((&mended).into()).is_ok() {
            let again = shape.repair((&mended).into());
            assert!(again.is_none(), "{mended} fits and was touched");
        }
    }
}

/// Returns whether any number of a text has an exponent, or more digits than a float keeps.
fn has_long_numbers(text: &str) -> bool {
    let is_long = |part: &str| part.bytes().filter(u8::is_ascii_digit).count() > 15;
    let exponent = |pair: &[u8]| pair[0].is_ascii_digit() && pair[1].eq_ignore_ascii_case(&b'e');
    let is_of_number = |char: char| char.is_ascii_digit() || char == '.';
    let mut parts = text.split(|char| !is_of_number(char));
    parts.any(is_long) || text.as_bytes().windows(2).any(exponent)
}

/// Returns a value with all numbers as floats, so that `3` and `3.0` are equal.
fn plain_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.into_iter().map(plain_numbers).collect(),
        Value::Object(members) => {
            let members = members.into_iter();
            members
                .map(|(name, it)| (name, plain_numbers(it)))
                .collect()
        }
        other => other,
    }
}

/// Asserts that both validators accept a value or both reject it, unless the value exceeded a limit
/// of one of them.
fn agree(ours: &Result<(), Violations>, general: &Result<(), Violations>, value: RawJson<'_>) {
    let costly = |it: &Result<(), Violations>| it.as_ref().is_err_and(Violations::is_too_costly);
    if !costly(ours) && !costly(general) {
        assert_eq!(
            ours.is_ok(),
            general.is_ok(),
            "{value}: {ours:?} {general:?}"
        );
    }
}

fn check_violations(violations: &Violations) {
    let count = violations.iter().len();
    assert!((1..=MAX_VIOLATIONS).contains(&count), "{count} violations");
    let whole = violations.describe("arguments").to_string();
    let control = |char: char| char.is_control() && char != '\n';
    assert!(!whole.is_empty() && !whole.contains(control), "{whole:?}");
}

/// Arguments of the tool's handler, with every attribute that affects the type.
#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Order {
    city: String,
    #[schemars(range(min = 1, max = 9))]
    days: u8,
    #[serde(default)]
    at: Option<f64>,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rooms: Option<NonZeroU8>,
    #[serde(default, rename = "paysNow")]
    pays: bool,
    #[serde(default)]
    next: Option<Box<Self>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Tag {
    Plain { text: String },
    Weighted { text: String, weight: i16 },
}

/// A server that says which arguments its handler saw.
static TYPED: LazyLock<Server> = LazyLock::new(|| {
    let order = async |Args(order): Args<Order>, _: HandlerContext| {
        serde_json::to_string(&order).unwrap_or_default()
    };
    let built = Server::new("typed", "1").tool(Tool::builder("order").handler(order));
    built.build().expect("a valid server")
});

/// Validator of the tool's own schema.
static ORDER: LazyLock<FastValidator> = LazyLock::new(|| {
    let shape = shape_of::<Order>();
    assert!(shape.has_constraints(), "days are in a range");
    shape
});

/// A shape for which what decodes fits.
static TAG: LazyLock<FastValidator> = LazyLock::new(|| {
    let shape = shape_of::<Tag>();
    assert!(!shape.has_constraints(), "a type says it all");
    shape
});

fn shape_of<T: JsonSchema>() -> FastValidator {
    let derived = SchemaSettings::draft2020_12().for_deserialize();
    let derived = derived.into_generator().into_root_schema_for::<T>();
    let schema = Schema::encode(&derived).expect("a schema is JSON");
    FastValidator::compile(&schema).expect("a schema of a type")
}

/// Checks the arguments that the handler receives: the value as sent if that decodes and fits, else
/// the repaired value if that does. Otherwise the handler is not called and the model is told the
/// reason.
fn check_typed_handler(values: &[RawJson<'_>]) {
    let calls = values.iter().enumerate().map(|(id, value)| {
        let params = format!(r#""name":"order","arguments":{value},"#);
        request(id, "tools/call", &params)
    });
    let calls: Vec<_> = calls.collect();
    let answers = converse_with(&TYPED, calls.iter().map(Vec::as_slice));
    for (id, &value) in values.iter().enumerate() {
        let Ok(result) = answer(&answers, id) else {
            // Arguments that are no object are no request.
            assert!(!value.as_str().starts_with('{'), "{value}");
            continue;
        };
        let text = result["content"][0]["text"].as_str().expect("a text");
        if serde_json::from_str::<Tag>(value.as_str()).is_ok() {
            assert_eq!(TAG.validate(value), Ok(()), "{value}");
        }
        let mended = ORDER.repair(value);
        let seen = fitting(value).or_else(|| mended.as_ref().map(RawJson::from).and_then(fitting));
        match seen {
            Some(order) => {
                assert_eq!(
                    result.get("isError").unwrap_or(&json!(false)),
                    false,
                    "{value}: {text}"
                );
                let seen = serde_json::to_string(&order).expect("an order is JSON");
                assert_eq!(text, seen, "{value}");
            }
            None => {
                assert_eq!(result["isError"], true, "{value}: {text}");
                assert!(text.contains("arguments"), "{value}: {text}");
            }
        }
    }
}

/// Returns the arguments that a value decodes to, if the value also fits the schema.
fn fitting(value: RawJson<'_>) -> Option<Order> {
    let order = serde_json::from_str(value.as_str()).ok()?;
    ORDER.validate(value).is_ok().then_some(order)
}
