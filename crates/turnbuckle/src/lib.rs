//! The Model Context Protocol in Rust, in every revision: any client reaches your server, and your
//! handlers are written once.
//!
//! ```
//! use turnbuckle::{Context, Server, stdio, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! # async fn start() -> Result<(), Box<dyn std::error::Error>> {
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool(tool("greet", async |greet: Greet, _: Context| format!("Hello, {}!", greet.name)))
//!     .build()?;
//! stdio::run(server, stdio::StdioOptions::default()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - [`Server`] and the functions [`tool`], [`prompt`], [`resource`] and [`resource_template`] are
//!   what a server is written with; [`types`] is the protocol's vocabulary.
//! - [`Client`] reaches any server; what else a client needs is in [`client`].
//! - [`stdio`] and [`http`] carry both; [`session`] is for those who bring a transport of their
//!   own.

pub use turnbuckle_client as client;
pub use turnbuckle_client::{Client, ClientBuilder};
pub use turnbuckle_http as http;
pub use turnbuckle_session as session;
pub use turnbuckle_stdio as stdio;
pub use turnbuckle_types as types;

pub use turnbuckle_server::{
    BuildError, Completer, Context, Extension, ExtensionResult, Failure, Key, KeyRing, NeedsInput,
    NoRandomness, Prompt, PromptHandler, PromptOutput, Question, RawArguments, Reading, Resource,
    ResourceHandler, ResourceOutput, ResourceTemplate, Result, Roots, Server, ServerBuilder,
    Structured, TemplateError, TemplateValue, Tool, ToolHandler, ToolOutput, Typing, UriTemplate,
    Variables, prompt, resource, resource_template, tool,
};

/// The README's snippets, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
