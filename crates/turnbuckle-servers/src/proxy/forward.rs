//! Forwards one request: its progress, its cancellation, and the questions inside of it.

use std::pin::{Pin, pin};

use tokio::sync::mpsc;
use turnbuckle_client::{FormAnswer, RequestBuilder, SamplingRejected, ServerMethod, UrlAnswer};
use turnbuckle_server::{Ask, AskError, Failure, HandlerContext, Result};
use turnbuckle_types::{
    ElicitAction, ElicitRequestFormParams, ErrorKind, ProgressNotificationParams, ProtocolError,
};

use crate::error::Error;
use crate::proxy::active_calls::{ActiveCalls, Asked, CURRENT};
use crate::request::ServerRequest;
use crate::view::merged_uris::MergedUris;

/// The most reports of progress that wait for the client; further ones are left out.
const MAX_WAITING_REPORTS: usize = 64;

/// Sends a request to the server that has the item, and returns its result.
pub(super) async fn forward<M>(
    calls: &ActiveCalls,
    request: ServerRequest<M>,
    context: &HandlerContext,
    ask: &Ask,
) -> Result<M::Result>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    let server = request.server().unwrap_or_default().into();
    let session = context.session_change_feed().cloned();
    let (_guard, questions, mut asked) = calls.add(server, session);
    let (reports, mut reported) = mpsc::channel::<ProgressNotificationParams>(MAX_WAITING_REPORTS);
    let request = request.configure(|request: RequestBuilder<M>| {
        request.on_progress(move |report| {
            let _ = reports.try_send(report);
        })
    });
    let mut sending = pin!(CURRENT.scope(questions, async move { request.send().await }));
    let mut asking: Option<Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>> = None;
    loop {
        tokio::select! {
            // Reports that came before the result are sent before it.
            biased;
            Some(report) = reported.recv() => {
                let ProgressNotificationParams { progress, total, message, .. } = report;
                context.progress_message(progress, total, message.unwrap_or_default()).await;
            }
            outcome = &mut sending => return outcome.map_err(to_failure),
            () = context.cancelled() => return Err(Failure::new("the request was cancelled")),
            outcome = next_answer(&mut asking) => {
                outcome?;
                asking = None;
            }
            Some(question) = asked.recv(), if asking.is_none() => {
                asking = Some(Box::pin(answer(ask, question)));
            }
        }
    }
}

async fn next_answer<F: Future + Unpin>(asking: &mut Option<F>) -> F::Output {
    match asking {
        Some(asking) => asking.await,
        None => std::future::pending().await,
    }
}

/// Asks the client and passes its answer on. Fails if the request has to end for the question.
async fn answer(ask: &Ask, question: Asked) -> Result<()> {
    // A server that no longer waits for an answer needs none.
    match question {
        Asked::Form(form, answer) => {
            let params = ElicitRequestFormParams::new(form.message, form.schema);
            let given = match ask.raw_form(params).await {
                Ok(result) => match result.action {
                    ElicitAction::Accept => FormAnswer::Accept(result.content.unwrap_or_default()),
                    ElicitAction::Decline => FormAnswer::Decline,
                    _ => FormAnswer::Cancel,
                },
                Err(error) => match refusal(error)? {
                    true => FormAnswer::Decline,
                    false => FormAnswer::Cancel,
                },
            };
            let _ = answer.send(given);
        }
        Asked::Url(request, answer) => {
            let given = match ask.url(request.message, request.url).await {
                Ok(()) => UrlAnswer::Accept,
                Err(error) => match refusal(error)? {
                    true => UrlAnswer::Decline,
                    false => UrlAnswer::Cancel,
                },
            };
            let _ = answer.send(given);
        }
        Asked::Sampling(params, answer) => {
            let given = match ask.sample(*params).await {
                Ok(result) => Ok(result),
                Err(error) => {
                    refusal(error)?;
                    Err(SamplingRejected.into())
                }
            };
            let _ = answer.send(given);
        }
    }
    Ok(())
}

/// Returns whether the user declined (`true`) or gave no answer (`false`); fails for an error that
/// ends the request.
fn refusal(error: AskError) -> Result<bool> {
    match error {
        AskError::Declined => Ok(true),
        AskError::Cancelled | AskError::Unsupported(_) | AskError::Malformed(_) => Ok(false),
        error => Err(error.into()),
    }
}

/// Returns the failure for the client. An error of the protocol keeps its code.
pub(super) fn to_failure(error: Error) -> Failure {
    let Some(turnbuckle_client::Error::ErrorResponse(response)) = error.request_error() else {
        return Failure::new(error.to_string());
    };
    let kind = match response.code {
        -32602 => ErrorKind::InvalidParams,
        -32603 => ErrorKind::Internal,
        code => ErrorKind::Application(code),
    };
    let failure = ProtocolError::new(kind, response.message.clone());
    match &response.data {
        Some(data) => failure.with_data(data).into(),
        None => failure.into(),
    }
}
