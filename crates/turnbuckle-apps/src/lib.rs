//! MCP Apps: tools whose results a client shows in an HTML page of the server.
//!
//! A page is a resource under `ui://`, and a tool names the page that shows its results. A client
//! with the extension `io.modelcontextprotocol/ui` renders the page in a sandbox and passes the
//! arguments and results of the tool to it. Other clients see an ordinary tool, so a tool always
//! returns the content of its page as text, too.
//!
//! ```
//! use turnbuckle_apps::{Page, ToolUi};
//! use turnbuckle_server::{Args, Server, Tool};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Place {
//!     city: String,
//! }
//!
//! let view = Page::builder("ui://weather/view.html", "weather")
//!     .connect_domain("https://api.weather.example")
//!     .prefers_border(true)
//!     .html("<!doctype html><title>Weather</title><p id=now></p>")?;
//! let weather = Tool::builder("weather")
//!     .handler(|Args(place): Args<Place>| format!("It rains in {}.", place.city))
//!     .ui(&view);
//! let server = Server::new("weather", "1.0.0")
//!     .tool(weather)
//!     .resource(view)
//!     .extension(turnbuckle_apps::extension())
//!     .build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Revisions
//!
//! Clients declare extensions since 2026-07-28: [`is_supported`] returns false for earlier
//! revisions. Pages and the references of tools are metadata, which exists since 2025-06-18;
//! clients of older revisions get none.
//!
//! Specification: extensions/apps/overview; MCP Apps (2026-01-26).
#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod origin;
mod page;
mod support;
mod tool;

pub use error::PageError;
pub use page::{MIME_TYPE, Page, PageBuilder, Permission};
pub use support::{EXTENSION_ID, extension, is_supported};
pub use tool::ToolUi;
