//! The requests that a proxy forwards, and the way of a server's question to the client that sent
//! one of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};
use turnbuckle_client::{Form, FormAnswer, SamplingRejected, UrlAnswer, UrlRequest};
use turnbuckle_session::ChangeFeed;
use turnbuckle_types::{CreateMessageRequestParams, CreateMessageResult, ProtocolError};

use crate::builder::ServersBuilder;
use crate::question::ServerQuestion;

/// The most questions that wait for the client of one request.
const MAX_WAITING_QUESTIONS: usize = 8;

tokio::task_local! {
    /// The request that is being forwarded: a modern server asks inside of its result.
    pub(super) static CURRENT: mpsc::Sender<Asked>;
}

/// A question of a server, and the way of its answer.
pub(super) enum Asked {
    Form(Form, oneshot::Sender<FormAnswer>),
    Url(UrlRequest, oneshot::Sender<UrlAnswer>),
    Sampling(
        Box<CreateMessageRequestParams>,
        oneshot::Sender<Result<CreateMessageResult, ProtocolError>>,
    ),
}

/// The forwarded requests that are under way, by the name of the server.
#[derive(Default)]
pub(super) struct ActiveCalls(Mutex<CallTable>);

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
    questions: mpsc::Sender<Asked>,
}

/// Removes a request when it has ended.
pub(super) struct ActiveGuard<'a> {
    calls: &'a ActiveCalls,
    server: Arc<str>,
    id: u64,
}

impl Drop for ActiveGuard<'_> {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a request to `server`, and returns the receiver of the server's questions about it.
    pub(super) fn add(
        &self,
        server: Arc<str>,
        session: Option<Arc<ChangeFeed>>,
    ) -> (ActiveGuard<'_>, mpsc::Sender<Asked>, mpsc::Receiver<Asked>) {
        let (questions, asked) = mpsc::channel(MAX_WAITING_QUESTIONS);
        let mut table = self.table();
        table.last_id += 1;
        let id = table.last_id;
        let call = ActiveCall {
            id,
            session,
            questions: questions.clone(),
        };
        table
            .by_server
            .entry(server.clone())
            .or_default()
            .push(call);
        drop(table);
        let guard = ActiveGuard {
            calls: self,
            server,
            id,
        };
        (guard, questions, asked)
    }

    /// Returns the way to the client that a question of `server` is for: the sender of the request
    /// in which the server asks, or of the only requests that are under way. With requests of
    /// several clients under way, a question that belongs to none of them reaches nobody.
    fn receiver(&self, server: &str) -> Option<mpsc::Sender<Asked>> {
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
            tracing::warn!(
                server,
                "a question is refused: requests of several clients are under way"
            );
            return None;
        }
        Some(last.questions.clone())
    }

    /// Passes a question on and waits for the answer; `None` if nobody can be asked.
    async fn ask<A>(
        &self,
        server: &str,
        question: impl FnOnce(oneshot::Sender<A>) -> Asked,
    ) -> Option<A> {
        let (answer, answered) = oneshot::channel();
        let receiver = self.receiver(server)?;
        receiver.send(question(answer)).await.ok()?;
        // The client's request keeps no sender of questions: it ends with the request.
        drop(receiver);
        answered.await.ok()
    }
}

/// Installs handlers that pass questions on to the clients of the proxy.
pub(super) fn install(builder: ServersBuilder, calls: &Arc<ActiveCalls>) -> ServersBuilder {
    let (forms, urls, samples) = (calls.clone(), calls.clone(), calls.clone());
    builder
        .on_form(move |form, question: ServerQuestion| {
            let calls = forms.clone();
            async move {
                let asked = |answer| Asked::Form(form, answer);
                let answer = calls.ask(&question.server, asked).await;
                answer.unwrap_or(FormAnswer::Cancel)
            }
        })
        .on_url(move |request, question: ServerQuestion| {
            let calls = urls.clone();
            async move {
                let asked = |answer| Asked::Url(request, answer);
                let answer = calls.ask(&question.server, asked).await;
                answer.unwrap_or(UrlAnswer::Cancel)
            }
        })
        .on_sampling(move |params, question: ServerQuestion| {
            let calls = samples.clone();
            async move {
                let asked = |answer| Asked::Sampling(Box::new(params), answer);
                let answer = calls.ask(&question.server, asked).await;
                answer.unwrap_or_else(|| Err(SamplingRejected.into()))
            }
        })
}
