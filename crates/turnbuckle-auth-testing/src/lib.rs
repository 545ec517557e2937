#![cfg_attr(docsrs, feature(doc_cfg))]
//! Helpers for tests of programs that use authorization of the Model Context Protocol.
//!
//! - [`TestAuthorizationServer`] is an authorization server **for tests and development only**. It
//!   speaks the protocols that clients and resource servers of MCP need: metadata, authorization
//!   codes with PKCE, refresh tokens with rotation, client credentials, JWT assertions, token
//!   exchange, dynamic registration, client metadata documents, introspection, revocation, DPoP.
//!   [`Faults`] makes it misbehave while it runs, and [`Event`]s list the requests that it received.
//! - [`AutoLogin`] is a user who approves every login at once, without a browser.
//! - [`store_contract`] tests a credential store.
//!
//! The server asks for no password: anyone who reaches its port is any user. It listens on 127.0.0.1,
//! keeps everything in memory, and forgets it when it stops. Never use it in production.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use turnbuckle_auth_testing::TestAuthorizationServer;
//!
//! let server = TestAuthorizationServer::builder()
//!     .auto_approve(true)
//!     .scopes(["orders:read", "orders:write"])
//!     .start()
//!     .await?;
//! assert!(server.issuer().starts_with("http://127.0.0.1:"));
//! # Ok(())
//! # }
//! ```

mod authorization_server;
pub mod store_contract;

pub use authorization_server::{
    AutoLogin, Endpoint, Event, FailedRequests, Faults, TestAuthorizationServer,
    TestAuthorizationServerBuilder, TestServerError,
};
