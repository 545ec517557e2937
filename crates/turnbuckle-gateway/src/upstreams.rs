//! The connectors to the upstreams of a file.

use std::env;
use std::path::Path;
use std::sync::Arc;

use turnbuckle::http::{ConnectorError, HttpConnector, SseConnector};
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::Command;

use crate::error::GatewayError;
use crate::file::Upstream;

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
    match (&upstream.command, &upstream.url) {
        (Some(words), None) => command(words, upstream, directory).map(|it| Arc::new(it) as _),
        (None, Some(url)) => {
            let connector = http_connector(name, url.as_str(), upstream, hook)?;
            Ok(match upstream.sse {
                Some(true) => Arc::new(SseConnector::new(connector)),
                _ => Arc::new(connector),
            })
        }
        _ => Err(GatewayError::new("it needs either `command` or `url`")),
    }
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
        command = command.env(name, value.as_str());
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
    if has_headers && connector.is_unencrypted_remote() {
        return Err(GatewayError::new(
            "its headers would be sent without encryption: use https",
        ));
    }
    for (name, value) in &upstream.headers {
        connector = connector.header(name, value.as_str()).map_err(wrong)?;
    }
    for (name, variable) in &upstream.header_env {
        let value = read_variable(variable)?;
        connector = connector.header(name, &value).map_err(wrong)?;
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
