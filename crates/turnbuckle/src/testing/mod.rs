//! A client in memory for the tests of a server.
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
//! let sum = client.call("add", &serde_json::json!({"a": 1, "b": 2})).await?;
//! # assert_eq!(sum.content, ["3".into()]);
//! # Ok(())
//! # }
//! ```
//!
//! - [`connect`] is a client of the newest revision, [`client`] one of any: see [`revisions`].
//! - What the server asks is answered by a script, such as [`Builder::answer_form`]. A question
//!   that nobody scripted fails the test when the client is dropped, and so does an answer that
//!   nobody asked for.
//! - [`assert_surface`] holds what clients see of a server against a file.

mod builder;
mod client;
mod pretty;
mod script;
mod surface;

use turnbuckle_server::{Result, Server, ServerBuilder};
use turnbuckle_wire::revision::Revision;

pub use builder::Builder;
pub use client::TestClient;
pub use surface::{assert_surface, surface};

/// A client of the newest revision, on a server that is its own.
///
/// # Errors
/// When the server cannot be built, or does not answer.
pub async fn connect(server: impl Tested) -> Result<TestClient> {
    client(server).connect().await
}

/// Begins a client on a server: which revision it speaks, and what it answers.
pub fn client(server: impl Tested) -> Builder {
    Builder::new(server.server())
}

/// Every revision of the protocol, oldest first.
///
/// ```
/// # use turnbuckle::{Server, testing};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> turnbuckle::Result {
/// for revision in testing::revisions() {
///     let client = testing::client(Server::new("calc", "1.0.0")).revision(revision).connect().await?;
///     assert!(client.list_tools().all().await.is_err(), "this server has none");
/// }
/// # Ok(())
/// # }
/// ```
pub fn revisions() -> impl Iterator<Item = Revision> {
    Revision::ALL.into_iter()
}

/// What can be tested: a [`Server`], by reference too, or what is still a [`ServerBuilder`].
pub trait Tested: sealed::Sealed {
    #[doc(hidden)]
    fn server(self) -> Result<Server>;
}

impl Tested for Server {
    fn server(self) -> Result<Server> {
        Ok(self)
    }
}

impl Tested for &Server {
    fn server(self) -> Result<Server> {
        Ok(self.clone())
    }
}

impl Tested for ServerBuilder {
    fn server(self) -> Result<Server> {
        Ok(self.build()?)
    }
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for super::Server {}
    impl Sealed for &super::Server {}
    impl Sealed for super::ServerBuilder {}
}
