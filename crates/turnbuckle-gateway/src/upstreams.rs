//! The connectors to the upstreams of a file.

use std::env;
use std::path::Path;
use std::sync::Arc;

use turnbuckle::http::{ConnectorError, HttpClientOptions, HttpConnector, SseConnector};
use turnbuckle::servers::{InProcess, UpstreamMode};
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::{Command, StderrMode};
use turnbuckle_serve::openapi::{self, Credential, Document};

use crate::caller::Caller;
use crate::error::GatewayError;
use crate::file::Upstream;
use crate::headers_command::HeadersCommand;

/// Changes the connector to the URL of an upstream.
pub(crate) type HttpHook =
    dyn Fn(&str, HttpConnector) -> Result<HttpConnector, GatewayError> + Send + Sync;

/// Returns the connector to an upstream for the requests of a caller. Nothing is opened yet. Adds a line to `left_out`
/// for each operation of an OpenAPI document that becomes no tool.
pub(crate) fn connector(
    name: &str,
    upstream: &Upstream,
    directory: &Path,
    caller: &Caller,
    hook: Option<&HttpHook>,
    inherits_stderr: bool,
    left_out: &mut Vec<String>,
) -> Result<Arc<dyn Connector>, GatewayError> {
    let is_api = upstream.openapi.is_some();
    if !is_api && upstream.server_url.is_some() {
        return Err(GatewayError::new(
            "`server_url` is for an upstream with an `openapi`",
        ));
    }
    if upstream.has_caller_headers() && upstream.url.is_none() {
        return Err(GatewayError::new(
            "`header_principal` and `headers_command` are for an upstream with a `url`",
        ));
    }
    let is_per_principal = upstream.mode == Some(UpstreamMode::PerPrincipal);
    if !upstream.header_principal.is_empty() && !is_per_principal {
        return Err(GatewayError::new(
            "`header_principal` needs `mode = \"per-principal\"`",
        ));
    }
    match (&upstream.command, &upstream.url, &upstream.openapi) {
        (Some(words), None, None) => {
            let command = command(words, upstream, directory)?;
            Ok(Arc::new(match inherits_stderr {
                true => command.stderr(StderrMode::Inherit),
                false => command,
            }))
        }
        (None, Some(url), None) => {
            let connector = http_connector(url.expose(), upstream)?;
            let connector = match hook {
                Some(hook) => hook(name, connector)?,
                None => connector,
            };
            // Around the layers of the hook: a login is for requests without an `Authorization` header.
            let connector = with_caller(connector, name, upstream, directory, caller)?;
            Ok(match upstream.sse {
                Some(true) => Arc::new(SseConnector::new(connector)),
                _ => Arc::new(connector),
            })
        }
        (None, None, Some(document)) => {
            api(&directory.join(document), upstream, left_out).map(|it| Arc::new(it) as _)
        }
        (None, None, None) => Err(GatewayError::new(
            "it needs one of `command`, `url` and `openapi`",
        )),
        (command, url, openapi) => {
            let keys = [
                ("`command`", command.is_some()),
                ("`url`", url.is_some()),
                ("`openapi`", openapi.is_some()),
            ];
            let keys = keys.iter().filter(|it| it.1).map(|it| it.0);
            let keys = keys.collect::<Vec<_>>().join(" and ");
            Err(GatewayError::new(format!(
                "it has {keys}, and can have one of them"
            )))
        }
    }
}

/// Adds the headers that depend on the caller.
fn with_caller(
    mut connector: HttpConnector,
    name: &str,
    upstream: &Upstream,
    directory: &Path,
    caller: &Caller,
) -> Result<HttpConnector, GatewayError> {
    for (header, part) in &upstream.header_principal {
        if let Some(value) = caller.part(*part) {
            let with_header = connector.header(header, value);
            connector =
                with_header.map_err(|error| GatewayError::new(format!("{header}: {error}")))?;
        }
    }
    match &upstream.headers_command {
        Some(words) => {
            let command = HeadersCommand::new(words, directory, name, caller)?;
            Ok(connector.layer(command))
        }
        None => Ok(connector),
    }
}

/// Returns the connector to a server of the operations of an OpenAPI document.
fn api(
    document: &Path,
    upstream: &Upstream,
    left_out: &mut Vec<String>,
) -> Result<InProcess, GatewayError> {
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
    let server = openapi::server_with_left_out(&document, options);
    let (server, operations) = server.map_err(|error| wrong(&error))?;
    left_out.extend(operations.to_string().lines().map(str::to_owned));
    let server = server.build().map_err(|error| wrong(&error))?;
    Ok(InProcess::new(server))
}

/// The most bytes of a message of an upstream with a smaller bound of results: lists are such messages, too.
const MIN_MESSAGE_BYTES: usize = 4 << 20;

/// The bytes of a message around its result.
const ENVELOPE_BYTES: usize = 64 << 10;

/// Returns the most bytes of a message of an upstream, if the file bounds its results. A larger message is never
/// in memory as a whole.
fn max_message_bytes(upstream: &Upstream) -> Option<usize> {
    let result_bytes = upstream.limits.result_bytes?.0;
    Some(
        result_bytes
            .max(MIN_MESSAGE_BYTES)
            .saturating_add(ENVELOPE_BYTES),
    )
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
    if let Some(bytes) = max_message_bytes(upstream) {
        command = command.max_message_bytes(bytes);
    }
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

fn http_connector(url: &str, upstream: &Upstream) -> Result<HttpConnector, GatewayError> {
    let is_for_command = !upstream.env.is_empty() || !upstream.pass_env.is_empty();
    if is_for_command || upstream.cwd.is_some() {
        return Err(GatewayError::new(
            "`env`, `pass_env` and `cwd` are for an upstream with a `command`",
        ));
    }
    let wrong = |error: ConnectorError| GatewayError::new(format!("`url`: {error}"));
    let mut connector = HttpConnector::new(url).map_err(wrong)?;
    if let Some(bytes) = max_message_bytes(upstream) {
        connector = connector.options(HttpClientOptions::new().max_message_bytes(bytes));
    }
    let has_headers = !upstream.headers.is_empty() || !upstream.header_env.is_empty();
    let has_headers = has_headers || upstream.has_caller_headers();
    if has_headers && connector.is_unencrypted_remote() {
        return Err(GatewayError::new(
            "its headers would be sent without encryption: use https",
        ));
    }
    for (name, value) in headers(upstream)? {
        connector = connector.header(&name, &value).map_err(wrong)?;
    }
    Ok(connector)
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
