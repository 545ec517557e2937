//! The rules of a compiled schema.

use std::cmp::Ordering;

use regex_lite::Regex;
use serde_json::{Number, Value};

use super::decimal::Decimal;

/// The index of a node.
pub(crate) type NodeId = usize;

/// The rules of one subschema.
#[derive(Debug)]
pub(crate) struct Node {
    /// The types that `type`, `enum` and `const` allow.
    pub(crate) types: TypeSet,
    /// The only allowed values, from `enum` and `const`.
    pub(crate) options: Option<Vec<Value>>,
    pub(crate) number: Option<Box<NumberRules>>,
    pub(crate) text: Option<Box<StringRules>>,
    pub(crate) array: Option<Box<ArrayRules>>,
    pub(crate) object: Option<Box<ObjectRules>>,
    /// Nodes that the same value must match: `allOf` and `$ref`.
    pub(crate) all_of: Vec<NodeId>,
    /// Nodes of which at least one must match: `anyOf`.
    pub(crate) any_of: Option<Vec<NodeId>>,
    /// Nodes of which exactly one must match: `oneOf`.
    pub(crate) one_of: Option<Vec<NodeId>>,
}

impl Node {
    pub(crate) const ANYTHING: Self = Self {
        types: TypeSet::ALL,
        options: None,
        number: None,
        text: None,
        array: None,
        object: None,
        all_of: Vec::new(),
        any_of: None,
        one_of: None,
    };

    /// Returns whether the node has rules for the contents of an array or object.
    pub(crate) fn constrains_contents(&self, kind: TypeSet) -> bool {
        match kind {
            TypeSet::OBJECT => self.object.is_some(),
            _ => self.array.is_some(),
        }
    }
}

/// The keywords that bound numbers.
#[derive(Debug, Default)]
pub(crate) struct NumberRules {
    pub(crate) minimum: Option<Number>,
    pub(crate) maximum: Option<Number>,
    pub(crate) exclusive_minimum: Option<Number>,
    pub(crate) exclusive_maximum: Option<Number>,
    pub(crate) multiple_of: Option<Number>,
}

impl NumberRules {
    /// Returns whether a number is in the range and a multiple of the unit.
    pub(crate) fn allows(&self, number: NumericValue) -> bool {
        use Ordering::{Equal, Greater, Less};
        let holds = |bound: &Option<Number>, allowed: &[Ordering]| {
            bound.as_ref().is_none_or(|bound| {
                let order = number.compare(NumericValue::of_number(bound));
                order.is_some_and(|order| allowed.contains(&order))
            })
        };
        holds(&self.minimum, &[Equal, Greater])
            && holds(&self.maximum, &[Equal, Less])
            && holds(&self.exclusive_minimum, &[Greater])
            && holds(&self.exclusive_maximum, &[Less])
            && self
                .multiple_of
                .as_ref()
                .is_none_or(|unit| number.is_multiple_of(NumericValue::of_number(unit)))
    }
}

/// The rules of a string. Lengths are in characters.
#[derive(Debug, Default)]
pub(crate) struct StringRules {
    pub(crate) length: CountRange,
    pub(crate) pattern: Option<CompiledPattern>,
}

/// The allowed range of a count.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CountRange {
    pub(crate) min: Option<u64>,
    pub(crate) max: Option<u64>,
}

impl CountRange {
    pub(crate) fn contains(self, count: u64) -> bool {
        self.min.is_none_or(|least| count >= least) && self.max.is_none_or(|most| count <= most)
    }

    pub(crate) fn is_unbounded(self) -> bool {
        self.min.is_none() && self.max.is_none()
    }
}

/// A pattern and its cost.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    pub(crate) regex: Regex,
    /// The cost of a match for every byte of the text.
    pub(crate) states: u64,
}

/// The keywords about the items of arrays.
#[derive(Debug, Default)]
pub(crate) struct ArrayRules {
    pub(crate) prefix: Vec<NodeId>,
    pub(crate) rest: Option<NodeId>,
    pub(crate) length: CountRange,
    pub(crate) unique: bool,
}

/// The keywords about the members of objects.
#[derive(Debug, Default)]
pub(crate) struct ObjectRules {
    /// The declared members, sorted by name.
    pub(crate) members: Vec<MemberRule>,
    pub(crate) patterns: Vec<(CompiledPattern, NodeId)>,
    /// The node of all other members.
    pub(crate) rest: Option<NodeId>,
    /// True if other members are refused.
    pub(crate) is_closed: bool,
    pub(crate) length: CountRange,
}

impl ObjectRules {
    pub(crate) fn member_index(&self, name: &str) -> Option<usize> {
        self.members
            .binary_search_by(|member| (*member.name).cmp(name))
            .ok()
    }
}

/// A member that `properties` or `required` names.
#[derive(Debug)]
pub(crate) struct MemberRule {
    pub(crate) name: Box<str>,
    /// The node of the member, if `properties` has one.
    pub(crate) node: Option<NodeId>,
    pub(crate) required: bool,
}

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeSet(u8);

impl TypeSet {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const NULL: Self = Self(1);
    pub(crate) const BOOLEAN: Self = Self(2);
    pub(crate) const INTEGER: Self = Self(4);
    /// Numbers that are not integers.
    pub(crate) const FRACTION: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(12);
    pub(crate) const STRING: Self = Self(16);
    pub(crate) const ARRAY: Self = Self(32);
    pub(crate) const OBJECT: Self = Self(64);
    pub(crate) const ALL: Self = Self(127);

    /// Returns the types that a value of `type` means.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
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

    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) => NumericValue::of_number(number).json_type(),
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    pub(crate) fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// A number that can be compared.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumericValue {
    Int(i128),
    Float(f64),
}

impl NumericValue {
    pub(crate) fn of_number(number: &Number) -> Self {
        let int = number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from));
        match int {
            Some(int) => Self::Int(int),
            None => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
        }
    }

    /// Parses JSON number text with the range of JSON values in serde_json.
    pub(crate) fn parse(text: &str) -> Option<Self> {
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

    pub(crate) fn json_type(self) -> TypeSet {
        match self {
            Self::Int(_) => TypeSet::INTEGER,
            Self::Float(float) if float.fract() == 0.0 => TypeSet::INTEGER,
            Self::Float(_) => TypeSet::FRACTION,
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

    /// Returns the number as an integer if that is exact.
    pub(crate) fn as_integer(self) -> Option<i128> {
        match self {
            Self::Int(int) => Some(int),
            Self::Float(float) if float.fract() == 0.0 && float.abs() < 1e38 => Some(float as i128),
            Self::Float(_) => None,
        }
    }

    fn decimal(self) -> Option<Decimal> {
        match self {
            Self::Int(int) => Decimal::from_int(int),
            Self::Float(float) => Decimal::from_float(float),
        }
    }
}

/// Compares an integer with a float exactly, although floats do not represent every integer. Casts
/// saturate.
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
