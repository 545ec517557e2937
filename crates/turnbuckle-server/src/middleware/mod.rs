//! Middleware: functions around the requests of a server, a group or an item.
//!
//! [`from_fn`] makes a layer of a function that gets the [`CallRequest`](crate::service::CallRequest)
//! and the [`Next`] step. The function sees calls of tools, prompts, resources and completers, and
//! around a whole server also list requests. It can change the arguments, answer itself, pass the
//! request on, pass it on again, and change the result.
//!
//! ```
//! use turnbuckle_server::middleware::{self, Next};
//! use turnbuckle_server::service::CallRequest;
//! use turnbuckle_server::{Server, Tool};
//!
//! let server = Server::new("retrying", "1.0.0")
//!     .layer(middleware::from_fn(async |call: CallRequest, next: Next| {
//!         let response = next.run(call.clone()).await;
//!         if response.is_error() && call.is_read_only() {
//!             next.run(call).await
//!         } else {
//!             response
//!         }
//!     }))
//!     .tool(Tool::builder("hello").handler(|| "hello"))
//!     .build()?;
//! # Ok::<(), turnbuckle_server::BuildError>(())
//! ```
//!
//! Ready-made: [`timing`], [`log_timing`], [`Cache`] and [`redaction`].

mod cache;
mod from_fn;
mod redaction;
mod timing;

pub use cache::{Cache, CacheService};
pub use from_fn::{FromFn, IntoCallResponse, Next, from_fn};
pub use redaction::{redaction, replace_tokens};
pub use timing::{log_timing, timing};
