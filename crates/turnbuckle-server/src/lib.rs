//! Write servers of the Model Context Protocol: tools, resources and prompts as typed functions,
//! written once for every revision and every transport.
//!
//! This crate knows no revision, no transport and no byte. A [`Server`] is put together by its
//! [builder](Server::builder); a transport takes it from there.
//!
//! ```
//! use turnbuckle_server::{Context, Server, tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! let server = Server::builder("greeter", "1.0.0")
//!     .tool(
//!         tool("greet", async |greet: Greet, _: Context| format!("Hello, {}!", greet.name))
//!             .description("Greets somebody"),
//!     )
//!     .build()?;
//! # Ok::<(), turnbuckle_server::BuildError>(())
//! ```
//!
//! # JSON Schema
//!
//! Two dialects are supported: 2020-12, in which schemas without `$schema` are read and in which
//! those of Rust types are written, and draft-07. A schema of another dialect is an error when the
//! server is built, and so is a reference to another document: nothing is ever fetched. `format` is
//! an annotation.

mod access;
mod builder;
mod cache;
mod catalog;
mod completion;
mod context;
mod error;
mod extension;
mod failure;
mod handler;
mod input;
mod item;
mod list;
mod name;
mod output;
mod page;
mod prompt;
mod resource;
mod router;
mod schema;
mod server;
mod subscription;
mod tool;
mod uri_template;

pub use builder::ServerBuilder;
pub use completion::{Completer, Typing};
pub use context::{Announcer, Context};
pub use error::BuildError;
pub use extension::{Extension, ExtensionResult};
pub use failure::{Failure, Result};
pub use input::{Key, KeyRing, NeedsInput, NoRandomness, Question, Roots};
pub use output::{OutputCheck, Structured, ToolOutput};
pub use prompt::{Prompt, PromptHandler, PromptOutput, prompt};
pub use resource::{
    Reading, Resource, ResourceHandler, ResourceOutput, ResourceTemplate, resource,
    resource_template,
};
pub use server::Server;
pub use tool::{RawArguments, Tool, ToolHandler, tool};
pub use uri_template::{TemplateError, TemplateValue, UriTemplate, Variables};
