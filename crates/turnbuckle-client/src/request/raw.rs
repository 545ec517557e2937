//! Sends requests that the types of the core do not describe: those of extensions, and those by name.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;

use turnbuckle_session::internal::{MirroredFields, OutboundRequest, RawParams};
use turnbuckle_types::{Json, RawJson, RawObject, describe_decode_error};
use turnbuckle_wire::era::headers::mirrored_name;
use turnbuckle_wire::era::params::member_of;
use turnbuckle_wire::era::{Params, ResultType, WriteParams, result_type};
use turnbuckle_wire::revision::Method;

use crate::connection::Connection;
use crate::error::Error;
use crate::request::deadline::RequestDeadline;
use crate::request::execute::is_unknown_session;
use crate::request::inner::ClientInner;
use crate::request::options::{ExtensionFacts, RequestOptions};
use crate::server_info::ServerInfo;

/// Checks that the server declared the extension of a request.
fn check_extension(method: &str, facts: &ExtensionFacts, server: &ServerInfo) -> Result<(), Error> {
    let reason = if !server.revision.features().extensions {
        "the revision has no extensions"
    } else if !server.capabilities.extensions.contains_key(facts.id) {
        "the server does not declare the extension of the method"
    } else {
        return Ok(());
    };
    Err(Error::Unsupported {
        method: method.to_owned(),
        reason,
        revision: server.revision,
    })
}

/// Returns the parameter of a request of an extension that the header `Mcp-Name` mirrors.
fn mirrored_param<'p>(
    method: &str,
    facts: &ExtensionFacts,
    params: Option<&'p RawParams>,
) -> Result<Option<Cow<'p, str>>, Error> {
    let Some(member) = facts.mirrored_param else {
        return Ok(None);
    };
    let value = params.and_then(|params| member_of(params.0.as_str(), member)?.text());
    match value {
        Some(value) => Ok(Some(value)),
        None => Err(Error::InvalidRequest(format!(
            "{method}: the parameter {member:?} must be there, as a string"
        ))),
    }
}

impl ClientInner {
    /// Passes a request of any method through the layers and sends it.
    pub(crate) async fn raw_request(
        self: &Arc<Self>,
        method: Cow<'static, str>,
        params: Option<RawObject>,
        options: RequestOptions,
    ) -> Result<Json, Error> {
        if self.layers.is_empty() {
            return self.raw_request_directly(&method, params, &options).await;
        }
        self.raw_request_through_layers(method, params, options)
            .await
    }

    /// Sends a request of any method behind the layers: once, or once more after a lost connection if it
    /// is one of an extension that may be sent again.
    ///
    /// The future is boxed for the same reason as that of [`send_directly`](Self::send_directly).
    pub(crate) fn raw_request_directly<'a>(
        &'a self,
        method: &'a str,
        params: Option<RawObject>,
        options: &'a RequestOptions,
    ) -> Pin<Box<dyn Future<Output = Result<Json, Error>> + Send + 'a>> {
        Box::pin(self.raw_request_with_retry(method, params, options))
    }

    async fn raw_request_with_retry(
        &self,
        method: &str,
        params: Option<RawObject>,
        options: &RequestOptions,
    ) -> Result<Json, Error> {
        let mut timeouts = options.timeouts.unwrap_or(self.timeouts);
        if Method::parse(method).is_some_and(Method::waits_for_task) {
            timeouts.idle_timeout = None;
        }
        let deadline = RequestDeadline::start(timeouts, &self.user_waits);
        let params = params.map(RawParams);
        let mut may_retry = options.extension.is_some();
        loop {
            let connection = self.connection(&deadline).await?;
            let sent = self.send_raw(&connection, method, params.as_ref(), options, &deadline);
            match sent.await {
                Err(error) if may_retry && error.is_connection_lost() => {
                    let is_safe = |facts: &ExtensionFacts| facts.is_safe_to_resend;
                    if !is_unknown_session(&error) && !options.extension.is_some_and(is_safe) {
                        return Err(error);
                    }
                    may_retry = false;
                }
                outcome => return outcome,
            }
        }
    }

    /// Sends a request of any method on a connection.
    async fn send_raw(
        &self,
        connection: &Arc<Connection>,
        method: &str,
        params: Option<&RawParams>,
        options: &RequestOptions,
        deadline: &RequestDeadline<'_>,
    ) -> Result<Json, Error> {
        let invalid = |reason| Error::InvalidResult {
            method: method.to_owned(),
            reason,
        };
        let fields = params.and_then(|params| params.0.decode().ok());
        let fields: Params<'_> = fields.unwrap_or_default();
        let name = match options.extension {
            Some(facts) => {
                check_extension(method, facts, &connection.server)?;
                mirrored_param(method, facts, params)?
            }
            None => Method::parse(method)
                .and_then(|row| mirrored_name(row, &fields)?.and_then(RawJson::text)),
        };
        let param_headers = name
            .as_deref()
            .filter(|_| Method::parse(method).is_some_and(Method::mirrors_arguments))
            .and_then(|name| self.tools.param_headers(name));
        let params = params.map(|params| params as &dyn WriteParams);
        let mut request = OutboundRequest::new(method, params, &connection.negotiated_revision);
        request.mirrored = MirroredFields {
            name: name.as_deref(),
            param_headers: param_headers.as_deref().unwrap_or_default(),
            arguments: fields.arguments,
        };
        request.timeouts = deadline.timeouts;
        request.tag.clone_from(&options.tag);
        request.started_at = Some(deadline.start_time().into_std());
        let sent = connection.session.send_request(request);
        let raw = sent.await.map_err(|error| self.to_error(error))?;
        if options.extension.is_some() {
            match result_type(raw.as_str(), connection.negotiated_revision.features()) {
                Some(ResultType::Complete) => {}
                stated => return Err(invalid(format!("its `resultType` is {stated:?}"))),
            }
        }
        serde_json::from_str(raw.as_str()).map_err(|error| invalid(describe_decode_error(&error)))
    }
}
