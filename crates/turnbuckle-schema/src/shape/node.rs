//! A schema, laid out to be held against text.

use std::cmp::Ordering;

use regex_lite::Regex;
use serde_json::{Number, Value};

use super::decimal::Decimal;

/// The place of a node in its shape.
pub(crate) type Id = usize;

/// What one subschema demands. The default demands nothing.
#[derive(Debug)]
pub(crate) struct Node {
    /// The kinds of values that `type`, `enum` and `const` leave over.
    pub(crate) kinds: Kinds,
    /// The only values there are, of `enum` and `const`.
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) number: Option<Box<Range>>,
    pub(crate) text: Option<Box<Text>>,
    pub(crate) array: Option<Box<Array>>,
    pub(crate) object: Option<Box<Object>>,
    /// Further nodes that the same value must fit: `allOf` and `$ref`.
    pub(crate) all: Vec<Id>,
    /// Nodes of which one must fit: `anyOf`.
    pub(crate) any: Option<Vec<Id>>,
    /// Nodes of which exactly one must fit: `oneOf`.
    pub(crate) one: Option<Vec<Id>>,
}

impl Node {
    pub(crate) const ANYTHING: Self = Self {
        kinds: Kinds::ALL,
        options: None,
        number: None,
        text: None,
        array: None,
        object: None,
        all: Vec::new(),
        any: None,
        one: None,
    };
}

/// The bounds of a number.
#[derive(Debug, Default)]
pub(crate) struct Range {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) above: Option<Number>,
    pub(crate) below: Option<Number>,
    pub(crate) multiple_of: Option<Number>,
}

/// What a text must be like. Lengths are in characters.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) length: Length,
    pub(crate) pattern: Option<Pattern>,
}

/// How many there may be.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Length {
    pub(crate) least: Option<u64>,
    pub(crate) most: Option<u64>,
}

impl Length {
    pub(crate) fn admits(self, count: u64) -> bool {
        self.least.is_none_or(|least| count >= least) && self.most.is_none_or(|most| count <= most)
    }

    pub(crate) fn is_open(self) -> bool {
        self.least.is_none() && self.most.is_none()
    }
}

/// A pattern and what it costs.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) regex: Regex,
    /// Of one match, for every byte of the text.
    pub(crate) states: u64,
}

/// What an array must be like.
#[derive(Debug, Default)]
pub(crate) struct Array {
    pub(crate) first: Vec<Id>,
    pub(crate) rest: Option<Id>,
    pub(crate) length: Length,
    pub(crate) unique: bool,
}

/// What an object must be like.
#[derive(Debug, Default)]
pub(crate) struct Object {
    /// The members that are named, by name.
    pub(crate) members: Vec<Member>,
    pub(crate) patterns: Vec<(Pattern, Id)>,
    /// Of all other members.
    pub(crate) rest: Option<Id>,
    /// Whether other members are refused.
    pub(crate) closed: bool,
    pub(crate) length: Length,
}

impl Object {
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.members
            .binary_search_by(|member| (*member.name).cmp(name))
            .ok()
    }
}

/// A member that `properties` or `required` names.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: Box<str>,
    /// Its node, if `properties` has it.
    pub(crate) node: Option<Id>,
    pub(crate) required: bool,
}

/// A set of kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// A number that is not an integer.
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(12);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// The kinds that `type` names so.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    pub(crate) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => Num::of(number).kind(),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A number as it is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Num {
    Int(i128),
    Float(f64),
}

impl Num {
    pub(crate) fn of(number: &Number) -> Self {
        let int = number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from));
        match int {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// The number that this text of JSON is, read as wide as numbers in JSON values are.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let int = text
            .parse::<i64>()
            .map(i128::from)
            .or_else(|_| text.parse::<u64>().map(i128::from));
        match int {
            Ok(int) => Some(Self::Int(int)),
            Err(_) => {
                let float = text.parse::<f64>().ok().filter(|float| float.is_finite());
                float.map(Self::Float)
            }
        }
    }

    pub(crate) fn kind(self) -> Kinds {
        match self {
            Self::Int(_) => Kinds::INTEGER,
            Self::Float(float) if float.fract() == 0.0 => Kinds::INTEGER,
            Self::Float(_) => Kinds::FRACTION,
        }
    }

    pub(crate) fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(one), Self::Int(two)) => Some(one.cmp(&two)),
            (Self::Float(one), Self::Float(two)) => one.partial_cmp(&two),
            (Self::Int(one), Self::Float(two)) => compare_mixed(one, two),
            (Self::Float(one), Self::Int(two)) => compare_mixed(two, one).map(Ordering::reverse),
        }
    }

    pub(crate) fn is_multiple_of(self, unit: Self) -> bool {
        if let (Self::Int(one), Self::Int(unit)) = (self, unit) {
            return one.checked_rem(unit) == Some(0);
        }
        match (self.decimal(), unit.decimal()) {
            (Some(one), Some(unit)) => one.is_multiple_of(unit),
            _ => false,
        }
    }

    /// The integer that it is, exactly.
    pub(crate) fn whole(self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 1e38 => Some(float as i128),
            Self::Float(_) => None,
        }
    }

    fn decimal(self) -> Option<Decimal> {
        match self {
            Self::Int(int) => Decimal::of_int(int),
            Self::Float(float) => Decimal::of_float(float),
        }
    }
}

/// Exact, although a float cannot hold every integer. Casts saturate.
fn compare_mixed(int: i128, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        return None;
    }
    let whole = float.trunc() as i128;
    Some(int.cmp(&whole).then_with(|| {
        if float.fract() > 0.0 {
            Ordering::Less
        } else if float.fract() < 0.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }))
}
