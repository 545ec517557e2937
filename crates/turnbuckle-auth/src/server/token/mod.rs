//! Tokens: the verifiers that find the meaning of a token, and the cache of the results.

mod cache;
mod claims;
mod introspection;
mod recent_tokens;
mod static_token;
mod verification_queue;
mod verifier;

pub(super) use cache::TokenCache;
pub(super) use claims::Claims;
pub(super) use introspection::Introspection;
pub(super) use static_token::StaticTokens;
pub(super) use verification_queue::VerificationQueue;
pub use verifier::{TokenRejection, TokenVerifier, VerifiedToken, VerifyFuture};
