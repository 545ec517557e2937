//! Many servers of the Model Context Protocol at once.
//!
//! [`Servers`] connects any number of servers, from code or from an `mcp.json`. Each is connected,
//! watched and connected again by itself; their tools, resources and prompts are one list.
//!
//! ```
//! use serde_json::json;
//! use turnbuckle_server::{Args, Server, Tool};
//! use turnbuckle_servers::{InProcess, Servers};
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Add { a: i64, b: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let add = Tool::builder("add").handler(|Args(Add { a, b }): Args<Add>| (a + b).to_string());
//! let calc = Server::new("calc", "1.0.0").tool(add).build()?;
//!
//! let servers = Servers::builder("example", "1.0.0")
//!     .server("calc", InProcess::new(calc))
//!     .connect()
//!     .await?;
//! assert_eq!(servers.tools()[0].item.name, "calc__add");
//! let sum = servers.call_tool("calc__add", &json!({"a": 1, "b": 2})).await?;
//! assert_eq!(sum.content, ["3".into()]);
//! servers.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! - **Names.** `server__tool`, at most 64 characters of `[A-Za-z0-9_-]`. A name follows from the
//!   names of the server and the item alone; where they do not fit, it is shortened and ends in a
//!   hash of the item's name. URIs of resources are `server+uri`. [`ServersBuilder::prefix`] changes
//!   what stands for the server.
//! - **Sick servers.** A server that cannot be connected hides nothing of the others:
//!   [`Servers::status`] says what is wrong with it, and it is tried again after growing delays.
//! - **Changes.** [`Servers::changes`] reports which server has other tools, resources or prompts,
//!   or another state.
//! - **Questions.** Handlers of forms, URLs and sampling are installed once for all servers, and get
//!   a [`ServerQuestion`] with the name of the server that asks.
//! - **A proxy.** [`ServersBuilder::proxy`] serves all servers as one.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod change;
pub mod config;
mod connections;
mod error;
mod in_process;
mod limits;
mod member;
mod proxy;
mod question;
mod request;
mod rules;
mod servers;
#[cfg(test)]
mod tests;
mod view;

pub use builder::ServersBuilder;
pub use change::{ChangeKind, Changes, ServerChange};
pub use connections::upstream::{UpstreamMode, UpstreamOptions};
pub use error::Error;
pub use in_process::InProcess;
pub use limits::ServersLimits;
pub use member::status::{ServerState, ServerStatus};
pub use proxy::Proxy;
pub use proxy::target::ProxiedTarget;
pub use proxy::tool_caller::ToolCaller;
pub use question::ServerQuestion;
pub use request::ServerRequest;
pub use rules::{ProxiedItem, Rule};
pub use servers::{Servers, WeakServers};
pub use turnbuckle_server::BuildError;
pub use view::item_kind::ItemKind;
pub use view::items::ServerItem;
pub use view::merged_uris::MergedUris;
pub use view::names::NAME_SEPARATOR;

/// The example of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
