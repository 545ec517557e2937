//! A server whose tools are the operations of an HTTP API, by its OpenAPI document.
//!
//! Parameters and the members of a body become the arguments of one flat object. A GET is read-only, a DELETE
//! destructive, a PUT idempotent. Errors of the API are error results, and JSON is structured content.

mod document;
mod input;
mod left_out;
mod media_type;
mod operation;
mod options;
mod request;
mod response;
mod schema;
mod secrets;

use std::collections::HashSet;
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use turnbuckle::prelude::*;
use turnbuckle::types::{CallToolResult, Json, Map, ToolAnnotations};
use turnbuckle::{RawArguments, ServerBuilder};
use turnbuckle_http_client::address::AddressClass;
use turnbuckle_types::base::glob;
use turnbuckle_types::base::text::{one_line, shorten};
use url::Url;

pub use document::Document;
pub use left_out::LeftOut;
use operation::{Found, MAX_NAME_CHARS, Operation};
pub use options::{Credential, Options};
use secrets::Secrets;

use crate::Error;
use crate::web::{WebClient, WebSettings, parse_url};

/// The idle connections to the API.
const MAX_IDLE_CONNECTIONS: usize = 8;

/// Creates the server of a document.
///
/// Operations that need what is not supported are left out, and the reasons are logged.
///
/// # Errors
/// When there are too many operations or none, or the URL of the API is missing or not allowed.
pub fn server(document: &Document, options: Options) -> Result<ServerBuilder, Error> {
    let (server, left_out) = server_with_left_out(document, options)?;
    if !left_out.is_empty() {
        tracing::warn!("operations of the OpenAPI document are left out:\n{left_out}");
    }
    Ok(server)
}

/// Creates the server of a document, and returns the operations that are left out.
///
/// # Errors
/// As for [`server()`].
pub fn server_with_left_out(
    document: &Document,
    options: Options,
) -> Result<(ServerBuilder, LeftOut), Error> {
    let (base, closest) = base_url(document, &options)?;
    let (operations, left_out) = read_operations(document, &options, &base)?;
    let (title, version) = document.title();
    let title = one_line(title, 100);
    let settings = WebSettings {
        closest,
        timeout: options.timeout,
        max_body_bytes: options.max_response_bytes,
        max_idle_connections: MAX_IDLE_CONNECTIONS,
        lookup: None,
    };
    let api = Arc::new(Api {
        client: WebClient::new(settings),
        base,
        secrets: Secrets::new(&options.credentials),
        options,
    });
    let mut server = Server::new(title.clone(), one_line(version, 40))
        .title(title)
        .max_concurrent(api.options.max_in_flight);
    for operation in operations {
        server = server.tool(tool(&api, operation));
    }
    Ok((server, left_out))
}

/// The API that the tools call.
struct Api {
    client: WebClient,
    base: Url,
    secrets: Secrets,
    options: Options,
}

impl Api {
    async fn call(&self, operation: &Operation, arguments: &Json) -> Result<CallToolResult> {
        let arguments: Map<Json> = arguments.decode()?;
        let (url, request) =
            request::make(operation, &self.base, &self.options.credentials, &arguments)
                .map_err(Failure::new)?;
        let response = self.client.send(&url, request).await;
        let response = response.map_err(|error| {
            // The query can hold a credential.
            Failure::new(format!("{} {}: {error}", operation.method, operation.path))
        })?;
        let max_response_bytes = self.options.max_response_bytes;
        let schema = operation.output.as_ref();
        response::result(response, schema, &self.secrets, max_response_bytes)
    }
}

fn tool(api: &Arc<Api>, operation: Operation) -> Tool {
    let mut tool = Tool::builder(operation.name.clone())
        .description(operation.description.clone())
        .input_schema(operation.input.clone())
        .annotations(annotations(&operation.method));
    if let Some(output) = &operation.output {
        tool = tool.output_schema(output.clone());
    }
    let (api, operation) = (api.clone(), Arc::new(operation));
    tool.handler(move |RawArguments(arguments): RawArguments| {
        let (api, operation) = (api.clone(), operation.clone());
        async move { api.call(&operation, &arguments).await }
    })
}

fn annotations(method: &Method) -> ToolAnnotations {
    let hints = ToolAnnotations::new().open_world_hint(true);
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => hints.read_only_hint(true),
        Method::DELETE => hints
            .read_only_hint(false)
            .destructive_hint(true)
            .idempotent_hint(true),
        Method::PUT => hints.read_only_hint(false).idempotent_hint(true),
        _ => hints.read_only_hint(false),
    }
}

/// Returns the URL that paths are below, and the closest network that it may be in.
fn base_url(document: &Document, options: &Options) -> Result<(Url, AddressClass), Error> {
    if let Some(text) = &options.server_url {
        let url = parse_url(text);
        let url =
            url.map_err(|reason| Error::new(format!("the URL of the API is invalid: {reason}")))?;
        return Ok((without_query(url), AddressClass::Loopback));
    }
    let give = "give the URL of the API (--server-url; in the file of a gateway, `server_url`)";
    let server = document.root().pointer("/servers/0");
    let Some(text) = server
        .and_then(|server| server.get("url"))
        .and_then(Value::as_str)
    else {
        return Err(Error::new(format!("the document names no server: {give}")));
    };
    let mut text = text.to_owned();
    let variables = server
        .and_then(|server| server.get("variables"))
        .and_then(Value::as_object);
    for (name, variable) in variables.into_iter().flatten() {
        if let Some(value) = variable.get("default").and_then(Value::as_str) {
            text = text.replace(&format!("{{{name}}}"), value);
        }
    }
    let refused = |reason: &str| {
        let shown = shorten(&text);
        Error::new(format!(
            "the document names the server {shown}, and {reason}: {give}"
        ))
    };
    let url = parse_url(&text).map_err(|reason| refused(&reason))?;
    match url.scheme() {
        "https" => Ok((without_query(url), AddressClass::Public)),
        _ => Err(refused("it must begin with https://")),
    }
}

fn without_query(mut url: Url) -> Url {
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Reads the operations that become tools, and those that do not.
fn read_operations(
    document: &Document,
    options: &Options,
    base: &Url,
) -> Result<(Vec<Operation>, LeftOut), Error> {
    let mut left_out = LeftOut::default();
    let chosen: Vec<(Found<'_>, String)> = operation::find(document, &mut left_out)
        .into_iter()
        .map(|found| {
            let name = found.tool_name();
            (found, name)
        })
        .filter(|(found, name)| is_allowed(options, &found.texts(name)))
        .collect();
    if chosen.len() > options.max_operations {
        return Err(Error::new(format!(
            "{} operations would become tools, and {} are allowed (--max-operations): choose those that are needed \
             (--allow; in the file of a gateway, `allow`)",
            chosen.len(),
            options.max_operations
        )));
    }
    let mut names = HashSet::new();
    let mut operations = Vec::new();
    for (found, name) in chosen {
        match found.read(document, options, base, free_name(&mut names, name)) {
            Ok(operation) => operations.push(operation),
            Err(reason) => left_out.add(found, &reason),
        }
    }
    match operations.is_empty() {
        true => {
            let reasons = if left_out.is_empty() { "" } else { "\n" };
            Err(Error::new(format!(
                "no operation of the document becomes a tool: look at what is allowed and denied{reasons}{left_out}"
            )))
        }
        false => Ok((operations, left_out)),
    }
}

fn is_allowed(options: &Options, texts: &[String]) -> bool {
    let matches = |patterns: &[String]| {
        let mut pairs = patterns
            .iter()
            .flat_map(|pattern| texts.iter().map(move |text| (pattern, text)));
        pairs.any(|(pattern, text)| glob::matches(pattern, text))
    };
    (options.allow.is_empty() || matches(&options.allow)) && !matches(&options.deny)
}

/// Returns the name, with a number behind it if it is taken.
fn free_name(names: &mut HashSet<String>, name: String) -> String {
    let mut free = name.clone();
    let mut number = 2;
    while !names.insert(free.clone()) {
        let suffix = format!("_{number}");
        let kept = MAX_NAME_CHARS.saturating_sub(suffix.len());
        free = name.chars().take(kept).chain(suffix.chars()).collect();
        number += 1;
    }
    free
}
