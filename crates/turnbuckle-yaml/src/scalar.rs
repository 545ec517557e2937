//! Scalars without quotes.
//!
//! Specification: YAML 1.2.2, "Core Schema".

use serde_json::{Number, Value};

/// Returns whether a scalar without quotes is null.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns the value of a scalar without quotes. If it is not `exact`, an integer beyond 64 bits is the nearest number.
pub(crate) fn plain_value(text: &str, exact: bool) -> Result<Value, String> {
    Ok(match text {
        _ if is_null(text) => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => match plain_number(text, exact)? {
            Some(number) => Value::Number(number),
            None => text.into(),
        },
    })
}

/// Returns the number that a scalar without quotes is, or `None` if it is text.
fn plain_number(text: &str, exact: bool) -> Result<Option<Number>, String> {
    let inexpressible = || format!("JSON cannot express the number {text}: put it in quotes");
    if let Some(digits) = text.strip_prefix("0o").or_else(|| text.strip_prefix("0x")) {
        let radix = if text.starts_with("0x") { 16 } else { 8 };
        if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
            return Ok(None);
        }
        return u64::from_str_radix(digits, radix)
            .map(|value| Some(value.into()))
            .map_err(|_| inexpressible());
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(inexpressible());
    }
    if is_decimal(unsigned) {
        let value = text.parse::<i64>().map(Number::from);
        let value = value.or_else(|_| text.parse::<u64>().map(Number::from));
        match value {
            Ok(value) => return Ok(Some(value)),
            Err(_) if exact => return Err(inexpressible()),
            Err(_) => {}
        }
    } else if !is_float(unsigned) {
        return Ok(None);
    }
    let value = text.parse::<f64>().ok().and_then(Number::from_f64);
    value.map(Some).ok_or_else(inexpressible)
}

/// Returns whether a text is digits.
fn is_decimal(text: &str) -> bool {
    !text.is_empty() && are_digits(text)
}

/// Returns whether a text without a sign is a decimal fraction, or has an exponent.
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    are_digits(whole)
        && are_digits(fraction)
        && (!whole.is_empty() || !fraction.is_empty())
        && exponent.is_none_or(|exponent| {
            is_decimal(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))
        })
}

fn are_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}
