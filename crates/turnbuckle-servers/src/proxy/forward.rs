//! Forwards one request: its progress, its cancellation, and the questions inside of it.

use std::any::Any;

use turnbuckle_client::ServerMethod;
use turnbuckle_server::{Ask, Failure, HandlerContext, Result};
use turnbuckle_types::{LoggingMessageNotificationParams, ProgressNotificationParams};

use crate::proxy::active_calls::ActiveCalls;
use crate::proxy::call::{CallEvent, UpstreamCall};
use crate::proxy::elsewhere::call_is_gone;
use crate::proxy::elsewhere::message::Content;
use crate::proxy::elsewhere::remote_call::RemoteCall;
use crate::proxy::parked::ParkingPlace;
use crate::proxy::question::Unanswered;
use crate::proxy::route::Route;
use crate::request::ServerRequest;
use crate::view::merged_uris::MergedUris;

/// The name under which the id of a call is kept for the client's next request.
const CALL_ID: &str = "proxied call";

/// Sends a request to the server that has the item, and returns its result.
///
/// A client of the modern era answers a question in another request, for which the handler begins
/// again. The request to the server waits meanwhile, and is taken up where it was, also if it waits at
/// another instance. If it is gone, the call fails: the server is never asked to begin again.
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
    // A client of the legacy era answers while the handler waits.
    let parked: Option<String> = match context.is_legacy() {
        true => None,
        false => ask.once_value(CALL_ID)?,
    };
    let upstream = match parked {
        None => UpstreamCall::start(route, request, context).await?,
        Some(id) => {
            if let Some(call) = calls.call_elsewhere(&id, context) {
                return Box::pin(forward_elsewhere::<M>(&call, context, ask)).await;
            }
            let parked = calls.parked.take(&id);
            let parked = parked.map(|call| call as Box<dyn Any + Send>);
            let parked = parked.and_then(|call| call.downcast::<UpstreamCall<M>>().ok());
            let mut parked = parked.ok_or_else(call_is_gone)?;
            parked.resume(context);
            parked
        }
    };
    // When the call ends at a question, the request to the server is kept.
    let mut upstream = scopeguard::guard(upstream, |upstream| {
        if let Some(id) = upstream.parking_id().map(str::to_owned) {
            calls.parked.park(id, upstream);
        }
    });
    let upstream = &mut **upstream;
    for question in upstream.closed_questions() {
        Box::pin(question.ask(ask, context))
            .await
            .map_err(|unanswered| unanswered.failure)?;
    }
    let mut asking = None;
    loop {
        if asking.is_none()
            && let Some(question) = upstream.open_question().cloned()
        {
            asking = Some(Box::pin(async move { question.ask(ask, context).await }));
        }
        let event = tokio::select! {
            biased;
            // First of all: a request that brings the answer has to ask again before it goes on.
            answer = wait_for_answer(&mut asking) => {
                asking = None;
                match answer {
                    Ok(answer) => upstream.close_question(answer),
                    Err(unanswered) => {
                        if !unanswered.may_be_answered {
                            upstream.place = None;
                        }
                        return Err(unanswered.failure);
                    }
                }
                continue;
            }
            event = upstream.next() => event,
            () = context.cancelled() => {
                upstream.place = None;
                return Err(cancelled());
            }
        };
        match event {
            CallEvent::Progress(report) => Box::pin(pass_progress(*report, context)).await,
            CallEvent::Log(message) => Box::pin(pass_log(*message, context)).await,
            CallEvent::Question => {
                if !context.is_legacy() && upstream.place.is_none() {
                    upstream.place = Some(Box::pin(reserve_place(calls, context, ask)).await?);
                }
            }
            // The client is told that nobody waits for its answer.
            CallEvent::Withdrawn => asking = None,
            CallEvent::Ended(outcome) => {
                return outcome.map_err(|error| error.into_failure(context));
            }
        }
    }
}

/// Waits for the answer to the question that the client is asked.
async fn wait_for_answer<F: Future + Unpin>(asking: &mut Option<F>) -> F::Output {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Waits for the right of a call to wait for its client, and keeps the id of the call for the client's next
/// request.
async fn reserve_place(
    calls: &ActiveCalls,
    context: &HandlerContext,
    ask: &Ask,
) -> Result<ParkingPlace> {
    let id = ask.once(CALL_ID, async { Ok(calls.next_id()) }).await?;
    calls.parked.reserve(calls.keys.key(context), id).await
}

/// Goes on with a call that waits at another instance, and returns its result.
async fn forward_elsewhere<M: ServerMethod>(
    call: &RemoteCall,
    context: &HandlerContext,
    ask: &Ask,
) -> Result<M::Result> {
    let mut answered = tokio::select! {
        questions = call.questions() => questions?,
        () = context.cancelled() => return Err(cancelled()),
    };
    let mut open = answered.pop().ok_or_else(call_is_gone)?;
    let mut asked = answered.len() + 1;
    for question in &answered {
        let answered = question.ask(ask, context).await;
        answered.map_err(|unanswered| unanswered.failure)?;
    }
    loop {
        let answer = tokio::select! {
            answer = open.ask(ask, context) => answer,
            () = context.cancelled() => Err(Unanswered::for_ever(cancelled())),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(unanswered) => {
                if !unanswered.may_be_answered {
                    call.cancel().await;
                }
                return Err(unanswered.failure);
            }
        };
        let mut exchange = call.answer(asked, answer)?;
        open = loop {
            let content = tokio::select! {
                content = exchange.next() => content?,
                () = context.cancelled() => return Err(cancelled()),
            };
            match content {
                Content::Progress(report) => pass_progress(report, context).await,
                Content::Log(message) => pass_log(message, context).await,
                Content::Question(question) => break question,
                Content::Ended(outcome) => {
                    let result = outcome.map_err(|error| error.into_failure(context))?;
                    let result = result.decode();
                    return result.map_err(|error| Failure::new(error.to_string()));
                }
                _ => {}
            }
        };
        asked += 1;
    }
}

async fn pass_progress(report: ProgressNotificationParams, context: &HandlerContext) {
    let ProgressNotificationParams {
        progress,
        total,
        message,
        ..
    } = report;
    match message {
        Some(message) => context.progress_message(progress, total, message).await,
        None => context.progress(progress, total).await,
    }
}

async fn pass_log(message: LoggingMessageNotificationParams, context: &HandlerContext) {
    let logger = message.logger.as_deref();
    context.log(message.level, logger, &message.data).await;
}

fn cancelled() -> Failure {
    Failure::new("the request was cancelled")
}
