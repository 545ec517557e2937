//! Numbers with their exact text.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer};
use serde::ser::{self, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON number that is echoed as it was written: `1.10`, `1e3` and integers of any length survive.
///
/// Equality is of the text (`1.0` and `1` differ); compare values with [`Number::numeric_cmp`].
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Number(Repr);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// A number whose text is the plain decimal form of this integer.
    Int(i64),
    /// Any other number, as text.
    Text(Box<str>),
}

impl Number {
    /// Creates a number from a float; an integral value within ±2⁵³ is written without a fraction. `None` for
    /// infinities and NaN, which JSON cannot express.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if !value.is_finite() {
            return None;
        }
        if value.fract() == 0.0 && value.abs() <= EXACT {
            // In range and without a fraction: the cast is exact.
            #[allow(clippy::cast_possible_truncation)]
            return Some(Self(Repr::Int(value as i64)));
        }
        Some(Self(Repr::Text(format!("{value:?}").into())))
    }

    /// Returns the nearest float; infinite if the number is beyond its range.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[allow(clippy::cast_precision_loss)]
            Repr::Int(value) => *value as f64,
            // Every JSON number is a float literal, so the fallback cannot be reached.
            Repr::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the value as an `i64`, if it is an integer (`3.0` and `3e2` are) in range.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(value) => Some(*value),
            Repr::Text(text) => Decimal::parse(text).to_i64(),
        }
    }

    /// Returns the value as a `u64`, if it is a non-negative integer within `i64`'s range.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|value| u64::try_from(value).ok())
    }

    /// Returns whether the value has no fractional part, however it is written.
    #[must_use]
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Text(text) => Decimal::parse(text).is_integer(),
        }
    }

    /// Compares the values exactly, whatever their length or notation.
    #[must_use]
    pub fn numeric_cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            _ => {
                let (a, b) = (self.to_string(), other.to_string());
                Decimal::parse(&a).cmp(&Decimal::parse(&b))
            }
        }
    }

    /// Reads the text of one JSON value; `None` if it is not a number.
    fn from_json(text: &str) -> Option<Self> {
        if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        Some(match text.parse::<i64>() {
            Ok(value) if text != "-0" => Self(Repr::Int(value)),
            _ => Self(Repr::Text(text.into())),
        })
    }
}

/// A decimal number taken apart: the value is `digits × 10^exponent`, digits without zeros at either end.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number; an exponent beyond any use saturates.
    fn parse(text: &str) -> Self {
        const FAR: i64 = i64::MAX / 4;
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let far = if exponent.starts_with('-') { -FAR } else { FAR };
        let mut exponent = exponent.parse().unwrap_or(far).clamp(-FAR, FAR);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        exponent -= i64::try_from(fraction.len()).unwrap_or(FAR);
        let mut digits: Vec<u8> = whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|digit| *digit == b'0')
            .collect();
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        if digits.is_empty() {
            return Self {
                negative: false,
                digits,
                exponent: 0,
            };
        }
        Self {
            negative,
            digits,
            exponent,
        }
    }

    fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    fn to_i64(&self) -> Option<i64> {
        const LONGEST: i64 = 19;
        if !self.is_integer() || self.magnitude() > LONGEST {
            return None;
        }
        let mut value: i64 = 0;
        let zeros = usize::try_from(self.exponent).ok()?;
        for digit in self
            .digits
            .iter()
            .copied()
            .chain(std::iter::repeat_n(b'0', zeros))
        {
            let digit = i64::from(digit - b'0');
            let digit = if self.negative { -digit } else { digit };
            value = value.checked_mul(10)?.checked_add(digit)?;
        }
        Some(value)
    }

    /// Returns the number of digits before the decimal point (negative for leading zeros after it).
    fn magnitude(&self) -> i64 {
        self.exponent
            .saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |d: &Self| {
            if d.digits.is_empty() {
                0
            } else {
                1 - 2 * i8::from(d.negative)
            }
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign != Ordering::Equal {
            return by_sign;
        }
        // Without zeros at either end, equal magnitudes compare digit by digit.
        let size = self
            .magnitude()
            .cmp(&other.magnitude())
            .then(self.digits.cmp(&other.digits));
        if self.negative { size.reverse() } else { size }
    }
}

macro_rules! from_small_integers {
    ($($ty:ty),+) => { $(
        impl From<$ty> for Number {
            fn from(value: $ty) -> Self {
                Self(Repr::Int(value.into()))
            }
        }
    )+ };
}
from_small_integers!(i8, i16, i32, i64, u8, u16, u32);

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self(Repr::Int(value)),
            Err(_) => Self(Repr::Text(value.to_string().into())),
        }
    }
}

/// A float that is infinite or NaN, which JSON cannot express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a JSON number must be finite")]
pub struct NotFinite;

impl TryFrom<f64> for Number {
    type Error = NotFinite;

    fn try_from(value: f64) -> Result<Self, NotFinite> {
        Self::from_f64(value).ok_or(NotFinite)
    }
}

impl FromStr for Number {
    type Err = serde_json::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        serde_json::from_str(text)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(value) => value.fmt(f),
            Repr::Text(text) => f.write_str(text),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Repr::Int(value) => serializer.serialize_i64(*value),
            Repr::Text(text) => write_text(text, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Self::from_json(raw.get()).ok_or_else(|| de::Error::custom("expected a number"))
    }
}

/// Writes text that is already JSON.
pub(crate) fn write_text<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::from_str::<&RawValue>(text)
        .map_err(ser::Error::custom)?
        .serialize(serializer)
}
