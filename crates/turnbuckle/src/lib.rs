//! The Model Context Protocol (MCP) for Rust, in every revision: servers, clients and transports.
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
//!     Server::new("calc", "1.0.0").tools(tools![add]).run().await
//! }
//! ```
//!
//! - The [`prelude`] exports the usual names for a server: [`Server`], [`Tool`], [`Prompt`],
//!   [`Resource`], the attributes, and the types that handlers take and return. [`types`] has the
//!   types of the specification.
//! - [`Run`] runs a server as a process; [`Error`] is what can go wrong in a program. [`Failure`]
//!   is the failure of a handler. [`stdio`] and `http` are the transports; [`session`] has
//!   limits, and the traits for transports of your own.
//! - `Client` connects to any server; `client` has the rest of the client.
//! - `testing` connects a test to a server in memory.
//!
//! HTTP clients of revision 2024-11-05 need the HTTP+SSE transport, which is off by default. Serve
//! it beside Streamable HTTP with `serve_http_with(address,
//! HttpServerOptions::new().http_sse(true))`.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `stdio` | yes | servers on standard input and output |
//! | `macros` | yes | the attributes |
//! | `http` | | servers on Streamable HTTP and HTTP+SSE: `http` |
//! | `client` | | the client: `client`. With `stdio` it starts servers as processes, with `http` it connects to URLs |
//! | `servers` | | many servers at once, from code or from an `mcp.json`, and a proxy in front of them: `servers` |
//! | `auth` | | authorization: a server checks tokens, with `client` a client logs in: `auth` |
//! | `store` | | state that the instances of a server share, and the trait of stores: `store` |
//! | `sqlite` | | that state in one SQLite file: `sqlite` |
//! | `redis` | | that state in Redis or Valkey: `redis`. `redis-tls` adds connections over TLS |
//! | `postgres` | | that state in PostgreSQL: `postgres`. `postgres-tls` adds connections over TLS |
//! | `otel` | | traces and metrics for the exporters of OpenTelemetry: `otel` |
//! | `validate` | | full validation of hand-written schemas |
//! | `bytes`, `chrono`, `either`, `indexmap`, `jiff`, `rust_decimal`, `semver`, `url`, `uuid` | | JSON Schemas for the types of these crates, as arguments and results |
//! | `testing` | | the testing kit `testing`, and `client` |
//! | `check` | | a checker of a server for its tests, `testing::Checker`; also `testing`, `stdio` and `http` |
//! | `tls` | | TLS in the server on HTTP: `HttpServerOptions::tls` |
//! | `http2` | | HTTP/2 in the server on HTTP: `HttpServerOptions::http2` |
//! | `clap` | | the arguments of a server in a clap parser of your own: [`RunArgs`] |
//! | `auth-keyring` | | a store for credentials in the keyring of the operating system |
//! | `auth-testing` | | an authorization server for tests, and a test for credential stores: `auth_testing` |
//! | `apps` | | MCP Apps, tools with a user interface: `apps` |
//! | `tasks` | | tasks, which a client can leave and come back to: `Tasks` |
//! | `skills` | | Agent Skills: folders of skills are served, with `client` they are read and verified: `skills` |
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "auth")]
mod authorize;
mod error;
#[cfg(doctest)]
mod guide;
#[cfg(feature = "macros")]
mod lists;
#[cfg(all(feature = "auth", feature = "servers"))]
mod log_in;
#[cfg(feature = "otel")]
#[cfg_attr(docsrs, doc(cfg(feature = "otel")))]
pub mod otel;
pub mod prelude;
#[cfg(any(feature = "stdio", feature = "http"))]
mod run;
#[cfg(feature = "testing")]
pub mod testing;
pub mod types;

/// The layer between transports and a server or client: what handlers see of their request, and the
/// traits of transports.
pub mod session {
    pub use turnbuckle_session::{handler, transport};
}

#[cfg(feature = "auth")]
#[cfg_attr(docsrs, doc(cfg(feature = "auth")))]
pub use authorize::Authorize;
pub use error::{Error, Result};
#[cfg(all(feature = "auth", feature = "servers"))]
#[cfg_attr(docsrs, doc(cfg(all(feature = "auth", feature = "servers"))))]
pub use log_in::LogIn;
#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
pub use run::termination;
#[cfg(any(feature = "stdio", feature = "http"))]
pub use run::{Run, RunArgs};
#[cfg(feature = "apps")]
pub use turnbuckle_apps as apps;
#[cfg(feature = "auth")]
#[cfg_attr(docsrs, doc(cfg(feature = "auth")))]
pub use turnbuckle_auth as auth;
#[cfg(feature = "auth-testing")]
#[cfg_attr(docsrs, doc(cfg(feature = "auth-testing")))]
pub use turnbuckle_auth_testing as auth_testing;
#[cfg(feature = "check")]
#[cfg_attr(docsrs, doc(cfg(feature = "check")))]
pub use turnbuckle_check as check;
#[cfg(feature = "client")]
pub use turnbuckle_client as client;
#[cfg(feature = "client")]
pub use turnbuckle_client::{Client, ClientBuilder};
#[cfg(feature = "http")]
pub use turnbuckle_http as http;
#[cfg(feature = "macros")]
pub use turnbuckle_macros::{IntoFailure, data, prompt, resource, server, tool};
// Hidden, since only the code that the attributes generate uses it.
#[doc(hidden)]
pub mod __private;
/// A store in PostgreSQL.
#[cfg(feature = "postgres")]
#[cfg_attr(docsrs, doc(cfg(feature = "postgres")))]
pub mod postgres {
    pub use turnbuckle_postgres::{PostgresStore, PostgresStoreOptions};
}
#[cfg(feature = "redis")]
#[cfg_attr(docsrs, doc(cfg(feature = "redis")))]
pub use turnbuckle_redis as redis;
#[cfg(feature = "servers")]
#[cfg_attr(docsrs, doc(cfg(feature = "servers")))]
pub use turnbuckle_servers as servers;
#[cfg(feature = "skills")]
#[cfg_attr(docsrs, doc(cfg(feature = "skills")))]
pub use turnbuckle_skills as skills;
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
pub use turnbuckle_sqlite as sqlite;
#[cfg(feature = "stdio")]
pub use turnbuckle_stdio as stdio;
#[cfg(feature = "store")]
#[cfg_attr(docsrs, doc(cfg(feature = "store")))]
pub use turnbuckle_store as store;
pub use turnbuckle_wire::revision::{EraKind, Features, Revision};

#[cfg(feature = "http")]
#[cfg_attr(docsrs, doc(cfg(feature = "http")))]
pub use turnbuckle_server::HttpExtension;
#[cfg(feature = "tasks")]
#[cfg_attr(docsrs, doc(cfg(feature = "tasks")))]
pub use turnbuckle_server::Tasks;
pub use turnbuckle_server::{
    AcceptedFilter, AnswerFuture, Args, Ask, AskError, Audio, Background, BuildError, Cancellation,
    Claims, Completer, CompletionRequest, ElicitationNotifier, Extension, ExtensionResult, Extract,
    Failure, File, Group, Handler, HandlerContext, HandlerRequirements, HttpRequest, Image,
    IntoFailure, IntoItem, IntoSamplingRequest, Invocation, ItemName, KeyError, KeyRing, ListPage,
    ListRequest, Log, NeedsInput, NoHandler, Objection, OutputValidator, Profile, Progress,
    ProgressValue, Prompt, PromptOutput, ProvidedItem, Provider, Question, RandomnessUnavailable,
    RawArguments, ReadRequest, Resource, ResourceOutput, Roots, SchemaLimits, SecretKey, Server,
    ServerBuilder, ServerUpdate, State, Structured, TaskSupport, TemplateError, TemplateValue,
    TemplateVariables, Tool, ToolOutput, UndeclaredPolicy, UriTemplate, lint,
};
pub use turnbuckle_server::{middleware, service};

/// The README. Its snippets are compiled as doctests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
