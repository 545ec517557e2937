//! A call of another instance, whose client has come to this one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use turnbuckle_cluster::{Delivery, MessageKind};
use turnbuckle_server::{Failure, Result};
use turnbuckle_session::internal::SessionOwner;
use turnbuckle_types::Principal;

use crate::proxy::elsewhere::message::{CallName, Content};
use crate::proxy::elsewhere::{Instances, MAX_SILENCE, RETRY_INTERVAL, call_is_gone, encode};
use crate::proxy::question::{Answer, Question};

/// The most messages of an exchange that wait for the client; further reports and log messages are left out.
const MAX_WAITING_MESSAGES: usize = 64;

/// The time between two messages which show that the client still waits.
const WAITING_INTERVAL: Duration = Duration::from_secs(2);

/// The time between two requests for the questions of a call.
const LIST_INTERVAL: Duration = Duration::from_secs(1);

/// The error of a call whose instance has ended.
const INSTANCE_HAS_ENDED: &str = "the instance of the proxy that had the call has ended; call again, without \
     requestState";

/// The error of a call whose instance cannot be reached.
const INSTANCE_IS_SILENT: &str = "the instance of the proxy that has the call does not answer, or the store of \
     the proxy fails; the call may have been carried out";

/// A call of another instance.
pub(crate) struct RemoteCall {
    instances: Arc<Instances>,
    instance: Arc<str>,
    name: CallName,
}

/// An exchange about a call. Dropping the value cancels the call, unless the exchange is over.
pub(crate) struct Exchange {
    instances: Arc<Instances>,
    instance: Arc<str>,
    number: u64,
    messages: mpsc::Receiver<Content>,
    /// The task that keeps the exchange up, and ends with the reason why that is not possible.
    upkeep: JoinSet<Failure>,
    cancels: bool,
}

impl RemoteCall {
    /// Returns the call of this id for a principal, if it belongs to another instance.
    pub(crate) fn find(
        instances: &Arc<Instances>,
        id: &str,
        principal: Option<&Principal>,
    ) -> Option<Self> {
        let (instance, _) = id.split_once('.')?;
        (*instance != **instances.cluster.instance()).then(|| Self {
            instances: instances.clone(),
            instance: instance.into(),
            name: CallName {
                id: id.to_owned(),
                owner: principal.map(SessionOwner::from),
            },
        })
    }

    /// Returns all questions of the call so far; the last one has no answer.
    ///
    /// # Errors
    /// If the call is gone, or its instance has ended or does not answer.
    pub(crate) async fn questions(&self) -> Result<Vec<Question>> {
        let list = Content::ListQuestions(self.name.clone());
        let mut exchange = self.begin(list, None, LIST_INTERVAL)?;
        loop {
            if let Content::Questions(questions) = exchange.next().await? {
                return Ok(questions);
            }
        }
    }

    /// Answers the last of so many questions.
    ///
    /// # Errors
    /// If the answer cannot be encoded.
    pub(crate) fn answer(&self, questions: usize, answer: Answer) -> Result<Exchange> {
        let answer = Content::Answer {
            call: self.name.clone(),
            questions,
            answer,
        };
        self.begin(answer, Some(Content::Waiting), WAITING_INTERVAL)
    }

    /// Cancels the call, which waits.
    pub(crate) async fn cancel(&self) {
        if let Some(body) = encode(0, Content::CancelParked(self.name.clone())) {
            // One that is not cancelled ends after ten minutes.
            let cluster = &self.instances.cluster;
            let sent = cluster.send(&self.instance, MessageKind::ProxiedCall, body);
            let _ = sent.await;
        }
    }

    /// Begins an exchange. `later` is sent again and again once the other instance has received `first`; without
    /// it, `first` is.
    fn begin(
        &self,
        first: Content,
        later: Option<Content>,
        interval: Duration,
    ) -> Result<Exchange> {
        let number = self.instances.next_exchange();
        let cancels = later.is_some();
        let encode = |content| {
            encode(number, content).ok_or_else(|| Failure::new("the answer cannot be encoded"))
        };
        let first = encode(first)?;
        let later = later.map(encode).transpose()?;
        let (queue, messages) = mpsc::channel(MAX_WAITING_MESSAGES);
        self.instances.own_exchanges().insert(number, queue);
        let mut exchange = Exchange {
            instances: self.instances.clone(),
            instance: self.instance.clone(),
            number,
            messages,
            upkeep: JoinSet::new(),
            cancels,
        };
        let later = later.unwrap_or_else(|| first.clone());
        let (instances, instance) = (self.instances.clone(), self.instance.clone());
        exchange
            .upkeep
            .spawn(async move { keep_up(&instances, &instance, [first, later], interval).await });
        Ok(exchange)
    }
}

/// Keeps an exchange up, and returns the reason why that is no longer possible.
async fn keep_up(
    instances: &Instances,
    instance: &str,
    [first, later]: [Bytes; 2],
    interval: Duration,
) -> Failure {
    let mut message = first;
    let mut heard = Instant::now();
    loop {
        let sent = instances
            .cluster
            .send(instance, MessageKind::ProxiedCall, message.clone())
            .await;
        match sent {
            Ok(Delivery::Delivered) => {
                heard = Instant::now();
                message = later.clone();
                sleep(interval).await;
            }
            Ok(Delivery::NotThere) => return call_is_gone().into(),
            Ok(Delivery::NoInstance) => return Failure::new(INSTANCE_HAS_ENDED),
            Ok(Delivery::Unanswered) | Err(_) if heard.elapsed() < MAX_SILENCE => {
                sleep(RETRY_INTERVAL).await;
            }
            Ok(Delivery::Unanswered) | Err(_) => return Failure::new(INSTANCE_IS_SILENT),
        }
    }
}

impl Exchange {
    /// Returns the next message of the instance that has the call.
    ///
    /// # Errors
    /// If the call is gone, or its instance has ended or does not answer.
    pub(crate) async fn next(&mut self) -> Result<Content> {
        tokio::select! {
            biased;
            Some(content) = self.messages.recv() => {
                if matches!(content, Content::Question(_) | Content::Ended(_)) {
                    self.cancels = false;
                }
                Ok(content)
            }
            Some(failure) = self.upkeep.join_next() => {
                Err(failure.unwrap_or_else(|_| call_is_gone().into()))
            }
            else => Err(call_is_gone().into()),
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.instances.own_exchanges().remove(&self.number);
        let Some(body) = encode(self.number, Content::Cancel).filter(|_| self.cancels) else {
            return;
        };
        let (instances, instance) = (self.instances.clone(), self.instance.clone());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // Without it, the call ends when its instance hears nothing more.
                let cluster = &instances.cluster;
                let _ = cluster
                    .notify(&instance, MessageKind::ProxiedCall, body)
                    .await;
            });
        }
    }
}
