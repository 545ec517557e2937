//! The general validator, for what typed decoding does not enforce. The only file that knows the
//! engine behind it.
//!
//! Nothing is fetched, and patterns run in time linear in the text: lookaround and backreferences
//! are refused when a schema is registered. The engine bounds neither its work nor what it collects
//! of errors; both are counted before it begins.

use std::borrow::Cow;
use std::fmt;

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{Draft, PatternOptions, ValidationError};
use serde_json::Value;
use turnbuckle_types::{RawJson, Schema};

use crate::SchemaLimits;
use crate::check::{Checked, Dialect, check_schema};
use crate::effort::effort;
use crate::fault::SchemaFault;
use crate::plan::Plan;
use crate::shorten::{shorten, shorten_to};
use crate::violation::{MAX_VIOLATIONS, Violation, Violations, join, listed};

/// The most effort of telling what is wrong.
const MAX_TOLD: u64 = 50_000;

/// The longest explanation of an invalid schema, in characters.
const LONGEST_REASON: usize = 300;

/// A schema, checked and compiled for validation. Compile it once: values take far less time.
pub struct Validator {
    compiled: jsonschema::Validator,
    plan: Plan,
    checked: Checked,
}

impl Validator {
    /// Checks and compiles a schema for values of any kind, such as structured results.
    ///
    /// # Errors
    /// If it is not valid, of another dialect, beyond a bound, or refers to another document.
    pub fn compile(schema: &Schema) -> Result<Self, SchemaFault> {
        Self::compile_within(schema, &SchemaLimits::default())
    }

    /// The same within other bounds.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_within(schema: &Schema, limits: &SchemaLimits) -> Result<Self, SchemaFault> {
        let checked = check_schema(schema, *limits)?;
        check_dialect(&checked.schema, checked.dialect)?;
        // What is too deep for the plan is not for the engine, which has no bound of its own.
        let plan = Plan::of(&checked.schema, limits)?;
        let pattern = limits.size_of_pattern(checked.patterns);
        let compiled = jsonschema::options()
            .with_draft(draft(checked.dialect))
            .should_validate_formats(false)
            .with_retriever(Nowhere)
            .with_pattern_options(
                PatternOptions::regex()
                    .size_limit(pattern)
                    .dfa_size_limit(pattern),
            )
            .build(&checked.schema)
            .map_err(|error| invalid(&error))?;
        Ok(Self {
            compiled,
            plan,
            checked,
        })
    }

    /// Checks and compiles a schema for values that are always objects, as arguments are.
    ///
    /// # Errors
    /// As [`compile`](Self::compile), and if the root of the schema does not say
    /// `"type": "object"`.
    pub fn compile_object(schema: &Schema) -> Result<Self, SchemaFault> {
        Self::compile(schema)?.of_objects()
    }

    /// The same validator, for values that are always objects.
    ///
    /// # Errors
    /// If the root of the schema does not say `"type": "object"`.
    pub fn of_objects(self) -> Result<Self, SchemaFault> {
        let validator = self;
        if validator.checked.schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaFault::RootNotObject);
        }
        Ok(validator)
    }

    /// Validates the text of a value.
    ///
    /// # Errors
    /// The first violations, eight at most, and only the first where many would be much to
    /// collect; or one that says that the value is [too costly](Violations::is_too_costly) to
    /// check against this schema, which is then neither found valid nor invalid.
    pub fn validate(&self, json: RawJson<'_>) -> Result<(), Violations> {
        let value: Value = json
            .decode()
            .map_err(|error| Violation::new("", shorten(&error.to_string())))?;
        self.validate_value(&value)
    }

    fn validate_value(&self, value: &Value) -> Result<(), Violations> {
        let Some(effort) = effort(&self.plan, value, self.checked.limits.work) else {
            return Err(Violations::too_costly());
        };
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if effort.all <= MAX_TOLD {
            let errors = self.compiled.iter_errors(value).take(MAX_VIOLATIONS);
            return Err(errors.map(|error| violation(&error)).collect());
        }
        if effort.first <= MAX_TOLD
            && let Err(error) = self.compiled.validate(value)
        {
            return Err(violation(&error).into());
        }
        let message = "does not fit the schema, and is too large to say where";
        Err(Violation::new("", message).into())
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
fn check_dialect(schema: &Value, dialect: Dialect) -> Result<(), SchemaFault> {
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

fn invalid(error: &ValidationError<'_>) -> SchemaFault {
    let (path, message) = explain(error);
    SchemaFault::Invalid {
        path: shorten_to(&path, LONGEST_REASON),
        message: shorten_to(&message, LONGEST_REASON),
    }
}

fn violation(error: &ValidationError<'_>) -> Violation {
    let (path, message) = explain(error);
    Violation::new(path, message)
}

/// Where something is wrong, and what.
fn explain(error: &ValidationError<'_>) -> (String, String) {
    let path = error.instance_path().as_str().to_owned();
    match error.kind() {
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
                .schema_path()
                .as_str()
                .ends_with("/additionalProperties") =>
        {
            (path, "takes no members".to_owned())
        }
        _ => {
            let got = shorten(&error.instance().to_string());
            (path, format!("expected {}, got {got}", expected(error)))
        }
    }
}

/// What the schema expects in place of the value, as a noun.
fn expected(error: &ValidationError<'_>) -> Cow<'static, str> {
    let plain: &'static str = match error.kind() {
        Kind::Type {
            kind: TypeKind::Single(one),
        } => return one.to_string().into(),
        Kind::Type {
            kind: TypeKind::Multiple(several),
        } => {
            return listed(several.iter().map(|one| one.to_string())).into();
        }
        Kind::Enum { options } => {
            let options = options.as_array().into_iter().flatten();
            return listed(options.map(|option| shorten(&option.to_string()))).into();
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
    let depth = error.instance_path().as_str().len();
    let first: Option<Vec<_>> = context
        .iter()
        .map(|errors| {
            errors
                .first()
                .filter(|e| e.instance_path().as_str().len() == depth)
        })
        .collect();
    let structural = |e: &&ValidationError<'_>| {
        matches!(
            e.kind(),
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

#[cfg(test)]
mod tests;
