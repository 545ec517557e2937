//! What the code calls that the attributes write: no API, it changes without notice.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::extract::Extract;
use crate::failure::Failure;
use crate::output::{Structured, ToolOutput};

#[doc(hidden)]
pub use {schemars, serde};

/// What can be an argument of a `K`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a `{K}`",
    label = "neither an argument nor an extractor",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it, or put `#[data]` on it",
    note = "if it implements `Extract`, mark the parameter `#[extract]`"
)]
pub trait Argument<K> {}

#[diagnostic::do_not_recommend]
impl<K, T: DeserializeOwned + JsonSchema + Send + 'static> Argument<K> for T {}

/// Asserts that a parameter can be an argument.
pub fn argument<K, T: Argument<K>>() {}

/// Asserts that a parameter can be an extractor.
pub fn extractor<T: Extract>() {}

/// What structured output can be made from.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing that a tool can return",
    label = "this function's result",
    note = "derive `serde::Serialize` and `schemars::JsonSchema` for it, or put `#[data]` on it: it is then structured output",
    note = "or return text, content (`ContentBlock`, `Image`, `Audio`, several in a `Vec`), a `CallToolResult`, or a `Result` of one"
)]
pub trait Data {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema + Send + 'static> Data for T {}

/// What can be told to a model as an error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a tool",
    label = "this function's error",
    note = "implement `std::fmt::Display` for it: that is what the model reads"
)]
pub trait Fault {}

#[diagnostic::do_not_recommend]
impl<E: Into<Failure> + Send + 'static> Fault for E {}

/// Finds out how a result of this type is told.
#[derive(Debug)]
pub struct Told<T>(PhantomData<T>);

impl<T> Told<T> {
    /// Of the type of a value.
    pub fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

/// The ways to tell a result; a method call finds the first that fits.
pub mod ways {
    use super::{AsData, AsIs, AsResult, PhantomData, Told};
    use crate::output::ToolOutput;

    /// What a tool can return as it is.
    pub trait Output {
        /// This way.
        fn way(&self) -> AsIs {
            AsIs
        }
    }

    impl<T: ToolOutput> Output for &&Told<T> {}

    /// A result of data.
    pub trait Either {
        /// This way.
        fn way(&self) -> AsResult {
            AsResult
        }
    }

    impl<T, E> Either for &Told<Result<T, E>> {}

    /// Other data.
    pub trait Other<T> {
        /// This way.
        fn way(&self) -> AsData<T> {
            AsData(PhantomData)
        }
    }

    impl<T> Other<T> for Told<T> {}
}

/// It goes out as it is.
#[derive(Debug)]
pub struct AsIs;

impl AsIs {
    /// Tells it.
    pub fn tell<T: ToolOutput>(self, output: T) -> T {
        output
    }
}

/// Its data is wrapped, its error is told.
#[derive(Debug)]
pub struct AsResult;

impl AsResult {
    /// Tells it.
    ///
    /// # Errors
    /// As it is.
    pub fn tell<T: Data, E: Fault>(self, output: Result<T, E>) -> Result<Structured<T>, E> {
        output.map(Structured)
    }
}

/// It is wrapped.
#[derive(Debug)]
pub struct AsData<T>(PhantomData<T>);

impl<T> AsData<T> {
    /// Tells it.
    pub fn tell(self, output: T) -> Structured<T>
    where
        T: Data,
    {
        Structured(output)
    }
}
