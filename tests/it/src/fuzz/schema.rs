//! Schemas and values of strangers: a schema is refused, or values can be held against it in bounds
//! of work, and what is told of one that does not fit is short.

use turnbuckle_schema::Validator;
use turnbuckle_types::{RawJson, Schema};

/// The most values of an input.
const MAX_VALUES: usize = 8;

/// The most violations that are told.
const MAX_VIOLATIONS: usize = 8;

/// The longest message, in characters: ten alternatives of 80 characters that are escaped, and
/// some words.
const MAX_MESSAGE: usize = 10_000;

/// Runs the target on `input`: lines with a schema and then values.
pub fn schema(input: &[u8]) {
    let Ok(input) = std::str::from_utf8(input) else {
        return;
    };
    let mut lines = input.split('\n');
    let schema = lines.next().unwrap_or_default();
    let Ok(schema) = schema.parse::<Schema>() else {
        return;
    };
    let validator = match Validator::compile(&schema) {
        Ok(validator) => validator,
        Err(fault) => {
            assert!(Validator::compile_object(&schema).is_err());
            return readable(&fault.to_string());
        }
    };
    if let Err(fault) = Validator::compile_object(&schema) {
        readable(&fault.to_string());
    }
    for value in lines.take(MAX_VALUES) {
        if let Ok(value) = serde_json::from_str(value) {
            validate(&validator, value);
        }
    }
}

fn validate(validator: &Validator, value: RawJson<'_>) {
    let outcome = validator.validate(value);
    assert_eq!(validator.validate(value), outcome, "a schema has a memory");
    let Err(violations) = outcome else { return };
    let count = violations.iter().len();
    assert!((1..=MAX_VIOLATIONS).contains(&count), "{count} violations");
    assert!(!violations.is_too_costly() || count == 1);
    for violation in &violations {
        assert!(violation.path().is_empty() || violation.path().starts_with('/'));
        readable(violation.message());
        let line = violation.describe("value");
        assert!(!line.contains(char::is_control), "{line:?}");
    }
}

/// Asserts that a message is short and has no control characters.
fn readable(message: &str) {
    let length = message.chars().count();
    assert!((1..=MAX_MESSAGE).contains(&length), "{length} characters");
    assert!(!message.contains(char::is_control), "{message:?}");
}
