//! OAuth for clients: logs in, stays logged in, and records each step.
//!
//! [`OAuth`] is the layer around an HTTP client. `session` holds the current token, `login` gets
//! the next one: `discovery`, `registration`, then a refresh, an `authorization_code` or another
//! [`grant`], at the `token_endpoint`. [`store`] keeps credentials, [`interaction`] shows the login
//! page, and `transcript` records what happened.

mod active_token;
mod authorization_code;
mod builder;
mod callback;
mod credentials;
mod discovery;

pub mod grant;
pub mod interaction;
mod layer;
mod login;
mod oauth;
mod pending_tokens;
mod race;
mod registration;
mod scope_selection;
mod session;
mod settings;
pub mod store;
#[cfg(test)]
mod tests;
mod token_endpoint;

pub use crate::transcript::{StepKind, Transcript, TranscriptStep};
pub use builder::OAuthBuilder;
pub use layer::OAuthService;
pub use oauth::{AuthStatus, OAuth};
pub use pending_tokens::settle_token_requests;
