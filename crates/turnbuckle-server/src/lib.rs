//! Write servers of the Model Context Protocol: tools, resources and prompts as typed functions,
//! written once for every revision and every transport.
//!
//! This crate knows no revision, no transport and no byte. A [`Server`] is put together by its
//! [builder](Server::new); a transport takes it from there.
//!
//! ```
//! use turnbuckle_server::{Args, Server, Tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! let greet = Tool::builder("greet")
//!     .description("Greets somebody")
//!     .handler(|Args(greet): Args<Greet>| format!("Hello, {}!", greet.name));
//! let server = Server::new("greeter", "1.0.0").tool(greet).build()?;
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
mod change;
mod completion;
mod context;
mod error;
#[doc(hidden)]
pub mod expand;
mod extension;
mod extract;
mod failure;
mod group;
mod handler;
mod input;
mod item;
mod list;
mod name;
mod output;
mod page;
mod policy;
mod prompt;
mod registry;
mod resource;
mod router;
mod schema;
mod scope;
mod server;
pub mod service;
mod subscription;
mod tool;
mod turns;
mod uri_template;

pub use builder::ServerBuilder;
pub use change::Batch;
pub use completion::{Completer, Typing};
pub use context::{Announcer, Context};
pub use error::BuildError;
pub use extension::{Extension, ExtensionResult};
pub use extract::{
    Args, Cancel, Client, Extract, Http, Incoming, Log, Needs, Progress, RawArguments, State,
};
pub use failure::{Failure, Result};
pub use group::Group;
pub use handler::Handler;
pub use input::{
    Ask, AskError, Asked, IntoSample, Key, KeyRing, NeedsInput, NoRandomness, Question, Roots,
};
pub use item::IntoItem;
pub use output::{Audio, Image, OutputCheck, Structured, ToolOutput};
pub use prompt::{Prompt, PromptBuilder, PromptOutput};
pub use resource::{Reading, Resource, ResourceBuilder, ResourceOutput};
pub use server::Server;
pub use tool::{Tool, ToolBuilder};
pub use turnbuckle_schema::{Objection, Profile, SchemaLimits, lint};
pub use uri_template::{TemplateError, TemplateValue, UriTemplate, Variables};
