//! A request to a server: what the server tells of it, its questions and its end.

use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use turnbuckle_client::{RequestBuilder, ServerMethod};
use turnbuckle_server::{HandlerContext, Result};
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::{LoggingMessageNotificationParams, ProgressNotificationParams};

use crate::error::Error;
use crate::proxy::active_calls::ActiveCall;
use crate::proxy::call_error::CallError;
use crate::proxy::elsewhere::ForeignExchange;
use crate::proxy::elsewhere::message::Content;
use crate::proxy::from_server::{self, FromServer, OpenQuestion};
use crate::proxy::parked::{ParkedCall, ParkingPlace};
use crate::proxy::question::{Answer, Question};
use crate::proxy::route::Route;
use crate::request::ServerRequest;
use crate::view::merged_uris::{MergedUris, sealed};

/// The most reports of progress that wait for the client; further ones are left out.
const MAX_WAITING_REPORTS: usize = 64;

/// A request to a server. Dropping the value cancels the request.
pub(super) struct UpstreamCall<M: ServerMethod> {
    /// The request. The session receives its response, also while nobody polls this.
    sending: Pin<Box<dyn Future<Output = std::result::Result<M::Result, Error>> + Send>>,
    /// Boxed, as are the messages of the other channel: a channel has room for 32 from the start.
    reported: mpsc::Receiver<Box<ProgressNotificationParams>>,
    asked: mpsc::Receiver<Box<FromServer>>,
    /// The question that the client has not answered.
    open: Option<OpenQuestion>,
    /// The questions that the client has answered.
    answered: Vec<Question>,
    /// The right to wait for answers that come in other requests.
    pub(super) place: Option<ParkingPlace>,
    /// The principal that sent the request.
    owner: Option<SessionOwner>,
    _active: ActiveCall,
}

/// An event of a request to a server.
pub(super) enum CallEvent<R> {
    Progress(ProgressNotificationParams),
    Log(LoggingMessageNotificationParams),
    /// There is an [open question](UpstreamCall::open_question).
    Question,
    Ended(std::result::Result<R, CallError>),
}

impl<M> UpstreamCall<M>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    /// Sends the request once the client may have another one at the server.
    pub(super) async fn start(
        route: &Route,
        request: ServerRequest<M>,
        context: &HandlerContext,
    ) -> Result<Self> {
        let calls = &route.calls;
        let server: Arc<str> = request.server().unwrap_or_default().into();
        let active = calls
            .begin(server, request.max_in_flight(), context)
            .await?;
        let lease = route.connect(&request, context).await?;
        let request = request.with_lease(lease);
        let session_level = active.lowest_log_level();
        let log_level = context.log_level();
        let (tag, asked) = from_server::tag(context, &calls.keys, request.has_own_connection());
        let (reports, reported) = mpsc::channel(MAX_WAITING_REPORTS);
        let taskable = context.takes_task().then(|| context.clone());
        let request = request.configure(|mut request: RequestBuilder<M>| {
            if let Some(context) = taskable {
                request = request.on_task(move |_| context.continue_as_task());
            }
            let request = request.tag(tag).on_progress(move |report| {
                let _ = reports.try_send(Box::new(report));
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
            sending: Box::pin(sending),
            reported,
            asked,
            open: None,
            answered: Vec::new(),
            place: None,
            owner: context.principal().map(SessionOwner::from),
            _active: active,
        })
    }

    /// Returns the next event. Reports, log messages and questions that came before the result are returned
    /// before it.
    pub(super) async fn next(&mut self) -> CallEvent<M::Result> {
        tokio::select! {
            biased;
            Some(report) = self.reported.recv() => CallEvent::Progress(*report),
            Some(message) = self.asked.recv() => match *message {
                FromServer::Log(message) => CallEvent::Log(message),
                FromServer::Question(question) => {
                    self.open = Some(question);
                    CallEvent::Question
                }
            },
            outcome = &mut self.sending => CallEvent::Ended(match outcome {
                Ok(mut result) => {
                    sealed::Rewrite::remove_envelope(&mut result);
                    Ok(result)
                }
                Err(error) => Err(error.into()),
            }),
        }
    }

    /// Returns the question that waits for an answer.
    pub(super) fn open_question(&self) -> Option<&Question> {
        self.open.as_ref().map(|open| &open.question)
    }

    /// Returns the questions that were answered.
    pub(super) fn closed_questions(&self) -> &[Question] {
        &self.answered
    }

    /// Passes the answer to the open question on, or nothing if there can be none.
    pub(super) fn close_question(&mut self, answer: Option<Answer>) {
        if let Some(open) = self.open.take()
            && let Some(answer) = answer
        {
            // A server that no longer waits for an answer needs none.
            let _ = open.answer.send(answer);
            self.answered.push(open.question);
        }
    }

    /// Returns whether the request waits for its client, and has the right to.
    pub(super) fn can_be_parked(&self) -> bool {
        self.open.is_some() && self.place.is_some()
    }
}

impl<M> ParkedCall for UpstreamCall<M>
where
    M: ServerMethod,
    M::Result: MergedUris,
{
    fn owner(&self) -> Option<&SessionOwner> {
        self.owner.as_ref()
    }

    fn questions(&self) -> Vec<Question> {
        let answered = self.answered.iter();
        answered.chain(self.open_question()).cloned().collect()
    }

    fn question_count(&self) -> usize {
        self.answered.len() + usize::from(self.open.is_some())
    }

    fn answer_from_elsewhere(
        mut self: Box<Self>,
        answer: Answer,
        mut exchange: ForeignExchange,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            self.close_question(Some(answer));
            loop {
                let event = tokio::select! {
                    biased;
                    () = exchange.wait_for_end() => return,
                    event = self.next() => event,
                };
                let is_there = match event {
                    CallEvent::Progress(report) => exchange.report(Content::Progress(report)).await,
                    CallEvent::Log(message) => exchange.report(Content::Log(message)).await,
                    CallEvent::Question => return exchange.park(self).await,
                    CallEvent::Ended(outcome) => return exchange.end(outcome).await,
                };
                if !is_there {
                    return;
                }
            }
        })
    }
}
