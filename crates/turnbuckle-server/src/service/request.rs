//! A request on its way through the layers, as they see and change it.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{Json, Principal, ProtocolError, RawJson};
use turnbuckle_wire::era::params::raw_params;

use super::LayeredHandler;
use crate::error::failure::Result;
use crate::handler::{CallKind, DetachedRequest};
use crate::request::context::HandlerContext;
use crate::request::redaction::Redact;
use crate::schema::describe_mismatch;

/// A call of a tool, prompt, resource or completer, or a list request, on its way through the
/// layers. Cheap to clone, for instance to be sent a second time.
#[derive(Clone)]
pub struct CallRequest {
    pub(crate) target: Arc<LayeredHandler>,
    /// The number of layers that the request has passed.
    pub(super) passed: usize,
    pub(super) request: DetachedRequest,
}

impl CallRequest {
    /// Returns the kind of the request.
    #[must_use]
    pub fn kind(&self) -> CallKind {
        self.target.about.kind
    }

    /// Returns the method, such as `tools/call`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.target.about.mapping.method.as_str()
    }

    /// Returns the name of the tool or prompt, the URI that is read, or the name or URI template
    /// whose argument is completed. Empty for list requests.
    #[must_use]
    pub fn name(&self) -> &str {
        self.request.uri().unwrap_or(&self.target.about.name)
    }

    /// Returns whether the request changes nothing: a tool that declares `readOnlyHint`, a resource,
    /// a completion or a list.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.target.about.read_only
    }

    /// Returns the context of the request.
    #[must_use]
    pub fn context(&self) -> &HandlerContext {
        &self.request.context
    }

    /// Returns the principal on whose behalf the request is made, if the transport established one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.request.context.principal()
    }

    /// Returns the arguments of a tool or prompt as the JSON object that arrived, or that
    /// [`set_arguments`](Self::set_arguments) put in its place. `None` if there are none, and for
    /// other kinds of requests, whose parameters are in [`params`](Self::params).
    #[must_use]
    pub fn raw_arguments(&self) -> Option<RawJson<'_>> {
        self.request.arguments()
    }

    /// Decodes the arguments of a tool or prompt; absent ones as an empty object.
    ///
    /// They are those of the client: no schema was checked yet, and no default filled in.
    ///
    /// # Errors
    /// Invalid params, when the arguments are not a `T`.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ProtocolError> {
        let text = self.raw_arguments().map_or("{}", RawJson::as_str);
        decode(text, "arguments")
    }

    /// Replaces the arguments of a tool or prompt; `arguments` must be a JSON object. The handler
    /// checks and decodes them as if the client had sent them. Other kinds of requests stay as they
    /// are.
    ///
    /// # Errors
    /// When `arguments` have no JSON form, or are not an object.
    pub fn set_arguments<T: Serialize + ?Sized>(
        &mut self,
        arguments: &T,
    ) -> Result<(), ProtocolError> {
        let json = Json::encode(arguments).map_err(|error| {
            ProtocolError::internal(format!("a layer's arguments have no JSON form: {error}"))
        })?;
        if !json.is_object() {
            return Err(ProtocolError::internal(
                "a layer's arguments must be a JSON object",
            ));
        }
        self.request.replace_arguments(json);
        Ok(())
    }

    /// Redacts the log messages and progress that the handler sends.
    pub(crate) fn add_redaction(&mut self, redact: Arc<Redact>) {
        self.request.add_redaction(redact);
    }

    /// Decodes all parameters of the message as the client sent them, for instance as a
    /// `ReadResourceRequestParams`, `CompleteRequestParams` or `PaginatedRequestParams`.
    ///
    /// # Errors
    /// Invalid params, when the parameters are not a `T`.
    pub fn params<T: DeserializeOwned>(&self) -> Result<T, ProtocolError> {
        let text = raw_params(self.request.context.text()).map_or("{}", RawJson::as_str);
        decode(text, "parameters")
    }
}

fn decode<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, ProtocolError> {
    serde_json::from_str(text).map_err(|error| {
        let reason = describe_mismatch(text, &error);
        ProtocolError::invalid_params(format!("the {what} do not match: {reason}"))
    })
}

debug_fields!(CallRequest {
    kind = |call| call.kind(),
    name = |call| call.name().to_owned(),
    request,
});
