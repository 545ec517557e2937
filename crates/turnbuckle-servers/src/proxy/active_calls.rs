//! The requests that a proxy forwards, and the way of a server's question to the client that sent
//! one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};
use turnbuckle_client::{FormAnswer, SamplingRejected, UrlAnswer};
use turnbuckle_session::internal::ChangeFeed;
use turnbuckle_types::{LoggingLevel, LoggingMessageNotificationParams, ProtocolError};

use crate::builder::ServersBuilder;
use crate::proxy::parked::ParkedCalls;
use crate::proxy::question::{Answer, Question};
use crate::question::ServerQuestion;

/// The most questions and log messages that wait for the client of one request.
const MAX_WAITING_QUESTIONS: usize = 64;

tokio::task_local! {
    /// The request that is being forwarded: a modern server asks inside of its result.
    pub(super) static CURRENT: mpsc::Sender<FromServer>;
}

/// A message of a server for the client whose request is under way.
pub(super) enum FromServer {
    Log(LoggingMessageNotificationParams),
    Question(OpenQuestion),
}

/// A question of a server, and the way of its answer.
pub(super) struct OpenQuestion {
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// The forwarded requests that are under way, by the name of the server.
#[derive(Default)]
pub(super) struct ActiveCalls {
    table: Mutex<CallTable>,
    /// The requests that wait for an answer which comes in another request.
    pub(super) parked: Arc<ParkedCalls>,
}

#[derive(Default)]
struct CallTable {
    by_server: HashMap<Arc<str>, Vec<ActiveCall>>,
    last_id: u64,
}

/// A forwarded request.
struct ActiveCall {
    id: u64,
    /// The feed of the legacy session that sent the request: it identifies the client.
    session: Option<Arc<ChangeFeed>>,
    /// The lowest level of log messages that the client wants.
    log_level: Option<LoggingLevel>,
    questions: mpsc::Sender<FromServer>,
}

/// Removes a request when it has ended.
pub(super) struct ActiveGuard {
    calls: Arc<ActiveCalls>,
    server: Arc<str>,
    id: u64,
}

impl Drop for ActiveGuard {
    fn drop(&mut self) {
        let mut table = self.calls.table();
        if let Some(calls) = table.by_server.get_mut(&self.server) {
            calls.retain(|call| call.id != self.id);
            if calls.is_empty() {
                table.by_server.remove(&self.server);
            }
        }
    }
}

impl ActiveCalls {
    fn table(&self) -> MutexGuard<'_, CallTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request to `server`, and returns the receiver of the server's questions about it.
    pub(super) fn add(
        self: &Arc<Self>,
        server: Arc<str>,
        session: Option<Arc<ChangeFeed>>,
        log_level: Option<LoggingLevel>,
    ) -> (
        ActiveGuard,
        mpsc::Sender<FromServer>,
        mpsc::Receiver<FromServer>,
    ) {
        let (questions, asked) = mpsc::channel(MAX_WAITING_QUESTIONS);
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        let call = ActiveCall {
            id,
            session,
            log_level,
            questions: questions.clone(),
        };
        table
            .by_server
            .entry(server.clone())
            .or_default()
            .push(call);
        drop(table);
        let guard = ActiveGuard {
            calls: Arc::clone(self),
            server,
            id,
        };
        (guard, questions, asked)
    }

    /// Returns the lowest level of log messages that a client with a request to `server` wants.
    pub(super) fn log_level(&self, server: &str) -> Option<LoggingLevel> {
        let table = self.table();
        let calls = table.by_server.get(server)?;
        calls.iter().filter_map(|call| call.log_level).min()
    }

    /// Returns the way to the client that a question of `server` is for: the sender of the request
    /// in which the server asks, or of the only requests that are under way. With requests of
    /// several clients under way, a question that belongs to none of them reaches nobody.
    fn receiver(&self, server: &str) -> Option<mpsc::Sender<FromServer>> {
        if let Ok(current) = CURRENT.try_with(Clone::clone) {
            return Some(current);
        }
        let table = self.table();
        let calls = table.by_server.get(server)?;
        let last = calls.last()?;
        let same_client = |call: &ActiveCall| match (&call.session, &last.session) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            _ => call.id == last.id,
        };
        if !calls.iter().all(same_client) {
            tracing::debug!(
                server,
                "a question or a log message is left out: requests of several clients are under way"
            );
            return None;
        }
        Some(last.questions.clone())
    }

    /// Passes a log message on to the client whose request is under way. A message that belongs to no
    /// request, or to a client that is too far behind, is left out.
    fn log(&self, server: &str, message: LoggingMessageNotificationParams) {
        if let Some(receiver) = self.receiver(server) {
            let _ = receiver.try_send(FromServer::Log(message));
        }
    }

    /// Passes a question on and waits for the answer; `None` if nobody can be asked.
    async fn ask(&self, server: &str, question: Question) -> Option<Answer> {
        let (answer, answered) = oneshot::channel();
        let receiver = self.receiver(server)?;
        let question = FromServer::Question(OpenQuestion { question, answer });
        receiver.send(question).await.ok()?;
        // The client's request keeps no sender of questions: it ends with the request.
        drop(receiver);
        answered.await.ok()
    }
}

/// Installs handlers that pass questions on to the clients of the proxy.
pub(super) fn install(builder: ServersBuilder, calls: &Arc<ActiveCalls>) -> ServersBuilder {
    let (forms, urls, samples) = (calls.clone(), calls.clone(), calls.clone());
    let (logs, roots) = (calls.clone(), calls.clone());
    builder
        // Each request brings the level of its client along.
        .install(move |builder, server| {
            let (logs, server) = (logs.clone(), server.clone());
            builder.on_log(move |message| logs.log(&server, message))
        })
        .on_roots(move |question: ServerQuestion| {
            let calls = roots.clone();
            async move {
                match calls.ask(&question.server, Question::Roots).await {
                    Some(Answer::Roots(roots)) => Ok(roots),
                    _ => Err(ProtocolError::internal(
                        "no client can be asked for its roots",
                    )),
                }
            }
        })
        .on_form(move |form, question: ServerQuestion| {
            let calls = forms.clone();
            async move {
                match calls.ask(&question.server, Question::Form(form)).await {
                    Some(Answer::Form(answer)) => answer,
                    _ => FormAnswer::Cancel,
                }
            }
        })
        .on_url(move |request, question: ServerQuestion| {
            let calls = urls.clone();
            async move {
                match calls.ask(&question.server, Question::Url(request)).await {
                    Some(Answer::Url(answer)) => answer,
                    _ => UrlAnswer::Cancel,
                }
            }
        })
        .on_sampling(move |params, question: ServerQuestion| {
            let calls = samples.clone();
            async move {
                let question_params = Question::Sampling(Box::new(params));
                match calls.ask(&question.server, question_params).await {
                    Some(Answer::Sampling(answer)) => *answer,
                    _ => Err(SamplingRejected.into()),
                }
            }
        })
}
