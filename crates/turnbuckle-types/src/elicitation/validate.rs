//! Checking a filled-in form against what was asked.

use std::cmp::Ordering;

use super::{
    ElicitAction, ElicitResult, ElicitationSchema, FieldValue, NumberKind, NumberSchema,
    PrimitiveSchemaDefinition, StringFormat, StringSchema,
};
use crate::base::text::is_hidden;
use crate::{Map, Number};

impl ElicitResult {
    /// Checks an accepted form against the schema that was sent with the question.
    ///
    /// A refusal has nothing to check. Fields that were not asked for and fields of unknown shape are
    /// not judged. Formats are checked loosely: what passes looks like one.
    ///
    /// # Errors
    /// The first field that does not hold what was asked for.
    pub fn validate(&self, schema: &ElicitationSchema) -> Result<(), InvalidContent> {
        if self.action != ElicitAction::Accept {
            return Ok(());
        }
        let empty = Map::new();
        let content = self.content.as_ref().unwrap_or(&empty);
        for name in schema.required.iter().flatten() {
            if !content.contains_key(name) {
                return Err(InvalidContent {
                    field: name.clone(),
                    problem: FieldProblem::Missing,
                });
            }
        }
        for (name, value) in content.iter() {
            if let Some(field) = schema.properties.get(name) {
                check_field(value, field).map_err(|problem| InvalidContent {
                    field: name.to_owned(),
                    problem,
                })?;
            }
        }
        Ok(())
    }
}

/// A field of a form with an invalid value. The text names the field and the rule, never the value, since
/// that is the user's and does not belong in a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("field `{field}`: {problem}")]
#[non_exhaustive]
pub struct InvalidContent {
    /// The field's name.
    pub field: String,
    /// The reason.
    pub problem: FieldProblem,
}

/// The reason why a field is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldProblem {
    /// The field is required and absent.
    #[error("must be filled in")]
    Missing,
    /// The value is of another type than this one.
    #[error("must be {0}")]
    Type(&'static str),
    /// The text is shorter than allowed.
    #[error("is too short")]
    TooShort,
    /// The text is longer than allowed.
    #[error("is too long")]
    TooLong,
    /// The text is not in this format.
    #[error("must be in the format `{}`", .0.as_str())]
    Format(StringFormat),
    /// The number is less than allowed.
    #[error("is too small")]
    TooSmall,
    /// The number is greater than allowed.
    #[error("is too large")]
    TooLarge,
    /// The value is not among the choices.
    #[error("must be one of the choices")]
    NotAChoice,
    /// The list has fewer choices than allowed.
    #[error("has too few choices")]
    TooFew,
    /// The list has more choices than allowed.
    #[error("has too many choices")]
    TooMany,
}

fn check_field(value: &FieldValue, field: &PrimitiveSchemaDefinition) -> Result<(), FieldProblem> {
    let text = || value.as_str().ok_or(FieldProblem::Type("a string"));
    match field {
        PrimitiveSchemaDefinition::String(schema) => check_text(text()?, schema),
        PrimitiveSchemaDefinition::Number(schema) => check_number(value, schema),
        PrimitiveSchemaDefinition::Boolean(_) => match value {
            FieldValue::Bool(_) => Ok(()),
            _ => Err(FieldProblem::Type("true or false")),
        },
        PrimitiveSchemaDefinition::SingleSelect(schema) => check_choice(text()?, schema.choices()),
        PrimitiveSchemaDefinition::LegacyEnum(schema) => {
            check_choice(text()?, schema.values.iter().map(String::as_str))
        }
        PrimitiveSchemaDefinition::MultiSelect(schema) => {
            let chosen = value
                .as_list()
                .ok_or(FieldProblem::Type("a list of strings"))?;
            let count = count(chosen.len());
            if below(&count, schema.min_items.as_ref()) {
                return Err(FieldProblem::TooFew);
            }
            if above(&count, schema.max_items.as_ref()) {
                return Err(FieldProblem::TooMany);
            }
            let mut choices: Vec<&str> = schema.choices().collect();
            choices.sort_unstable();
            let known = |choice: &String| choices.binary_search(&&**choice).is_ok();
            if chosen.iter().all(known) {
                Ok(())
            } else {
                Err(FieldProblem::NotAChoice)
            }
        }
        PrimitiveSchemaDefinition::Unknown(_) => Ok(()),
    }
}

fn check_text(text: &str, schema: &StringSchema) -> Result<(), FieldProblem> {
    let length = count(text.chars().count());
    if below(&length, schema.min_length.as_ref()) {
        return Err(FieldProblem::TooShort);
    }
    if above(&length, schema.max_length.as_ref()) {
        return Err(FieldProblem::TooLong);
    }
    match &schema.format {
        Some(format) if !has_format(text, format) => Err(FieldProblem::Format(format.clone())),
        _ => Ok(()),
    }
}

fn check_number(value: &FieldValue, schema: &NumberSchema) -> Result<(), FieldProblem> {
    let wanted = match schema.kind {
        NumberKind::Number => "a number",
        NumberKind::Integer => "an integer",
    };
    let number = value.as_number().ok_or(FieldProblem::Type(wanted))?;
    if schema.kind == NumberKind::Integer && !number.is_integer() {
        return Err(FieldProblem::Type(wanted));
    }
    if below(number, schema.minimum.as_ref()) {
        return Err(FieldProblem::TooSmall);
    }
    if above(number, schema.maximum.as_ref()) {
        return Err(FieldProblem::TooLarge);
    }
    Ok(())
}

fn check_choice<'a>(
    choice: &str,
    mut choices: impl Iterator<Item = &'a str>,
) -> Result<(), FieldProblem> {
    if choices.any(|known| known == choice) {
        Ok(())
    } else {
        Err(FieldProblem::NotAChoice)
    }
}

fn count(length: usize) -> Number {
    u64::try_from(length).unwrap_or(u64::MAX).into()
}

fn below(value: &Number, least: Option<&Number>) -> bool {
    least.is_some_and(|least| value.numeric_cmp(least) == Ordering::Less)
}

fn above(value: &Number, most: Option<&Number>) -> bool {
    most.is_some_and(|most| value.numeric_cmp(most) == Ordering::Greater)
}

fn has_format(text: &str, format: &StringFormat) -> bool {
    match format {
        StringFormat::Email => is_email(text),
        StringFormat::Uri => is_uri(text),
        StringFormat::Date => is_date(text),
        StringFormat::DateTime => is_date_time(text),
        StringFormat::Other(_) => true,
    }
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || is_hidden(c)
}

fn is_email(text: &str) -> bool {
    match text.rsplit_once('@') {
        Some((name, host)) => !name.is_empty() && !host.is_empty() && !text.contains(is_blank),
        None => false,
    }
}

fn is_uri(text: &str) -> bool {
    match text.split_once(':') {
        Some((scheme, rest)) => {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
                && !rest.is_empty()
                && !text.contains(is_blank)
        }
        None => false,
    }
}

fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next(), parts.next(), parts.next());
    let (Some(year), Some(month), Some(day)) = (
        digits(year, 4, 9999),
        digits(month, 2, 12),
        digits(day, 2, 31),
    ) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    parts.next().is_none() && month >= 1 && (1..=longest).contains(&day)
}

fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let (time, offset) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => time.split_at(at),
        None => return false,
    };
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let offset_fits = match offset.strip_prefix(['+', '-']) {
        Some(offset) => is_clock(offset, 2),
        None => offset.eq_ignore_ascii_case("z"),
    };
    let fraction_fits = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    is_date(date) && is_clock(time, 3) && fraction_fits && offset_fits
}

/// Returns whether a text is `hours:minutes` or, in three parts, `hours:minutes:seconds` (a leap
/// second too).
fn is_clock(text: &str, parts: usize) -> bool {
    let mut fields = text.split(':');
    let limits = [23, 59, 60].into_iter().take(parts);
    limits
        .into_iter()
        .all(|most| digits(fields.next(), 2, most).is_some())
        && fields.next().is_none()
}

/// Returns a number of exactly `length` digits, up to `most`.
fn digits(text: Option<&str>, length: usize, most: u32) -> Option<u32> {
    let text = text.filter(|text| text.len() == length)?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|value| *value <= most)
}
