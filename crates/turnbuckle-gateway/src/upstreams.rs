//! The connectors to the upstreams of a file.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::sync::Arc;

use turnbuckle::auth::Secret;
use turnbuckle::http::{ConnectorError, HttpConnector, SseConnector};
use turnbuckle::servers::InProcess;
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::Command;
use turnbuckle::types::Principal;
use turnbuckle_serve::openapi::{self, Credential, Document};

use crate::error::GatewayError;
use crate::file::{PrincipalPart, Upstream};

/// Changes the connector to the URL of an upstream.
pub(crate) type HttpHook =
    dyn Fn(&str, HttpConnector) -> Result<HttpConnector, GatewayError> + Send + Sync;

/// Returns the connector to an upstream. Nothing is opened yet.
pub(crate) fn connector(
    name: &str,
    upstream: &Upstream,
    directory: &Path,
    hook: Option<&HttpHook>,
) -> Result<Arc<dyn Connector>, GatewayError> {
    let is_api = upstream.openapi.is_some();
    if !is_api && upstream.server_url.is_some() {
        return Err(GatewayError::new(
            "`server_url` is for an upstream with an `openapi`",
        ));
    }
    match (&upstream.command, &upstream.url, &upstream.openapi) {
        (Some(words), None, None) => {
            command(words, upstream, directory).map(|it| Arc::new(it) as _)
        }
        (None, Some(url), None) => {
            let connector = http_connector(name, url.expose(), upstream, hook)?;
            Ok(to_dyn(connector, upstream))
        }
        (None, None, Some(document)) => {
            api(&directory.join(document), upstream).map(|it| Arc::new(it) as _)
        }
        _ => Err(GatewayError::new(
            "it needs either `command`, `url` or `openapi`",
        )),
    }
}

fn to_dyn(connector: HttpConnector, upstream: &Upstream) -> Arc<dyn Connector> {
    match upstream.sse {
        Some(true) => Arc::new(SseConnector::new(connector)),
        _ => Arc::new(connector),
    }
}

/// Returns the connector for the requests of one principal: `headers` is what
/// [`principal_headers`] has returned for it.
pub(crate) fn connector_of_principal(
    name: &str,
    upstream: &Upstream,
    headers: &str,
    hook: Option<&HttpHook>,
) -> Result<Arc<dyn Connector>, GatewayError> {
    let url = upstream.url.as_ref().map_or("", Secret::expose);
    let mut connector = http_connector(name, url, upstream, hook)?;
    let headers: BTreeMap<&str, String> =
        serde_json::from_str(headers).map_err(|error| GatewayError::new(error.to_string()))?;
    for (name, value) in headers {
        let header = connector.header(name, &value);
        connector = header.map_err(|error| GatewayError::new(format!("{name}: {error}")))?;
    }
    Ok(to_dyn(connector, upstream))
}

/// Returns the headers that say who calls, as JSON. Without a principal there are none.
pub(crate) fn principal_headers(upstream: &Upstream, principal: Option<&Principal>) -> String {
    let mut headers = BTreeMap::new();
    for (name, part) in &upstream.header_principal {
        let value = principal.and_then(|it| match part {
            PrincipalPart::Subject => Some(&*it.subject),
            PrincipalPart::Issuer => Some(&*it.issuer),
            PrincipalPart::Client => it.client.as_deref(),
        });
        if let Some(value) = value {
            headers.insert(name, value);
        }
    }
    // Texts always have a JSON form.
    serde_json::to_string(&headers).unwrap_or_default()
}

/// Returns the connector to a server of the operations of an OpenAPI document.
fn api(document: &Path, upstream: &Upstream) -> Result<InProcess, GatewayError> {
    let wrong = |error: &dyn std::fmt::Display| GatewayError::new(format!("`openapi`: {error}"));
    let document = Document::read(document).map_err(|error| wrong(&error))?;
    let mut options = openapi::Options::new();
    // The rules hold anyway; here they bound the number of operations.
    options = options.allow(upstream.allow.iter().flatten());
    for (name, value) in headers(upstream)? {
        let credential = Credential::header(&name, &value).map_err(|error| wrong(&error))?;
        options = options.credential(credential);
    }
    if let Some(url) = &upstream.server_url {
        options = options.server_url(url.expose());
    }
    let limits = &upstream.limits;
    if let Some(requests) = limits.in_flight {
        options = options.max_in_flight(requests);
    }
    if let Some(timeout) = limits.timeout {
        options = options.timeout(timeout.0);
    }
    if let Some(size) = limits.result_bytes {
        options = options.max_response_bytes(size.0);
    }
    let server = openapi::server(&document, options).map_err(|error| wrong(&error))?;
    let server = server.build().map_err(|error| wrong(&error))?;
    Ok(InProcess::new(server))
}

/// Returns the headers of each request to an upstream: those of the file, and those of the environment.
fn headers(upstream: &Upstream) -> Result<Vec<(String, String)>, GatewayError> {
    let of_file = upstream.headers.iter();
    let mut headers: Vec<_> = of_file
        .map(|(name, value)| (name.clone(), value.expose().to_owned()))
        .collect();
    for (name, variable) in &upstream.header_env {
        headers.push((name.clone(), read_variable(variable)?));
    }
    Ok(headers)
}

fn command(
    words: &[String],
    upstream: &Upstream,
    directory: &Path,
) -> Result<Command, GatewayError> {
    let [program, arguments @ ..] = words else {
        return Err(GatewayError::new("`command` is empty"));
    };
    let is_for_url = !upstream.headers.is_empty() || !upstream.header_env.is_empty();
    if is_for_url || upstream.sse.is_some() {
        return Err(GatewayError::new(
            "`headers`, `header_env` and `sse` are for an upstream with a `url`",
        ));
    }
    let mut command = Command::new(program).args(arguments);
    for name in &upstream.pass_env {
        command = command.env(name, read_variable(name)?);
    }
    for (name, value) in &upstream.env {
        command = command.env(name, value.expose());
    }
    Ok(match &upstream.cwd {
        Some(cwd) => command.current_dir(directory.join(cwd)),
        None => command,
    })
}

fn http_connector(
    name: &str,
    url: &str,
    upstream: &Upstream,
    hook: Option<&HttpHook>,
) -> Result<HttpConnector, GatewayError> {
    let is_for_command = !upstream.env.is_empty() || !upstream.pass_env.is_empty();
    if is_for_command || upstream.cwd.is_some() {
        return Err(GatewayError::new(
            "`env`, `pass_env` and `cwd` are for an upstream with a `command`",
        ));
    }
    let wrong = |error: ConnectorError| GatewayError::new(format!("`url`: {error}"));
    let mut connector = HttpConnector::new(url).map_err(wrong)?;
    let has_headers = !upstream.headers.is_empty() || !upstream.header_env.is_empty();
    let has_headers = has_headers || !upstream.header_principal.is_empty();
    if has_headers && connector.is_unencrypted_remote() {
        return Err(GatewayError::new(
            "its headers would be sent without encryption: use https",
        ));
    }
    for (name, value) in headers(upstream)? {
        connector = connector.header(&name, &value).map_err(wrong)?;
    }
    match hook {
        Some(hook) => hook(name, connector),
        None => Ok(connector),
    }
}

/// Returns the value of a variable of this process.
pub(crate) fn read_variable(name: &str) -> Result<String, GatewayError> {
    env::var(name).map_err(|error| {
        let reason = match error {
            env::VarError::NotPresent => "is not set",
            env::VarError::NotUnicode(_) => "is not UTF-8",
        };
        GatewayError::new(format!("the environment variable {name:?} {reason}"))
    })
}
