//! A client in memory for testing a server.
//!
//! ```
//! use turnbuckle::{Args, Server, Tool, testing};
//!
//! # #[derive(serde::Deserialize, schemars::JsonSchema)]
//! # struct Add { a: i64, b: i64 }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> turnbuckle::Result {
//! let add = Tool::builder("add").handler(|Args(Add { a, b }): Args<Add>| (a + b).to_string());
//! let server = Server::new("calc", "1.0.0").tool(add);
//!
//! let client = testing::connect(server).await?;
//! let sum = client.call_tool("add", &serde_json::json!({"a": 1, "b": 2})).await?;
//! # assert_eq!(sum.content, ["3".into()]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`connect`] connects with the newest revision, [`client`] with any: see [`revisions`].
//! - A script answers the questions of the server, for example [`TestClientBuilder::answer_form`]. A
//!   question without an answer, or an answer without a question, fails the test when the client is
//!   dropped.
//! - [`assert_surface`] compares what clients see of a server with a file.

mod builder;
#[cfg(feature = "check")]
mod checker;
mod client;
mod pretty;
mod script;
mod surface;

use turnbuckle_server::{Server, ServerBuilder};
use turnbuckle_wire::revision::Revision;

use crate::error::Result;

pub use builder::TestClientBuilder;
#[cfg(feature = "check")]
#[cfg_attr(docsrs, doc(cfg(feature = "check")))]
pub use checker::{CheckedServer, Checker};
pub use client::TestClient;
pub use surface::{assert_surface, surface};

/// Connects to a server with the newest revision.
///
/// # Errors
/// If the server cannot be built or does not answer.
pub async fn connect(server: impl TestTarget) -> Result<TestClient> {
    client(server).connect().await
}

/// Starts to build a client with another revision or scripted answers.
pub fn client(server: impl TestTarget) -> TestClientBuilder {
    TestClientBuilder::new(server.into_server())
}

/// Returns every revision of the protocol, oldest first.
///
/// ```
/// # use turnbuckle::{Server, testing};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> turnbuckle::Result {
/// for revision in testing::revisions() {
///     let client = testing::client(Server::new("calc", "1.0.0")).revision(revision).connect().await?;
///     assert!(client.list_tools().fetch_all().await.is_err(), "this server has none");
/// }
/// # Ok(())
/// # }
/// ```
pub fn revisions() -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter()
}

/// A server that can be tested: a [`Server`], a reference to one, or a [`ServerBuilder`].
pub trait TestTarget: sealed::IntoServer {}

impl TestTarget for Server {}

impl TestTarget for &Server {}

impl TestTarget for ServerBuilder {}

mod sealed {
    use turnbuckle_server::{Server, ServerBuilder};

    use crate::error::Result;

    /// The types that can be tested.
    pub trait IntoServer {
        /// Returns the server.
        fn into_server(self) -> Result<Server>;
    }

    impl IntoServer for Server {
        fn into_server(self) -> Result<Server> {
            Ok(self)
        }
    }

    impl IntoServer for &Server {
        fn into_server(self) -> Result<Server> {
            Ok(self.clone())
        }
    }

    impl IntoServer for ServerBuilder {
        fn into_server(self) -> Result<Server> {
            Ok(self.build()?)
        }
    }
}
