//! The `_meta` of a request, as a proxy passes it on.

use turnbuckle_client::{Client, EraKind};
use turnbuckle_server::HandlerContext;
use turnbuckle_types::{Json, Meta, TASKS_EXTENSION, meta};

/// The keys that are about the connection which a message came on.
const CONNECTION_KEYS: [&str; 6] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::RELATED_TASK,
];

/// Returns the `_meta` of a request as it is passed on.
pub(super) fn forwarded_meta(context: &HandlerContext) -> Meta {
    context.meta_without(&CONNECTION_KEYS)
}

/// Returns the `_meta` of a request as it is passed on to a server that may ask the client. A server of the modern era
/// reads there which questions the client has; that of a session has read it in the handshake of the proxy.
pub(super) fn asking_meta(context: &HandlerContext, client: &Client) -> Meta {
    let mut meta = forwarded_meta(context);
    let info = client.server_info();
    if info.is_some_and(|info| info.era() == EraKind::Modern) {
        // The proxy waits for tasks where its client does not.
        declare_client(&mut meta, context, Some(Json::empty_object()));
    }
    meta
}

/// Adds the capabilities of the client, with these settings of tasks if it has none. Without settings, it gets no tasks.
pub(super) fn declare_client(meta: &mut Meta, context: &HandlerContext, tasks: Option<Json>) {
    let mut capabilities = context.client_capabilities().clone();
    capabilities.tasks = None;
    let extensions = &mut capabilities.extensions;
    match tasks {
        Some(_) if extensions.contains_key(TASKS_EXTENSION) => {}
        Some(settings) => {
            extensions.insert(TASKS_EXTENSION, settings);
        }
        None => {
            extensions.remove(TASKS_EXTENSION);
        }
    }
    if let Ok(capabilities) = Json::encode(&capabilities) {
        meta.insert_unchecked(meta::CLIENT_CAPABILITIES, capabilities);
    }
}
