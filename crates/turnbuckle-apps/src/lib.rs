//! MCP Apps: tools whose results a client shows in a page of the server's own.
//!
//! A page is a resource under `ui://`; a tool says which page its results are shown in. A client
//! that knows the extension `io.modelcontextprotocol/ui` renders the page in a sandbox and hands it
//! the tool's arguments and results; to all others the tool is a tool like any other. So a tool
//! always says in words what its page would show.
//!
//! ```
//! use turnbuckle_apps::{Page, Ui};
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
//! Extensions are declared from 2026-07-28 on: [`is_supported`] says no to the clients of all
//! earlier revisions. Pages and what tools say of them are metadata, which tools and resources have
//! from 2025-06-18 on; clients of older revisions are sent none.
//!
//! Specification: extensions/apps/overview; MCP Apps (2026-01-26).

mod error;
mod origin;
mod page;
mod support;
mod tool;

pub use error::PageError;
pub use page::{MIME_TYPE, Page, PageBuilder, Permission};
pub use support::{ID, extension, is_supported};
pub use tool::Ui;
