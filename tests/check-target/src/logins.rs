//! A login of two callers, and what depends on who they are.

use std::future::ready;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use turnbuckle::auth::ResourceServer;
use turnbuckle::auth::server::{TokenRejection, TokenVerifier, VerifiedToken, VerifyFuture};
use turnbuckle::middleware::Cache;
use turnbuckle::prelude::*;
use turnbuckle::types::ToolAnnotations;

const ISSUER: &str = "https://login.turnbuckle.invalid";

/// A caller, by the claims of its token.
struct Caller {
    token: String,
    claims: Value,
}

/// The two callers that a server knows.
pub(crate) struct Callers([Caller; 2]);

/// Returns callers that differ in what the name of a server says; `None` for a server without a login.
pub(crate) fn callers(server: &str) -> Option<Callers> {
    let claim = match server {
        "users" => "sub",
        "clients" => "client_id",
        "claims" => "department",
        _ => return None,
    };
    Some(Callers(["first", "second"].map(|which| {
        let mut claims =
            json!({"sub": "a user", "client_id": "a client", "department": "a department"});
        claims[claim] = format!("the {which}").into();
        Caller::new(claims)
    })))
}

impl Caller {
    /// Creates a caller whose token looks like a signed one; who it is decides the whole of it.
    fn new(claims: Value) -> Self {
        let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
        Self {
            token: format!("e30.{payload}.signature"),
            claims,
        }
    }

    fn principal(&self) -> Option<Principal> {
        let text = |claim: &str| self.claims[claim].as_str();
        let principal = Principal::new(ISSUER, text("sub")?).client(text("client_id")?);
        // What has a place of its own is no claim, so that callers differ in one thing.
        let claims = json!({"department": self.claims["department"]});
        Some(principal.claims(claims.to_string().parse().ok()?))
    }
}

impl Callers {
    /// Returns the tokens of both.
    pub(crate) fn tokens(&self) -> [String; 2] {
        [0, 1].map(|at| self.0[at].token.clone())
    }

    /// Returns a check of tokens that knows these callers.
    pub(crate) fn resource_server(self, url: &str) -> Result<ResourceServer> {
        let known = Known {
            callers: self,
            audience: url.to_owned(),
        };
        let server = ResourceServer::builder(url).verifier(known);
        Ok(server.authorization_server(ISSUER).build()?)
    }
}

/// The callers, and the server that their tokens are for.
struct Known {
    callers: Callers,
    audience: String,
}

impl TokenVerifier for Known {
    fn verify<'a>(&'a self, token: &'a str) -> VerifyFuture<'a> {
        let caller = self.callers.0.iter().find(|caller| caller.token == token);
        let verified = caller
            .and_then(Caller::principal)
            .map(|principal| VerifiedToken::new(principal, [self.audience.clone()]));
        let unknown = || TokenRejection::Invalid("nobody has it".to_owned());
        Box::pin(ready(verified.ok_or_else(unknown)))
    }
}

/// A remark of the caller, which makes a call another one.
#[data]
struct Remark {
    remark: Option<String>,
}

/// Returns a tool that names its caller, and whose answers are kept.
pub(crate) fn who_am_i() -> Tool {
    Tool::builder("test_who_am_i")
        .description("Names its caller")
        .annotations(ToolAnnotations::new().read_only_hint(true))
        .handler(|_: Args<Remark>, caller: Principal| {
            let claims = caller.claims.as_ref().map(|claims| claims.as_str());
            format!("{} {:?} {claims:?}", caller.subject, caller.client)
        })
        .layer(Cache::new())
}
