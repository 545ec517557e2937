//! The client side of the Model Context Protocol.
//!
//! A [`Client`] couples a program to one server, in whichever revision and over whichever transport
//! that server speaks. What a caller writes is the same for all of them.
//!
//! ```
//! # use std::sync::Arc;
//! # use turnbuckle_session::{Dispatch, Joined, Limits, Signal, TransportContext, pair, serve};
//! # use turnbuckle_server::{Args, Server, Tool};
//! use turnbuckle_client::{Client, Era};
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Greet { name: String }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let greet = Tool::builder("greet")
//! #     .handler(|Args(greet): Args<Greet>| format!("Hello, {}!", greet.name));
//! # let server = Server::new("greeter", "1.0.0").tool(greet).build()?;
//! # let (here, there) = pair();
//! # let server: Arc<dyn Dispatch> = Arc::new(server);
//! # let context = TransportContext::default();
//! # tokio::spawn(serve(server, there, Limits::default(), context, Signal::new()));
//! # let connector = Joined::new(here);
//! let client = Client::builder("example", "1.0.0").connect(connector).await?;
//! for tool in client.list_tools().all().await? {
//!     println!("{}", tool.name);
//! }
//! let result = client.call("greet", &serde_json::json!({"name": "Ada"})).await?;
//! assert_eq!(result.is_error, None);
//! client.close().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - **Connecting.** A `Connector` says where the server is: `turnbuckle-stdio`'s `Command` runs one,
//!   `turnbuckle-http`'s `HttpConnector` reaches a URL, and `turnbuckle-session`'s `Joined` takes any
//!   transport that is there. Which era the server speaks is found out, or said with [`Era`]; what
//!   was found out can be kept as a [`Verdict`].
//! - **Asking.** Every request is a [`Call`]: awaiting it makes it, its deadlines can be set, and
//!   dropping it takes the request back. Lists come as [`List`], changes as [`Subscription`],
//!   progress as [`Progress`].
//! - **Answering.** What a server may ask is what handlers are installed for, with
//!   [`ClientBuilder::on_form`], [`on_url`](ClientBuilder::on_url),
//!   [`on_sampling`](ClientBuilder::on_sampling) and [`roots`](ClientBuilder::roots): one set for
//!   both eras.
//! - **Ending.** Every request ends in its result or in an [`Error`] that says what happened. A
//!   connection that died is replaced by the next request; what may have been acted upon is never
//!   sent twice unless that is safe.

mod answering;
mod budget;
mod builder;
mod cache;
mod call;
mod client;
mod clock;
mod connect;
mod error;
mod listening;
mod live;
mod method;
mod page;
mod progress;
mod router;
mod server;
mod subscription;
mod tools;

pub use answering::{Consent, Declined, Form, FormAnswer, Question, Roots, UrlRequest, UrlWarning};
pub use builder::ClientBuilder;
pub use call::Call;
pub use client::Client;
pub use error::Error;
pub use live::Reconnects;
pub use method::ServerMethod;
pub use page::{List, ListMethod};
pub use progress::Progress;
pub use server::{Era, ServerInfo, Verdict};
pub use subscription::{Interest, Subscription};
pub use turnbuckle_schema::SchemaLimits;
