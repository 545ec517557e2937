//! The shapes of the types that no macro writes.

use crate::describe::{Describe, Shape, describe};
use crate::{FieldValue, Json, Map, Meta, Number, OneOrMany, RawObject, RequestId, Schema};

describe! {
    Number => Shape::Number;
    RequestId => Shape::RequestId;
    Json => Shape::Any;
    RawObject => Shape::Object;
    Schema => Shape::Schema;
    Meta => Shape::Meta;
    FieldValue => Shape::FieldValue;
}

impl<T: Describe> Describe for OneOrMany<T> {
    fn shape() -> Shape {
        Shape::OneOrMany(Box::new(T::shape()))
    }
}

impl<T: Describe> Describe for Map<T> {
    fn shape() -> Shape {
        Shape::Map(Box::new(T::shape()))
    }
}
