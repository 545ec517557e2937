//! Error types that handlers can return.

use std::convert::Infallible;
use std::num::{ParseFloatError, ParseIntError};
use std::str::Utf8Error;
use std::string::FromUtf8Error;
use std::{fmt, io};

use turnbuckle_types::ProtocolError;

use crate::error::BuildError;
use crate::error::failure::{BoxError, Failure};
use crate::error::{AskError, NeedsInput};

/// An error type that a handler can return, as in `Result<String, ShopError>`: it says for each error
/// what the client reads.
///
/// Derive it for an enum of your own, with an attribute for each variant:
///
/// ```ignore
/// #[derive(Debug, thiserror::Error, turnbuckle::IntoFailure)]
/// enum ShopError {
///     #[error("there is no article {0}; `search` finds articles")]
///     #[failure(model)]
///     NoArticle(String),
///     #[error("there are 99 pages")]
///     #[failure(protocol = invalid_params)]
///     NoPage,
///     #[error("the database failed")]
///     #[failure(hidden)]
///     Database(#[from] std::io::Error),
/// }
/// ```
///
/// It is implemented for [`Failure`], text, `Box<dyn Error + Send + Sync>` and errors of turnbuckle and
/// the standard library. Every other error, `anyhow::Error` too, can be returned by a function with an
/// attribute, or becomes a [`Failure`] by `?` in a handler that returns [`Result<T>`](crate::Result).
///
/// `?` in such a handler does not know this trait: it makes every error a failure as if it were a
/// foreign one. Return `Result<T, ShopError>`, or convert: `.map_err(IntoFailure::into_failure)?`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a handler",
    label = "not the error of a handler",
    note = "return `turnbuckle::prelude::Result<T>`: `?` converts every error to its `Failure`",
    note = "or say what clients read of it: `#[derive(turnbuckle::IntoFailure)]` with `#[failure(model)]`, `#[failure(protocol = …)]` or `#[failure(hidden)]` on each variant"
)]
pub trait IntoFailure {
    /// Converts the error into a failure: [`Failure::for_model`] for a text that the model should
    /// read, a [`ProtocolError`] by `into()`, [`Failure::hidden`] for
    /// what no client should read.
    fn into_failure(self) -> Failure;
}

impl IntoFailure for Failure {
    fn into_failure(self) -> Failure {
        self
    }
}

/// Errors that `?` converts.
macro_rules! converted {
    ($($Error:ty),* $(,)?) => {$(
        impl IntoFailure for $Error {
            fn into_failure(self) -> Failure {
                self.into()
            }
        }
    )*};
}

converted! {
    AskError,
    BoxError,
    BuildError,
    NeedsInput,
    ProtocolError,
    String,
    &'static str,
    fmt::Error,
    io::Error,
    Infallible,
    ParseFloatError,
    ParseIntError,
    FromUtf8Error,
    Utf8Error,
}
