//! Tokens: the verifiers that say what a token means, and the cache of what they said.

mod cache;
mod claims;
mod introspection;
mod negative_cache;
mod static_token;
mod verifier;

pub(super) use cache::TokenCache;
pub(super) use claims::Claims;
pub(super) use introspection::Introspection;
pub(super) use static_token::StaticTokens;
pub use verifier::{TokenRejection, TokenVerifier, VerifiedToken, VerifyFuture};
