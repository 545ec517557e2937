//! The client side of the Model Context Protocol.
//!
//! A [`Client`] connects a program to one server, in whichever revision and over whichever transport
//! that server speaks. The caller writes the same code for all of them.
//!
//! ```
//! # use std::sync::Arc;
//! # use turnbuckle_session::handler::{Limits, Signal};
//! # use turnbuckle_session::transport::{Dispatch, TransportConnector, TransportContext, memory_pair, serve};
//! # use turnbuckle_server::{Args, Server, Tool};
//! use turnbuckle_client::Client;
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Greet { name: String }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let greet = Tool::builder("greet")
//! #     .handler(|Args(greet): Args<Greet>| format!("Hello, {}!", greet.name));
//! # let server = Server::new("greeter", "1.0.0").tool(greet).build()?;
//! # let (here, there) = memory_pair();
//! # let server: Arc<dyn Dispatch> = Arc::new(server);
//! # let context = TransportContext::default();
//! # tokio::spawn(serve(server, there, Limits::default(), context, Signal::new()));
//! # let connector = TransportConnector::new(here);
//! let client = Client::builder("example", "1.0.0").connect(connector).await?;
//! for tool in client.list_tools().fetch_all().await? {
//!     println!("{}", tool.name);
//! }
//! let result = client.call_tool("greet", &serde_json::json!({"name": "Ada"})).await?;
//! assert_ne!(result.is_error, Some(true));
//! client.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Connecting.** A `Connector` says where the server is: `turnbuckle-stdio`'s `Command` runs one,
//!   `turnbuckle-http`'s `HttpConnector` reaches a URL, and `turnbuckle-session`'s
//!   `TransportConnector` takes any open transport. The client finds out the era of the server, or is
//!   told with [`EraPreference`]. [`ServerInfo::era`] can be stored for the next connection.
//! - **Requests.** Every request is a [`RequestBuilder`]: awaiting it sends the request, its timeouts
//!   can be set, and dropping it cancels the request. Lists are read with [`List`], changes come from
//!   a [`Subscription`], progress from [`Progress`].
//! - **Answering the server.** A server may ask for what handlers are installed for, with
//!   [`ClientBuilder::on_form`], [`on_url`](ClientBuilder::on_url),
//!   [`on_sampling`](ClientBuilder::on_sampling) and [`roots`](ClientBuilder::roots): one set for
//!   both eras.
//! - **Layers.** Tower layers around requests log, count, change or repeat them: see [`service`] and
//!   [`ClientBuilder::layer`]. A [`MessageObserver`] sees every message as it is on the wire.
//! - **Errors.** Every request ends in its result or in an [`Error`] that says what happened. A lost
//!   connection is replaced by the next request; a request that the server may have acted on is never
//!   sent again unless that is safe.

mod cache;
mod client;
mod connection;
mod error;
mod incoming;
mod input;
mod method;
mod request;
mod resource_uri;
mod server_info;
mod subscription;
mod tools;

pub use client::Client;
pub use client::builder::ClientBuilder;
pub use connection::policy::ReconnectPolicy;
pub use error::Error;
pub use incoming::filter::ChangeFilter;
pub use input::form::{Form, FormAnswer};
pub use input::question::QuestionContext;
pub use input::roots::Roots;
pub use input::sampling::SamplingRejected;
pub use input::url::{UrlAnswer, UrlRequest, UrlWarning};
pub use method::ServerMethod;
pub use request::builder::RequestBuilder;
pub use request::extension::ExtensionRequestBuilder;
pub use request::list::{List, ListMethod};
pub use request::progress::Progress;
pub use request::task::changes::TaskChanges;
pub use request::task::handle::{InvalidTaskHandle, TaskHandle};
pub use request::task::running::{RunningTask, Started};
pub use server_info::{EraPreference, ServerInfo};
pub use subscription::Subscription;
pub use tools::invalid_items::InvalidItem;
pub use turnbuckle_schema::SchemaLimits;
pub use turnbuckle_session::internal::InFlight;
pub use turnbuckle_session::transport::{MessageObserver, RequestTag};
pub use turnbuckle_wire::revision::EraKind;

/// Tower layers around the requests of a client.
///
/// A layer is added with [`ClientBuilder::layer`](crate::ClientBuilder::layer). It gets each
/// [`ClientRequest`](service::ClientRequest) that the program makes, and passes it on, changes it or
/// its [`ClientResponse`](service::ClientResponse), sends it again, or answers it itself. Most layers
/// are functions, made by [`from_fn`](service::from_fn); tower's own layers work too.
pub mod service {
    pub use crate::request::from_fn::{FromFn, from_fn};
    pub use crate::request::service::{
        ClientRequest, ClientResponse, ClientService, ResponseFuture,
    };
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
