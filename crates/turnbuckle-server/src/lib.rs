//! Build servers for the Model Context Protocol: tools, resources and prompts as typed functions,
//! written once for every revision and every transport.
//!
//! A [`Server`] is put together by its [builder](Server::new) from [`Tool`]s, [`Resource`]s,
//! [`Prompt`]s and [`Group`]s, and served by a transport: turnbuckle-stdio or turnbuckle-http. The
//! `turnbuckle` crate has all of them, and the attributes that make items of functions.
//!
//! ```
//! use turnbuckle_server::{Args, Server, Tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Greet {
//!     /// The name of the person to greet.
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
//! # Handlers
//!
//! A [`Handler`] is a function whose parameters are [extractors](Extract): [`Args`] for the
//! arguments, [`State`] for what handlers share, [`Progress`], [`Log`], [`Cancellation`], [`Ask`]
//! to ask the client a question, [`HandlerContext`] for everything else. Its output is a
//! [`ToolOutput`], [`PromptOutput`] or [`ResourceOutput`], or a [`Result`] of one.
//!
//! # JSON Schema
//!
//! Two dialects are supported: 2020-12, which schemas without `$schema` have and in which schemas of
//! Rust types are written, and draft-07. A schema in another dialect is an error when the server is
//! built, and so is a reference to another document: nothing is ever fetched. `format` is an
//! annotation.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod catalog;
mod error;
// Hidden, since only the code that the attributes generate uses it.
#[doc(hidden)]
pub mod expand;
mod handler;
mod items;
pub mod middleware;
mod name_rules;
mod request;
mod schema;
mod server;
pub mod service;

pub use error::failure::{Failure, Result};
pub use error::into_failure::IntoFailure;
pub use error::{AskError, BuildError, NeedsInput};
pub use handler::Handler;
pub use handler::output::prompt::PromptOutput;
pub use handler::output::resource::ResourceOutput;
pub use handler::output::tool::{OutputValidator, Structured, ToolOutput};
pub use items::completion::Completer;
pub use items::group::Group;
pub use items::prompt::Prompt;
pub use items::provider::{ProvidedItem, Provider};
pub use items::resource::Resource;
pub use items::tool::{TaskSupport, Tool};
pub use items::{IntoItem, NoHandler};
pub use request::completion::CompletionRequest;
pub use request::context::{ElicitationNotifier, HandlerContext};
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
pub use request::extract::HttpExtension;
pub use request::extract::{
    Args, Cancellation, Claims, ClientInfo, Extract, HandlerRequirements, HttpRequest, Invocation,
    Log, Progress, ProgressValue, RawArguments, State,
};
pub use request::input::{AnswerFuture, Ask, IntoSamplingRequest, Question, Roots};
pub use request::list::{ItemName, ListPage, ListRequest};
pub use request::read::ReadRequest;
pub use server::Server;
pub use server::builder::ServerBuilder;
pub use server::extension::{
    AcceptedFilter, Background, Extension, ExtensionResult, UndeclaredPolicy,
};
pub use server::subscriber::Subscriber;
#[cfg(feature = "tasks")]
#[cfg_attr(docsrs, doc(cfg(feature = "tasks")))]
pub use server::tasks::Tasks;
pub use server::update::ServerUpdate;
pub use turnbuckle_schema::{Objection, Profile, SchemaLimits, lint};
pub use turnbuckle_types::base::random::RandomnessUnavailable;
pub use turnbuckle_types::{
    Audio, File, Image, KeyError, KeyRing, SecretKey, TemplateError, TemplateValue,
    TemplateVariables, UriTemplate,
};

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
