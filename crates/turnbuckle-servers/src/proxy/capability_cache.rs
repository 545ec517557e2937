//! The capabilities of the clients of a proxy, as servers of the modern era read them with each request. Servers of a session
//! read them in its handshake.

use std::sync::{Arc, Mutex, PoisonError};

use turnbuckle_client::{Client, EraKind, RequestBuilder, ServerMethod};
use turnbuckle_server::HandlerContext;
use turnbuckle_types::{ClientCapabilities, Json, RawObject, TASKS_EXTENSION};

/// The capabilities of the client that was served last, with their encoded form.
#[derive(Default)]
pub(super) struct CapabilityCache {
    /// The last ones: a client sends the same with each request.
    last: Mutex<Option<Declaration>>,
}

/// The capabilities of a client, and those that servers read of them.
struct Declaration {
    /// The capabilities as the client has sent them with its request; `None` if it has sent them in its handshake.
    received: Option<Box<str>>,
    client: ClientCapabilities,
    sent: Arc<RawObject>,
}

impl Declaration {
    fn is_of(&self, context: &HandlerContext) -> bool {
        match (&self.received, context.raw_client_capabilities()) {
            (Some(received), Some(raw)) => **received == *raw,
            (None, None) => self.client == *context.client_capabilities(),
            _ => false,
        }
    }
}

impl CapabilityCache {
    /// Adds the capabilities of the client of `context` to a request to a server of the modern era.
    pub(super) fn declare<M: ServerMethod>(
        &self,
        request: RequestBuilder<M>,
        client: &Client,
        context: &HandlerContext,
    ) -> RequestBuilder<M> {
        let info = client.server_info();
        if info.is_none_or(|info| info.era() != EraKind::Modern) {
            return request;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(declaration) = last.as_ref().filter(|it| it.is_of(context)) {
            return request.capabilities(declaration.sent.clone());
        }
        // The proxy waits for tasks where its client does not.
        let tasks = context.extension(TASKS_EXTENSION).map(Json::from);
        let sent = encode_capabilities(context, Some(tasks.unwrap_or_else(Json::empty_object)));
        let Ok(sent) = sent.map(Arc::new) else {
            return request;
        };
        *last = Some(Declaration {
            received: context.raw_client_capabilities().map(Into::into),
            client: context.client_capabilities().clone(),
            sent: sent.clone(),
        });
        request.capabilities(sent)
    }
}

/// Returns the capabilities of the client of a request, with these settings of tasks.
///
/// # Errors
/// If they have no JSON form.
pub(super) fn encode_capabilities(
    context: &HandlerContext,
    tasks: Option<Json>,
) -> Result<RawObject, serde_json::Error> {
    let mut capabilities = context.client_capabilities().clone();
    capabilities.tasks = None;
    capabilities.extensions.remove(TASKS_EXTENSION);
    if let Some(tasks) = tasks {
        capabilities.extensions.insert(TASKS_EXTENSION, tasks);
    }
    RawObject::encode(&capabilities)
}
