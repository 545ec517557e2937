//! The usual imports of a server: `use turnbuckle::prelude::*;`.
//!
//! - [`Server`], its items [`Tool`], [`Prompt`] and [`Resource`], and [`Run`] to run it.
//! - The attributes `#[tool]`, `#[prompt]` and `#[resource("…")]` for functions, `#[server]` for
//!   the methods of an `impl` block, and `#[data]` for types that are sent and received.
//! - The lists of functions with an attribute, `tools![…]`, `prompts![…]` and `resources![…]`, and
//!   `item!(…)` for one function.
//! - The extractors of handlers: [`Args`], [`RawArguments`], [`State`], [`Progress`], [`Log`],
//!   [`Cancellation`], [`ClientInfo`], [`Principal`], [`Claims`], [`Meta`], [`Ask`],
//!   [`HttpRequest`], [`HttpExtension`], [`Server`] and [`HandlerContext`]; for resources [`ReadRequest`], for completers [`CompletionRequest`].
//! - [`Provider`] for items that are kept elsewhere, with [`ListRequest`], [`ListPage`] and
//!   [`ItemName`].
//! - The return types [`Structured`], [`Result`] and [`Failure`]: the result and the failure of a
//!   handler. The result of a `main` is [`turnbuckle::Result`](crate::Result).

#[cfg(feature = "macros")]
pub use crate::{item, prompts, resources, tools};
#[cfg(feature = "macros")]
pub use turnbuckle_macros::{IntoFailure, data, prompt, resource, server, tool};
#[cfg(feature = "http")]
pub use turnbuckle_server::HttpExtension;
pub use turnbuckle_server::{
    Args, Ask, AskError, Audio, Cancellation, Claims, ClientInfo, CompletionRequest, Failure,
    Group, HandlerContext, HttpRequest, Image, IntoFailure, ItemName, ListPage, ListRequest, Log,
    Progress, Prompt, Provider, RawArguments, ReadRequest, Resource, Result, Server, State,
    Structured, Tool,
};
pub use turnbuckle_types::{Meta, Principal, ProtocolError};

#[cfg(any(feature = "stdio", feature = "http"))]
pub use crate::Run;
