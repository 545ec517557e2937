//! Requests of extensions, whose methods a proxy does not know.

use std::sync::{Arc, OnceLock};

use tokio::time::Instant;
use turnbuckle_server::{Failure, HandlerContext, Result, ServerBuilder};
use turnbuckle_session::internal::FailureCause;
use turnbuckle_types::{
    ErrorKind, Json, Map, Meta, ProtocolError, RawObject, TASKS_EXTENSION, UpstreamFailure, meta,
};

use crate::error::Error;
use crate::member::state::Member;
use crate::proxy::call_error::OrFailure as _;
use crate::proxy::capability_cache;
use crate::proxy::forwarded_meta::forwarded_meta;
use crate::proxy::route::Route;
use crate::request::ServerRequest;
use crate::servers::Servers;

/// The member of parameters and results with their metadata.
const META: &str = "_meta";

/// Passes requests of methods that the proxy does not know on to its servers.
pub(super) fn install(server: ServerBuilder, route: Arc<OnceLock<Route>>) -> ServerBuilder {
    server.unknown_method(move |method: String, params, context: HandlerContext| {
        let route = route.get().cloned();
        async move {
            let route = route.ok_or_else(|| Failure::new("the proxy is not started"))?;
            pass_on(&route, &method, params, &context).await
        }
    })
}

/// Sends a request to the server that it belongs to, and returns its result. Questions in the result and their
/// answers are passed on as they are.
async fn pass_on(
    route: &Route,
    method: &str,
    mut params: Map<Json>,
    context: &HandlerContext,
) -> Result<Map<Json>> {
    let servers = route.servers()?;
    let member = owner(&servers, method, context)?;
    let request = ServerRequest::new(
        member.clone(),
        member.request_client().or_failure(context)?.ping(),
    );
    let begun = Instant::now();
    let (_, _active, lease) = route.begin(request, context).await?;
    let lease = lease.ok_or_else(|| Failure::new("there is no connection for the request"))?;
    let mut meta = forwarded_meta(context);
    // The proxy has no tasks of methods that it does not know.
    let capabilities = capability_cache::encode_capabilities(context, None)?;
    meta.insert_unchecked(meta::CLIENT_CAPABILITIES, capabilities.into());
    params.insert(META, Json::encode(&meta)?);
    let params = RawObject::encode(&params)?;
    let timeout = member.options.total_timeout;
    let timeout = timeout.map(|it| it.saturating_sub(begun.elapsed()));
    let sent = lease.client().request_raw(method, Some(params), timeout);
    let result = tokio::select! {
        result = sent => result,
        () = context.cancelled() => return Err(Failure::new("the request was cancelled")),
    };
    let result = result.map_err(|error| Error::Request {
        server: member.name.clone(),
        error,
    });
    let result = result.or_failure(context)?;
    let bytes = result.as_str().len();
    if member
        .options
        .max_result_bytes
        .is_some_and(|max| bytes > max)
    {
        let reason = format!("the result of {method:.64} has too many bytes: {bytes}");
        context.set_failure_cause(FailureCause::Upstream(UpstreamFailure::ResultTooLarge));
        return Err(Failure::new(reason));
    }
    let mut result: Map<Json> = result.decode()?;
    let own_meta = result
        .remove(META)
        .and_then(|meta| meta.decode::<Meta>().ok());
    if let Some(mut own_meta) = own_meta {
        own_meta.remove(meta::SERVER_INFO);
        if !own_meta.is_empty() {
            result.insert(META, Json::encode(&own_meta)?);
        }
    }
    Ok(result)
}

/// Returns the server that declares an extension which the client declares, too.
///
/// # Errors
/// If there is none, or several: the method does not say which extension it is of.
fn owner(
    servers: &Servers,
    method: &str,
    context: &HandlerContext,
) -> Result<Arc<Member>, ProtocolError> {
    let members = servers.state().members.iter();
    let mut owners = members.filter(|member| {
        let info = member.status().info;
        info.is_some_and(|info| {
            let mut extensions = info.capabilities.extensions.keys();
            extensions.any(|id| id != TASKS_EXTENSION && context.declares_extension(id))
        })
    });
    let problem = match (owners.next(), owners.next()) {
        (Some(owner), None) => return Ok(owner.clone()),
        (None, _) => "no server has an extension that the client declares",
        (Some(_), Some(_)) => "several servers have extensions that the client declares",
    };
    let message = format!("there is no method \"{method:.64}\" here: {problem}");
    Err(ProtocolError::new(ErrorKind::MethodNotFound, message))
}
