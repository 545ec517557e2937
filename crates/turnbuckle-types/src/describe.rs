//! The shapes of the types on the wire, as data that JSON Schemas are made of.
//!
//! The macros that write the types describe them too, so that no name, kind or value stands twice.
//! A shape holds the fields of all revisions; which of them a revision has is decided elsewhere.

/// A type that can describe its form on the wire.
pub trait Describe {
    /// Returns the form of the type's values on the wire.
    fn shape() -> Shape;
}

/// The form of a value on the wire.
#[derive(Debug, Clone)]
pub enum Shape {
    /// Any JSON value.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A string, with the format that JSON Schema has for it.
    String(Option<&'static str>),
    /// An integer.
    Integer,
    /// An integer or `null`.
    NullableInteger,
    /// A number.
    Number,
    /// A number from 0 to 1.
    Fraction,
    /// The value of a form's field.
    FieldValue,
    /// A request id.
    RequestId,
    /// A progress token.
    ProgressToken,
    /// A `_meta` object.
    Meta,
    /// A JSON Schema that an author wrote.
    Schema,
    /// An object with any members.
    Object,
    /// An object of settings, of which the specification says nothing.
    Settings,
    /// Answers to questions.
    InputResponses,
    /// A list.
    List(Box<Self>),
    /// One value or a list of them.
    OneOrMany(Box<Self>),
    /// An object whose names are data.
    Map(Box<Self>),
    /// One of several strings.
    Words(WordsShape),
    /// An object with named members.
    Struct(StructShape),
    /// One of several shapes.
    Union(UnionShape),
}

/// The form of a type that is one of several strings.
#[derive(Debug, Clone)]
pub struct WordsShape {
    /// The name of the type.
    pub name: &'static str,
    /// The strings.
    pub values: Vec<&'static str>,
}

/// The form of a type with named fields.
#[derive(Debug, Clone)]
pub struct StructShape {
    /// The name of the type.
    pub name: &'static str,
    /// The member with a constant value, and that value.
    pub tag: Option<(&'static str, &'static str)>,
    /// The fields in the order of their declaration.
    pub fields: Vec<FieldShape>,
}

/// The form of one field.
#[derive(Debug, Clone)]
pub struct FieldShape {
    /// The name of the field in its type.
    pub field: &'static str,
    /// The name of the member on the wire.
    pub key: &'static str,
    /// True if every value has the member.
    pub is_required: bool,
    /// The form of the value.
    pub shape: Shape,
}

/// The form of a type that is one of several others.
#[derive(Debug, Clone)]
pub struct UnionShape {
    /// The name of the type.
    pub name: &'static str,
    /// The variants by name.
    pub variants: Vec<(&'static str, Shape)>,
}

// The forms that `is form` names in a table of fields.
impl Shape {
    /// Describes a URI.
    pub(crate) fn uri(self) -> Self {
        Self::String(Some("uri"))
    }

    /// Describes a URI template.
    pub(crate) fn uri_template(self) -> Self {
        Self::String(Some("uri-template"))
    }

    /// Describes bytes in Base64.
    pub(crate) fn base64(self) -> Self {
        Self::String(Some("byte"))
    }

    /// Describes a number without a fraction.
    pub(crate) fn integer(self) -> Self {
        Self::Integer
    }

    /// Describes a number from 0 to 1.
    pub(crate) fn fraction(self) -> Self {
        Self::Fraction
    }

    /// Describes settings, or a map of them.
    pub(crate) fn settings(self) -> Self {
        match self {
            Self::Map(_) => Self::Map(Box::new(Self::Settings)),
            _ => Self::Settings,
        }
    }

    /// Describes a progress token, which has the Rust type of a request id.
    pub(crate) fn progress_token(self) -> Self {
        Self::ProgressToken
    }

    /// Describes answers to questions, which are kept as raw JSON.
    pub(crate) fn input_responses(self) -> Self {
        Self::InputResponses
    }
}

macro_rules! describe {
    ($($Type:ty => $shape:expr;)+) => { $(
        impl $crate::describe::Describe for $Type {
            fn shape() -> $crate::describe::Shape {
                $shape
            }
        }
    )+ };
}
pub(crate) use describe;

describe! {
    bool => Shape::Boolean;
    i64 => Shape::Integer;
    u64 => Shape::Integer;
    String => Shape::String(None);
}

impl<T: Describe> Describe for Box<T> {
    fn shape() -> Shape {
        T::shape()
    }
}

impl<T: Describe> Describe for Vec<T> {
    fn shape() -> Shape {
        Shape::List(Box::new(T::shape()))
    }
}
