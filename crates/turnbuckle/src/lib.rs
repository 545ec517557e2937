//! The Model Context Protocol in Rust, in every revision: any client reaches your server, and your
//! handlers are written once.
//!
//! HTTP clients of 2024-11-05 need HTTP+SSE, which is off by default:
//! `serve_http_with(addr, Config::new().http_sse(true))` adds `/sse` and `/messages`.
//!
//! ```no_run
//! use turnbuckle::prelude::*;
//!
//! /// Add two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! #[tokio::main]
//! async fn main() -> turnbuckle::Result {
//!     Server::new("calc", "1.0.0").tool(add).run().await
//! }
//! ```
//!
//! - The [`prelude`] holds what a server is usually written with: [`Server`], [`Tool`], [`Prompt`],
//!   [`Resource`], the attributes that make them of functions, and what a handler can take and
//!   return. [`types`] is the protocol's vocabulary.
//! - [`Run`] runs a server as a process. [`stdio`] and `http` are the transports behind it, and
//!   [`session`] is for those who bring one of their own.
//! - `Client` reaches any server; what else a client needs is in `client`.
//! - `testing` couples a test to a server, in memory.
//!
//! # Features
//!
//! | feature | on by default | what comes with it |
//! |---|---|---|
//! | `stdio` | yes | a server on the standard streams of its process |
//! | `macros` | yes | the attributes |
//! | `http` | | a server on Streamable HTTP and on HTTP+SSE: `http` |
//! | `client` | | the client: `client`; with `stdio` it runs its servers, with `http` it reaches URLs |
//! | `validate` | | schemas that are written by hand are enforced in full, by a general validator |
//! | `testing` | | the testing kit: `testing`; and with it `client` |
//! | `apps` | | MCP Apps, tools with a user interface: `apps` |

#[cfg(doctest)]
mod guide;
pub mod prelude;
#[cfg(any(feature = "stdio", feature = "http"))]
mod run;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(any(feature = "stdio", feature = "http"))]
pub use run::Run;
#[cfg(feature = "apps")]
pub use turnbuckle_apps as apps;
#[cfg(feature = "client")]
pub use turnbuckle_client as client;
#[cfg(feature = "client")]
pub use turnbuckle_client::{Client, ClientBuilder};
#[cfg(feature = "http")]
pub use turnbuckle_http as http;
#[cfg(feature = "macros")]
pub use turnbuckle_macros::{data, prompt, resource, server, tool};
#[doc(hidden)]
pub use turnbuckle_server::expand as __private;
pub use turnbuckle_session as session;
#[cfg(feature = "stdio")]
pub use turnbuckle_stdio as stdio;
pub use turnbuckle_types as types;
pub use turnbuckle_wire::revision::{EraKind, Features, Revision};

pub use turnbuckle_server::service;
pub use turnbuckle_server::{
    Announcer, Args, Ask, AskError, Asked, Audio, Batch, BuildError, Cancel, Completer, Context,
    Extension, ExtensionResult, Extract, Failure, Group, Handler, Http, Image, Incoming, IntoItem,
    IntoSample, Key, KeyRing, Log, Needs, NeedsInput, NoRandomness, Objection, OutputCheck,
    Profile, Progress, Prompt, PromptBuilder, PromptOutput, Question, RawArguments, Reading,
    Resource, ResourceBuilder, ResourceOutput, Result, Roots, SchemaLimits, Server, ServerBuilder,
    State, Structured, TemplateError, TemplateValue, Tool, ToolBuilder, ToolOutput, Typing,
    UriTemplate, Variables, lint,
};

/// The README's snippets, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
