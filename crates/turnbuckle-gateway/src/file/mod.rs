//! The file of a gateway: TOML, or JSON with the same names.
//!
//! Unknown keys are errors, so that no rule is left out because of a misspelling. Errors name the line,
//! and never show what is written there, which may be a secret.

mod table;
mod values;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use turnbuckle::auth::Secret;
use turnbuckle::servers::UpstreamMode;
use turnbuckle::servers::config::jsonc_to_json;
use turnbuckle_types::base::mismatch::describe_without_value;

pub use values::{PrincipalPart, Size, Time};

use crate::error::GatewayError;
use table::table;

/// The largest file, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

table! {
    /// The settings of a gateway, as its file has them: upstreams, rules, limits and what is written down.
    pub struct GatewayFile {
        /// The name that clients see. Default: `turnbuckle-gateway`.
        name: Option<String>,
        /// The instructions for models, instead of those of the upstreams.
        instructions: Option<String>,
        /// The address to listen on: `HOST:PORT` or `unix:PATH`.
        listen: Option<String>,
        /// The names under which clients reach the address, if it is no loopback address.
        allow_hosts: Vec<String>,
        /// The authorization of clients. Default: none.
        auth: Option<Auth>,
        /// The store that instances share.
        store: Option<Secret>,
        /// The environment variable with the keys that instances share.
        keys_env: Option<String>,
        /// The audit log: `stderr`, `off` or a file. Default: `off`.
        audit: Option<String>,
        /// The path of the metrics, such as `/metrics`. Default: none.
        metrics: Option<String>,
        /// True if clients see three tools, which search, describe and call all others.
        lazy: Option<bool>,
        /// The upstream servers, by the names that the names of their items begin with.
        upstream: BTreeMap<String, Upstream>,
    }

    /// The authorization of clients by tokens.
    pub struct Auth {
        /// The issuer of the tokens.
        issuer: String,
        /// The URL of the gateway, for which tokens are issued.
        resource: String,
        /// The scopes that every request needs.
        scopes: Vec<String>,
    }

    /// An upstream server: how it is reached, and what of it is offered.
    pub struct Upstream {
        /// The command that starts the server, with its arguments.
        command: Option<Vec<String>>,
        /// Variables of the command's environment.
        env: BTreeMap<String, Secret>,
        /// Names of variables that the command gets from the environment of the gateway.
        pass_env: Vec<String>,
        /// The directory that the command runs in; a relative one starts at the file.
        cwd: Option<String>,
        /// The URL of the server.
        url: Option<Secret>,
        /// Headers of each request to the URL.
        headers: BTreeMap<String, Secret>,
        /// Headers whose values environment variables of the gateway hold.
        header_env: BTreeMap<String, String>,
        /// Headers that say who calls: each has `subject`, `issuer` or `client` of the principal. The mode is
        /// `per-principal` then.
        header_principal: BTreeMap<String, PrincipalPart>,
        /// A command that prints headers as a JSON object, for credentials that end. With the mode `per-principal` it
        /// runs for each principal. It runs again when the server refuses what it has printed.
        headers_command: Option<Vec<String>>,
        /// True if the URL is one of HTTP+SSE.
        sse: Option<bool>,
        /// An OpenAPI document, whose operations become tools; a relative path starts at the file.
        openapi: Option<String>,
        /// The URL that the paths of the OpenAPI document are below. Default: that of the document.
        server_url: Option<Secret>,
        /// The connections: the clients that share one. Default: all.
        mode: Option<UpstreamMode>,
        /// Patterns of the tools, prompts and URIs that are offered. Default: all.
        allow: Option<Vec<String>>,
        /// Patterns of those that are not offered, although `allow` has them.
        deny: Vec<String>,
        /// New names of tools and prompts, by their names at the upstream.
        rename: BTreeMap<String, String>,
        /// Scopes that items need, by patterns.
        scopes: BTreeMap<String, Vec<String>>,
        /// The time without a request after which a connection is closed, and opened again when needed.
        idle: Option<Time>,
        /// The bounds of requests to the upstream.
        limits: UpstreamLimits,
    }

    /// The bounds of requests to an upstream.
    pub struct UpstreamLimits {
        /// The most requests at once. Further ones wait, half a minute at most.
        in_flight: Option<usize>,
        /// The longest time of a request.
        timeout: Option<Time>,
        /// The largest result.
        result_bytes: Option<Size>,
    }
}

impl GatewayFile {
    /// Reads a file: JSON if its name ends in `.json`, else TOML.
    ///
    /// # Errors
    /// Returns an error that names the file if it cannot be read, is larger than [`MAX_FILE_BYTES`], or
    /// cannot be parsed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, GatewayError> {
        let path = path.as_ref();
        let name = |error: &dyn std::fmt::Display| {
            GatewayError::new(format!("{}: {error}", path.display()))
        };
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| name(&error))?;
        let text = String::from_utf8(bytes).map_err(|_| name(&"it is not UTF-8"))?;
        let parsed = match path.extension().is_some_and(|it| it == "json") {
            true => Self::parse_json(&text),
            false => Self::parse_toml(&text),
        };
        parsed.map_err(|error| name(&error))
    }

    /// Parses TOML.
    ///
    /// # Errors
    /// Returns an error with the line of an unknown key or a wrong value.
    pub fn parse_toml(text: &str) -> Result<Self, GatewayError> {
        check_size(text)?;
        from_toml(text)
    }

    /// Parses JSON, in which comments and trailing commas are allowed.
    ///
    /// # Errors
    /// Returns an error with the line of an unknown key or a wrong value.
    pub fn parse_json(text: &str) -> Result<Self, GatewayError> {
        check_size(text)?;
        serde_json::from_str(&jsonc_to_json(text)).map_err(|error| {
            let text = error.to_string();
            let reason = text.rsplit_once(" at line ").map_or(&*text, |it| it.0);
            let reason = describe_without_value(reason).unwrap_or_else(|| reason.to_owned());
            GatewayError::new(format!("line {}: {reason}", error.line()))
        })
    }
}

impl Upstream {
    /// Returns whether some headers depend on the caller or on a command.
    pub(crate) fn has_caller_headers(&self) -> bool {
        !self.header_principal.is_empty() || self.headers_command.is_some()
    }
}

fn check_size(text: &str) -> Result<(), GatewayError> {
    match text.len() as u64 > MAX_FILE_BYTES {
        true => Err(GatewayError::new(format!(
            "larger than {MAX_FILE_BYTES} bytes (file::MAX_FILE_BYTES)"
        ))),
        false => Ok(()),
    }
}

/// Parses TOML; an error has the line, and not the text of it.
fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, GatewayError> {
    toml::from_str(text).map_err(|error| {
        let reason = error.message();
        let reason = describe_without_value(reason).unwrap_or_else(|| reason.to_owned());
        match error.span() {
            Some(span) => {
                let before = &text.as_bytes()[..span.start.min(text.len())];
                let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
                GatewayError::new(format!("line {line}: {reason}"))
            }
            None => GatewayError::new(reason),
        }
    })
}

#[cfg(test)]
mod tests;
