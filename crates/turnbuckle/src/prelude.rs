//! What a server is usually written with: `use turnbuckle::prelude::*;`.
//!
//! - [`Server`], and what it offers: [`Tool`], [`Prompt`], [`Resource`]; [`Run`] is what runs it.
//! - The attributes that make them of functions: `#[tool]`, `#[prompt]`, `#[resource("…")]`, and
//!   `#[server]` for the methods of an `impl` block; `#[data]` makes a type one that travels.
//! - What a handler can take: [`Args`] or [`RawArguments`], [`State`], [`Progress`], [`Log`],
//!   [`Cancel`], [`Client`] (who asks), [`Meta`], [`Ask`], [`Http`], [`Context`] (who asks,
//!   the way back and the server, in one), and of a resource [`Reading`], of a completer
//!   [`Typing`].
//! - What it can return beside what it means: [`Structured`], [`Result`] and [`Failure`].
//!
//! [`Client`] is the one who asks. The client that reaches servers is `turnbuckle::Client`, with the
//! feature `client`; an import by its name goes before this one.

#[cfg(feature = "macros")]
pub use turnbuckle_macros::{data, prompt, resource, server, tool};
pub use turnbuckle_server::{
    Args, Ask, AskError, Audio, Cancel, Client, Context, Failure, Group, Http, Image, Log,
    Progress, Prompt, RawArguments, Reading, Resource, Result, Server, State, Structured, Tool,
    Typing,
};
pub use turnbuckle_types::Meta;

#[cfg(any(feature = "stdio", feature = "http"))]
pub use crate::Run;
