//! The check that a constraint of `#[schema(…)]` fits the type of its parameter or field.
//!
//! The types of the standard library and those with `#[data]` have a [`HasValueKind`]: a constraint
//! that does not fit one of them is a compile error. The schema of any other type is checked when
//! the server is built.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::marker::PhantomData;

use schemars::Schema;
use schemars::transform::Transform;
use serde_json::Value;

/// The kind of JSON value that a type is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Text.
    Text,
    /// An integer or another number.
    Number,
    /// A list of items.
    List,
    /// An object whose members the sender names.
    Map,
    /// An object with the members of its type.
    Struct,
    /// `true` or `false`.
    Boolean,
    /// Known only to the schema of the type.
    Unknown,
}

/// A type whose kind of JSON value is known to the compiler.
pub trait HasValueKind {
    /// The kind.
    const KIND: ValueKind;
}

/// Finds the kind of any type: `<KindProbe<T>>::KIND` is that of [`HasValueKind`] if `T` implements
/// it, and otherwise that of [`UnknownKind`], which must be in scope.
#[derive(Debug)]
pub struct KindProbe<T: ?Sized>(PhantomData<T>);

impl<T: HasValueKind + ?Sized> KindProbe<T> {
    /// The kind of `T`.
    pub const KIND: ValueKind = T::KIND;
}

/// The kind of a type that does not implement [`HasValueKind`].
pub trait UnknownKind {
    /// The kind.
    const KIND: ValueKind = ValueKind::Unknown;
}

impl<T: ?Sized> UnknownKind for KindProbe<T> {}

macro_rules! kinds {
    ($($Kind:ident: $([$($generics:tt)*] $Type:ty),+ $(,)?;)*) => {$($(
        impl<$($generics)*> HasValueKind for $Type {
            const KIND: ValueKind = ValueKind::$Kind;
        }
    )+)*};
}

kinds! {
    Text: [] str, [] String, [] char, [] std::path::Path, [] std::path::PathBuf,
        [] std::net::IpAddr, [] std::net::Ipv4Addr, [] std::net::Ipv6Addr;
    Number: [] i8, [] i16, [] i32, [] i64, [] i128, [] isize, [] u8, [] u16, [] u32, [] u64,
        [] u128, [] usize, [] f32, [] f64, [] serde_json::Number,
        [] std::num::NonZeroI8, [] std::num::NonZeroI16, [] std::num::NonZeroI32,
        [] std::num::NonZeroI64, [] std::num::NonZeroIsize, [] std::num::NonZeroU8,
        [] std::num::NonZeroU16, [] std::num::NonZeroU32, [] std::num::NonZeroU64,
        [] std::num::NonZeroUsize;
    List: [T] Vec<T>, [T] [T], [T, const N: usize] [T; N], [T] VecDeque<T>, [T] LinkedList<T>,
        [T] BinaryHeap<T>, [T, S] HashSet<T, S>, [T] BTreeSet<T>;
    Map: [K, V, S] HashMap<K, V, S>, [K, V] BTreeMap<K, V>, [] serde_json::Map<String, Value>;
    Struct: [] std::time::Duration, [] std::time::SystemTime;
    Boolean: [] bool;
}

macro_rules! wrappers {
    ($($Wrapper:ty),+ $(,)?) => {$(
        impl<T: HasValueKind> HasValueKind for $Wrapper {
            const KIND: ValueKind = T::KIND;
        }
    )+};
}

wrappers!(Option<T>, std::num::Wrapping<T>, std::cell::Cell<T>);

macro_rules! pointers {
    ($($Pointer:ty),+ $(,)?) => {$(
        impl<T: HasValueKind + ?Sized> HasValueKind for $Pointer {
            const KIND: ValueKind = T::KIND;
        }
    )+};
}

pointers!(
    &T,
    Box<T>,
    std::rc::Rc<T>,
    std::sync::Arc<T>,
    std::cell::RefCell<T>,
    std::sync::Mutex<T>,
    std::sync::RwLock<T>,
);

impl<T: HasValueKind + ToOwned + ?Sized> HasValueKind for std::borrow::Cow<'_, T> {
    const KIND: ValueKind = T::KIND;
}

/// A key of `#[schema(…)]` that limits values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constraint {
    /// `min`
    Min,
    /// `max`
    Max,
    /// `exclusive_min`
    ExclusiveMin,
    /// `exclusive_max`
    ExclusiveMax,
    /// `multiple_of`
    MultipleOf,
    /// `min_len`
    MinLen,
    /// `max_len`
    MaxLen,
    /// `pattern`
    Pattern,
    /// `format`
    Format,
}

/// Asserts that a constraint fits the kind of its type, when the program is compiled.
///
/// # Panics
/// If it does not fit: the compiler prints the message as its error.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "the compiler evaluates it and prints the message"
)]
pub const fn assert_fits(constraint: Constraint, kind: ValueKind) {
    use Constraint as C;
    use ValueKind as V;
    let message = match (constraint, kind) {
        (_, V::Unknown)
        | (C::Min | C::Max | C::ExclusiveMin | C::ExclusiveMax | C::MultipleOf, V::Number)
        | (C::MinLen | C::MaxLen, V::Text | V::List | V::Map)
        | (C::Pattern, V::Text)
        | (C::Format, V::Text | V::Number) => return,
        (C::Min, V::Text) => "`min` is for numbers: the least length of text is `min_len`",
        (C::Max, V::Text) => "`max` is for numbers: the greatest length of text is `max_len`",
        (C::Min, V::List | V::Map) => {
            "`min` is for numbers: the least number of items is `min_len`"
        }
        (C::Max, V::List | V::Map) => {
            "`max` is for numbers: the greatest number of items is `max_len`"
        }
        (C::Min, _) => "`min` is for numbers",
        (C::Max, _) => "`max` is for numbers",
        (C::ExclusiveMin, V::Text | V::List | V::Map) => {
            "`exclusive_min` is for numbers: the least length is `min_len`"
        }
        (C::ExclusiveMax, V::Text | V::List | V::Map) => {
            "`exclusive_max` is for numbers: the greatest length is `max_len`"
        }
        (C::ExclusiveMin, _) => "`exclusive_min` is for numbers",
        (C::ExclusiveMax, _) => "`exclusive_max` is for numbers",
        (C::MultipleOf, _) => "`multiple_of` is for numbers",
        (C::MinLen, V::Number) => {
            "`min_len` is for text, lists and maps: the least value of a number is `min`"
        }
        (C::MaxLen, V::Number) => {
            "`max_len` is for text, lists and maps: the greatest value of a number is `max`"
        }
        (C::MinLen, _) => "`min_len` is for text, lists and maps",
        (C::MaxLen, _) => "`max_len` is for text, lists and maps",
        (C::Pattern, V::Number) => {
            "`pattern` is for text: numbers have `min`, `max` and `multiple_of`"
        }
        (C::Pattern, V::List | V::Map) => {
            "`pattern` is for text: for items, put it into a type with `#[data]`, such as \
             `struct Code(#[schema(pattern = \"…\")] String);`"
        }
        (C::Pattern, _) => "`pattern` is for text",
        (C::Format, _) => "`format` is for text and numbers",
    };
    panic!("{}", message);
}

/// The keys `min_len` and `max_len`: a schema transform that adds the keywords for the kind of the
/// type.
#[derive(Debug, Clone)]
pub struct Length {
    kind: ValueKind,
    min: Option<Value>,
    max: Option<Value>,
}

impl Length {
    /// Creates the transform for types of a kind.
    #[must_use]
    pub fn for_kind(kind: ValueKind) -> Self {
        Self {
            kind,
            min: None,
            max: None,
        }
    }

    /// Sets the least length.
    #[must_use]
    pub fn min(mut self, min: impl Into<Value>) -> Self {
        self.min = Some(min.into());
        self
    }

    /// Sets the greatest length.
    #[must_use]
    pub fn max(mut self, max: impl Into<Value>) -> Self {
        self.max = Some(max.into());
        self
    }
}

impl Transform for Length {
    /// Adds the keywords. Of a type that only its schema knows, all are added that may be meant:
    /// each holds for one kind of values, and the check of the schema refuses it if none fits.
    fn transform(&mut self, schema: &mut Schema) {
        let names: &[(&str, &str)] = match self.kind {
            ValueKind::Text => &[TEXT_LENGTH],
            ValueKind::List => &[LIST_LENGTH],
            ValueKind::Map | ValueKind::Struct => &[MAP_LENGTH],
            _ => &[TEXT_LENGTH, LIST_LENGTH, MAP_LENGTH],
        };
        for (least, most) in names {
            for (name, value) in [(least, &self.min), (most, &self.max)] {
                if let Some(value) = value {
                    schema.insert((*name).to_owned(), value.clone());
                }
            }
        }
    }
}

const TEXT_LENGTH: (&str, &str) = ("minLength", "maxLength");
const LIST_LENGTH: (&str, &str) = ("minItems", "maxItems");
const MAP_LENGTH: (&str, &str) = ("minProperties", "maxProperties");
