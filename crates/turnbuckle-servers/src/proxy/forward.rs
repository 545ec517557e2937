//! Forwards one request: its progress, its cancellation, and the questions inside of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use turnbuckle_client::{RequestBuilder, ServerMethod};
use turnbuckle_server::{Ask, Failure, HandlerContext, Result};
use turnbuckle_types::{ErrorKind, ProgressNotificationParams, ProtocolError};

use crate::error::Error;
use crate::proxy::active_calls::ActiveCall;
use crate::proxy::from_server::{self, FromServer, OpenQuestion};
use crate::proxy::items::Route;
use crate::proxy::parked::ParkingPlace;
use crate::proxy::question::Question;
use crate::request::ServerRequest;
use crate::servers::Servers;
use crate::view::merged_uris::{MergedUris, sealed};

/// The most reports of progress that wait for the client; further ones are left out.
const MAX_WAITING_REPORTS: usize = 64;

/// The error of a call that its client answers although the proxy no longer has it.
const CALL_IS_GONE: &str = "the call that this answer belongs to is no longer open: it waited for ten \
     minutes, was answered before, or was at another instance; call again, without requestState";

/// Sends a request to the server that has the item, and returns its result.
///
/// A client of the modern era answers a question in another request, for which the handler begins
/// again. The request to the server waits meanwhile, and is taken up where it was. If it is gone, the
/// call fails: the server is never asked to begin again.
pub(super) async fn forward<M>(
    route: &Route,
    request: ServerRequest<M>,
    context: &HandlerContext,
    ask: &Ask,
) -> Result<M::Result>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    let calls = &route.calls;
    let mut is_new = false;
    // Another request for the same call finds the request to the server by its id.
    let id: String = ask
        .once("proxied call", async {
            is_new = true;
            Ok(calls.parked.next_id())
        })
        .await?;
    let upstream = match is_new {
        true => Upstream::start(route, request, context).await?,
        false => {
            let parked = calls.parked.take(&id);
            let parked = parked.and_then(|call| call.downcast::<Upstream<M>>().ok());
            *parked.ok_or_else(|| ProtocolError::invalid_params(CALL_IS_GONE))?
        }
    };
    // A client of the legacy era answers while the handler waits.
    let id = (!context.is_legacy()).then_some(id);
    // When the call ends at a question, the request to the server is kept.
    let mut upstream = scopeguard::guard(upstream, |upstream| {
        if let Some(id) = id
            && upstream.open.is_some()
        {
            calls.parked.park(id, Box::new(upstream));
        }
    });
    let upstream = &mut *upstream;
    let is_resumed = !is_new;
    if is_resumed {
        upstream.ask_again(ask, context).await?;
    }
    loop {
        tokio::select! {
            // Reports, log messages and questions that came before the result are sent before it.
            biased;
            Some(report) = upstream.reported.recv() => {
                let ProgressNotificationParams { progress, total, message, .. } = report;
                match message {
                    Some(message) => context.progress_message(progress, total, message).await,
                    None => context.progress(progress, total).await,
                }
            }
            Some(message) = upstream.asked.recv() => match message {
                FromServer::Log(message) => {
                    let logger = message.logger.as_deref();
                    context.log(message.level, logger, &message.data).await;
                }
                FromServer::Question(question) => {
                    if !context.is_legacy() && upstream.place.is_none() {
                        let client = calls.keys.key(context);
                        upstream.place = Some(calls.parked.reserve(client).await?);
                    }
                    upstream.open = Some(question);
                    upstream.answer(ask, context).await?;
                }
            },
            outcome = &mut upstream.task => {
                let ended = |_| Failure::new("the request to the server has ended");
                let mut result = outcome.map_err(ended)?.map_err(to_failure)?;
                sealed::Rewrite::remove_envelope(&mut result);
                return Ok(result);
            }
            () = context.cancelled() => return Err(Failure::new("the request was cancelled")),
        }
    }
}

/// Gives a request the connection that is for its client, which is opened if there is none.
pub(super) async fn connect<M: ServerMethod>(
    servers: &Servers,
    request: ServerRequest<M>,
    context: &HandlerContext,
) -> Result<ServerRequest<M>> {
    let lease = match request.server() {
        Some(server) => servers.acquire(server, context).await,
        // It fails when it is sent.
        None => return Ok(request),
    };
    Ok(request.with_lease(lease.map_err(to_failure)?))
}

/// A request to a server, in a task of its own. Dropping the value cancels the request.
struct Upstream<M: ServerMethod> {
    task: UpstreamTask<M>,
    reported: mpsc::Receiver<ProgressNotificationParams>,
    asked: mpsc::Receiver<FromServer>,
    /// The question that the client has not answered.
    open: Option<OpenQuestion>,
    /// The questions that the client has answered.
    answered: Vec<Question>,
    /// The right to wait for answers that come in other requests.
    place: Option<ParkingPlace>,
    _active: ActiveCall,
}

struct UpstreamTask<M: ServerMethod>(JoinHandle<std::result::Result<M::Result, Error>>);

impl<M: ServerMethod> Future for UpstreamTask<M> {
    type Output = std::result::Result<std::result::Result<M::Result, Error>, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<M: ServerMethod> Drop for UpstreamTask<M> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<M> Upstream<M>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    /// Sends the request once the client may have another one at the server.
    async fn start(
        route: &Route,
        request: ServerRequest<M>,
        context: &HandlerContext,
    ) -> Result<Self> {
        let calls = &route.calls;
        let server: Arc<str> = request.server().unwrap_or_default().into();
        let active = calls
            .begin(server, request.max_in_flight(), context)
            .await?;
        let servers = route.servers()?;
        let request = connect(&servers, request, context).await?;
        let session_level = active.lowest_log_level();
        let log_level = context.log_level();
        let (tag, asked) = from_server::tag(context, &calls.keys);
        let (reports, reported) = mpsc::channel(MAX_WAITING_REPORTS);
        let taskable = context.takes_task().then(|| context.clone());
        let request = request.configure(|mut request: RequestBuilder<M>| {
            if let Some(context) = taskable {
                request = request.on_task(move |_| context.continue_as_task());
            }
            let request = request.tag(tag).on_progress(move |report| {
                let _ = reports.try_send(report);
            });
            match log_level {
                Some(level) => request.log_level(level),
                None => request,
            }
        });
        let sending = async move {
            request
                .set_session_log_level(log_level, session_level)
                .await;
            request.send().await
        };
        Ok(Self {
            task: UpstreamTask(tokio::spawn(sending)),
            reported,
            asked,
            open: None,
            answered: Vec::new(),
            place: None,
            _active: active,
        })
    }

    /// Asks the open question, and passes the answer on. The question stays open if the future is
    /// dropped.
    async fn answer(&mut self, ask: &Ask, context: &HandlerContext) -> Result<()> {
        let Some(open) = &self.open else {
            return Ok(());
        };
        let answer = tokio::select! {
            answer = open.question.ask(ask) => answer,
            () = context.cancelled() => Err(Failure::new("the request was cancelled")),
        };
        // Nobody comes back to a question that has failed.
        let open = self.open.take();
        let answer = answer?;
        if let Some(open) = open {
            // A server that no longer waits for an answer needs none.
            let _ = open.answer.send(answer);
            self.answered.push(open.question);
        }
        Ok(())
    }

    /// Asks all questions again, of which the client has answered the open one too.
    async fn ask_again(&mut self, ask: &Ask, context: &HandlerContext) -> Result<()> {
        for question in &self.answered {
            question.ask(ask).await?;
        }
        self.answer(ask, context).await
    }
}

/// The code of "resource not found" in the revisions that have one.
const RESOURCE_NOT_FOUND: i64 = -32002;

/// Returns the failure for the client. An error of the protocol keeps its code.
pub(super) fn to_failure(error: Error) -> Failure {
    let Some(turnbuckle_client::Error::ErrorResponse(response)) = error.request_error() else {
        return Failure::new(error.to_string());
    };
    let kind = match response.code {
        -32600 => ErrorKind::InvalidRequest,
        -32601 => ErrorKind::MethodNotFound,
        -32602 => ErrorKind::InvalidParams,
        -32603 => ErrorKind::Internal,
        RESOURCE_NOT_FOUND => ErrorKind::ResourceNotFound,
        code => ErrorKind::Forwarded(code),
    };
    let failure = ProtocolError::new(kind, response.message.clone());
    match &response.data {
        Some(data) => failure.with_data(data).into(),
        None => failure.into(),
    }
}
