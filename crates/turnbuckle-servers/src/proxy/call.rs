//! A request to a server: what the server tells of it, its questions and its end.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use turnbuckle_client::{RequestBuilder, ServerMethod};
use turnbuckle_server::{HandlerContext, Result};
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::{LoggingMessageNotificationParams, ProgressNotificationParams, Request};

use crate::error::Error;
use crate::proxy::active_calls::ActiveCall;
use crate::proxy::call_error::{CallError, may_read_process_output};
use crate::proxy::call_messages::{self, CallMessage, CallMessages};
use crate::proxy::elsewhere::ForeignExchange;
use crate::proxy::elsewhere::message::Content;
use crate::proxy::from_server::{self, OpenQuestion};
use crate::proxy::parked::{ParkedCall, ParkingPlace};
use crate::proxy::question::{Answer, Question};
use crate::proxy::route::Route;
use crate::request::ServerRequest;
use crate::view::merged_uris::{MergedUris, sealed};

/// A request to a server. Dropping the value cancels the request. It is boxed: it waits for its client in one.
pub(super) struct UpstreamCall<M: ServerMethod> {
    /// The request. The session receives its response, also while nobody polls this.
    sending: Pin<Box<dyn Future<Output = Outcome<M>> + Send>>,
    /// The result, while messages wait that came before it.
    outcome: Option<Box<Outcome<M>>>,
    messages: CallMessages,
    /// The question that the client has not answered.
    open: Option<Box<OpenQuestion>>,
    /// The questions that the client has answered.
    answered: Vec<Question>,
    /// The right to wait for answers that come in other requests.
    pub(super) place: Option<ParkingPlace>,
    /// The newest request of the client, which becomes a task if that at the server does.
    task: Option<TaskRequest>,
    /// The principal that sent the request.
    owner: Option<SessionOwner>,
    /// True if the client may read what the process of the server has written.
    has_process_output: bool,
    /// The share of the server's requests, until the request has ended.
    active: Option<ActiveCall>,
}

/// The request of a client whose call may become a task.
type TaskRequest = Arc<Mutex<HandlerContext>>;

fn lock(task: &Mutex<HandlerContext>) -> MutexGuard<'_, HandlerContext> {
    task.lock().unwrap_or_else(PoisonError::into_inner)
}

type Outcome<M> = std::result::Result<<M as Request>::Result, Error>;

/// An event of a request to a server.
pub(super) enum CallEvent<R> {
    Progress(Box<ProgressNotificationParams>),
    Log(Box<LoggingMessageNotificationParams>),
    /// There is an [open question](UpstreamCall::open_question).
    Question,
    /// The server no longer waits for the answer to the open question.
    Withdrawn,
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
    ) -> Result<Box<Self>> {
        let (request, active, lease) = route.begin(request, context).await?;
        let session_level = active.lowest_log_level();
        let log_level = context.log_level();
        let (sender, messages) = call_messages::channel();
        let is_own = request.has_own_connection(lease.as_ref());
        let tag = from_server::tag(context, &route.calls.keys, is_own, sender.clone());
        let task = context
            .takes_task()
            .then(|| TaskRequest::new(Mutex::new(context.clone())));
        let request = request.with_lease(lease, |mut request: RequestBuilder<M>| {
            if let Some(task) = task.clone() {
                request = request.on_task(move |_| lock(&task).continue_as_task());
            }
            let request = request.tag(tag).skip_output_check();
            let request = request.on_progress(move |report| sender.report(report));
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
        Ok(Box::new(Self {
            sending: Box::pin(sending),
            outcome: None,
            messages,
            open: None,
            answered: Vec::new(),
            place: None,
            task,
            owner: context.principal().map(SessionOwner::from),
            has_process_output: may_read_process_output(context),
            active: Some(active),
        }))
    }

    /// Polls for the next event. Reports, log messages and questions that came before the result are returned
    /// before it. While a question is open, no other one is returned, and the result does not wait for them.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<CallEvent<M::Result>> {
        // First of all: what came before the result is in the queue then.
        let outcome = match self.outcome.take() {
            Some(outcome) => Poll::Ready(*outcome),
            None => self.sending.as_mut().poll(cx),
        };
        let open = self.open.as_mut();
        if open.is_some_and(|open| open.answer.poll_closed(cx).is_ready()) {
            self.open = None;
            if let Poll::Ready(outcome) = outcome {
                self.outcome = Some(Box::new(outcome));
            }
            return Poll::Ready(CallEvent::Withdrawn);
        }
        let takes_questions = self.open.is_none();
        let Poll::Ready(message) = self.messages.poll_next(takes_questions, cx) else {
            return outcome.map(|outcome| {
                CallEvent::Ended(match outcome {
                    Ok(mut result) => {
                        sealed::Rewrite::remove_envelope(&mut result);
                        Ok(result)
                    }
                    Err(error) => Err(CallError::new(error, self.has_process_output)),
                })
            });
        };
        if let Poll::Ready(outcome) = outcome {
            self.outcome = Some(Box::new(outcome));
        }
        Poll::Ready(match message {
            CallMessage::Progress(report) => CallEvent::Progress(report),
            CallMessage::Log(message) => CallEvent::Log(message),
            CallMessage::Question(question) => {
                self.open = Some(question);
                CallEvent::Question
            }
        })
    }

    /// Returns the next event, as [`poll_next`](Self::poll_next) does.
    pub(super) async fn next(&mut self) -> CallEvent<M::Result> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Returns the question that waits for an answer.
    pub(super) fn open_question(&self) -> Option<&Question> {
        self.open.as_ref().map(|open| &open.question)
    }

    /// Returns the questions that were answered.
    pub(super) fn closed_questions(&self) -> &[Question] {
        &self.answered
    }

    /// Goes on for another request of the client.
    pub(super) fn resume(&mut self, context: &HandlerContext) {
        if let Some(task) = &self.task {
            lock(task).clone_from(context);
        }
    }

    /// Passes the answer to the open question on.
    pub(super) fn close_question(&mut self, answer: Answer) {
        if let Some(open) = self.open.take() {
            // A server that no longer waits for an answer needs none.
            let _ = open.answer.send(answer);
            self.answered.push(open.question);
        }
    }

    /// Returns the id by which another request finds this one, which waits for its client and has the right to.
    pub(super) fn parking_id(&self) -> Option<&str> {
        let place = self.place.as_ref().filter(|_| self.open.is_some());
        place.map(|place| &*place.id)
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

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.outcome.is_none() {
            let outcome = std::task::ready!(self.sending.as_mut().poll(cx));
            self.outcome = Some(Box::new(outcome));
            // Other calls need not wait for the client of this one.
            self.sending = Box::pin(std::future::pending());
            self.active = None;
        }
        Poll::Ready(())
    }

    fn answer_from_elsewhere(
        mut self: Box<Self>,
        answer: Answer,
        mut exchange: ForeignExchange,
    ) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move {
            self.close_question(answer);
            loop {
                let event = tokio::select! {
                    biased;
                    () = exchange.wait_for_end() => return,
                    event = self.next() => event,
                };
                let is_there = match event {
                    CallEvent::Progress(report) => {
                        exchange.report(Content::Progress(*report)).await
                    }
                    CallEvent::Log(message) => exchange.report(Content::Log(*message)).await,
                    CallEvent::Question => return exchange.park(self).await,
                    CallEvent::Withdrawn => continue,
                    CallEvent::Ended(outcome) => return exchange.end(outcome).await,
                };
                if !is_there {
                    return;
                }
            }
        })
    }
}
