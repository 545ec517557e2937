//! The mailbox of an instance: what others send to it alone, and what they send to all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use foldhash::HashMap;
use tokio::sync::{oneshot, watch};
use turnbuckle_store::{StoreError, StoreErrorKind, StoreKey, Subscription, TopicEvent};
use turnbuckle_types::base::text::Escaped;

use super::{Cluster, Delivery, Occurrences};
use crate::message::{Envelope, MessageKind, Received, Receiver, topic_of_all};
use crate::parcel;

/// The time that the sender of a message waits for its acknowledgement.
const ACKNOWLEDGE_TIMEOUT: Duration = Duration::from_secs(1);

/// The time after which a sender without an acknowledgement looks whether the receiver is there.
const LOOK_DELAY: Duration = Duration::from_millis(100);

/// The time after which an instance subscribes again, if that failed.
const SUBSCRIBE_INTERVAL: Duration = Duration::from_secs(1);

/// The most messages that wait for their acknowledgement.
const MAX_WAITING: usize = 4096;

/// The receivers of messages, and the senders that wait for acknowledgements.
#[derive(Default)]
pub(super) struct Mailbox {
    receivers: Mutex<Vec<(MessageKind, Weak<dyn Receiver>)>>,
    waiting: Mutex<HashMap<u64, oneshot::Sender<bool>>>,
    last_number: AtomicU64,
    /// The number of times that messages may have been lost.
    pub(super) interruptions: watch::Sender<u64>,
    /// True once the instance has subscribed to its messages.
    pub(super) is_ready: watch::Sender<bool>,
}

impl Mailbox {
    fn receivers(&self) -> MutexGuard<'_, Vec<(MessageKind, Weak<dyn Receiver>)>> {
        self.receivers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<bool>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_receiver(&self, kind: MessageKind, receiver: Weak<dyn Receiver>) {
        let mut receivers = self.receivers();
        receivers.retain(|(_, receiver)| receiver.strong_count() > 0);
        receivers.push((kind, receiver));
    }

    /// Passes a message to the receivers of its kind in turn, and returns whether it was for one of them.
    pub(super) fn deliver(&self, message: &Received) -> bool {
        let receivers: Vec<_> = self
            .receivers()
            .iter()
            .filter(|(kind, _)| *kind == message.kind)
            .filter_map(|(_, receiver)| receiver.upgrade())
            .collect();
        receivers.iter().any(|receiver| receiver.receive(message))
    }
}

/// A place among the senders that wait, until it is dropped.
struct Waiting<'a> {
    mailbox: &'a Mailbox,
    number: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.mailbox.waiting().remove(&self.number);
    }
}

fn topic_of(instance: &str) -> Result<StoreKey, StoreError> {
    StoreKey::new(format!("instance/{instance}"))
}

impl Cluster {
    /// Sends a message to an instance, and waits for at most 1 second until it has received it.
    ///
    /// # Errors
    /// If the store fails, or 4,096 messages wait for acknowledgements.
    pub async fn send(
        &self,
        to: &str,
        kind: MessageKind,
        body: Bytes,
    ) -> Result<Delivery, StoreError> {
        if *to == **self.instance() {
            return Ok(self.deliver_here(kind, body));
        }
        let number = self.mailbox.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let (sender, mut acknowledged) = oneshot::channel();
        {
            let mut waiting = self.mailbox.waiting();
            if waiting.len() >= MAX_WAITING {
                let message = format!(
                    "{MAX_WAITING} messages to other instances wait for their acknowledgement"
                );
                return Err(StoreError::new(StoreErrorKind::Busy, message));
            }
            waiting.insert(number, sender);
        }
        let _waiting = Waiting {
            mailbox: &self.mailbox,
            number,
        };
        self.publish(&topic_of(to)?, kind, number, body).await?;
        let look = async {
            tokio::time::sleep(LOOK_DELAY).await;
            match self.is_alive(to).await {
                Ok(false) => {}
                // The sender waits on: the receiver is there, or nobody knows.
                Ok(true) | Err(_) => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            received = &mut acknowledged => Ok(match received {
                Ok(true) => Delivery::Delivered,
                Ok(false) => Delivery::NotThere,
                Err(_) => Delivery::Unanswered,
            }),
            () = look => Ok(Delivery::NoInstance),
            () = tokio::time::sleep(ACKNOWLEDGE_TIMEOUT) => Ok(Delivery::Unanswered),
        }
    }

    /// Sends a message to an instance. Nobody tells whether it has arrived.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn notify(&self, to: &str, kind: MessageKind, body: Bytes) -> Result<(), StoreError> {
        if *to == **self.instance() {
            self.deliver_here(kind, body);
            return Ok(());
        }
        self.publish(&topic_of(to)?, kind, 0, body).await
    }

    /// Sends a message to all other instances. Nobody tells whether it has arrived.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn broadcast(&self, kind: MessageKind, body: Bytes) -> Result<(), StoreError> {
        self.publish(&topic_of_all()?, kind, 0, body).await
    }

    /// Lets a receiver get the messages of one kind, until it is dropped. Several receivers of a kind are
    /// asked in turn, until a message is for one of them.
    pub fn add_receiver(&self, kind: MessageKind, receiver: Weak<dyn Receiver>) {
        self.mailbox.add_receiver(kind, receiver);
    }

    /// Returns the number of times that messages may have been lost, to be watched: what they would have
    /// told must be read from the store.
    #[must_use]
    pub fn interruptions(&self) -> Occurrences {
        Occurrences(self.mailbox.interruptions.subscribe())
    }

    /// Waits until the instance receives messages.
    pub async fn ready(&self) {
        let mut is_ready = self.mailbox.is_ready.subscribe();
        // The sender lives as long as `self`.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }

    fn deliver_here(&self, kind: MessageKind, body: Bytes) -> Delivery {
        let message = Received {
            from: self.instance().clone(),
            kind,
            body,
        };
        match self.mailbox.deliver(&message) {
            true => Delivery::Delivered,
            false => Delivery::NotThere,
        }
    }

    async fn publish(
        &self,
        topic: &StoreKey,
        kind: MessageKind,
        number: u64,
        body: Bytes,
    ) -> Result<(), StoreError> {
        let is_parcel = body.len() > parcel::MAX_INLINE_BYTES;
        let envelope = Envelope {
            kind,
            is_parcel,
            number,
            from: self.instance().clone(),
            body: match is_parcel {
                true => parcel::post(self.store(), &body).await?,
                false => body,
            },
        };
        self.store().publish(topic, envelope.to_bytes()).await
    }

    /// Receives the bytes of a message.
    async fn receive(self: &Arc<Self>, bytes: &Bytes) {
        let Some(envelope) = Envelope::read(bytes) else {
            tracing::debug!("a message that no instance of this release sends was dropped");
            return;
        };
        if envelope.from == *self.instance() {
            return;
        }
        if envelope.is_parcel {
            // Beside the mailbox, so that a large message does not keep the others waiting.
            let this = self.clone();
            tokio::spawn(async move {
                match parcel::fetch(this.store(), &envelope.body).await {
                    Ok(Some(body)) => this.accept(Envelope { body, ..envelope }).await,
                    Ok(None) => tracing::debug!("a large message is not there any more"),
                    Err(error) => {
                        tracing::debug!(error = %Escaped(&error), "a large message was not read");
                    }
                }
            });
            return;
        }
        self.accept(envelope).await;
    }

    async fn accept(self: &Arc<Self>, envelope: Envelope) {
        match envelope.kind {
            MessageKind::Acknowledgement => {
                if let Some(waiting) = self.mailbox.waiting().remove(&envelope.number) {
                    // A sender that has given up waits no longer.
                    let _ = waiting.send(envelope.body.first() == Some(&1));
                }
                return;
            }
            MessageKind::StoreMarked => {
                let this = self.clone();
                tokio::spawn(async move { this.was_emptied().await.map(drop) });
                return;
            }
            _ => {}
        }
        let message = Received {
            from: envelope.from,
            kind: envelope.kind,
            body: envelope.body,
        };
        let is_received = self.mailbox.deliver(&message);
        if envelope.number == 0 {
            return;
        }
        let this = self.clone();
        tokio::spawn(async move {
            let acknowledged = async {
                let topic = topic_of(&message.from)?;
                let body = Bytes::from_static(match is_received {
                    true => &[1],
                    false => &[0],
                });
                let kind = MessageKind::Acknowledgement;
                this.publish(&topic, kind, envelope.number, body).await
            };
            if let Err(error) = acknowledged.await {
                tracing::debug!(error = %Escaped(&error), "a message was not acknowledged");
            }
        });
    }
}

/// Receives the messages of an instance until `end`.
pub(super) async fn read_mailbox(cluster: Weak<Cluster>, mut end: watch::Receiver<bool>) {
    let mut was_ready = false;
    loop {
        let Some(instance) = cluster.upgrade() else {
            return;
        };
        match subscribe(&instance).await {
            Ok([own, all]) => {
                if was_ready {
                    instance
                        .mailbox
                        .interruptions
                        .send_modify(|count| *count += 1);
                }
                was_ready = true;
                instance.mailbox.is_ready.send_replace(true);
                drop(instance);
                tokio::select! {
                    _ = end.wait_for(|end| *end) => return,
                    () = read_topic(&cluster, own) => {}
                    () = read_topic(&cluster, all) => {}
                }
            }
            Err(error) => {
                tracing::debug!(error = %Escaped(&error), "this instance receives no messages");
            }
        }
        tokio::select! {
            _ = end.wait_for(|end| *end) => return,
            () = tokio::time::sleep(SUBSCRIBE_INTERVAL) => {}
        }
    }
}

async fn subscribe(cluster: &Cluster) -> Result<[Subscription; 2], StoreError> {
    let own = cluster
        .store()
        .subscribe(&topic_of(cluster.instance())?)
        .await?;
    let all = cluster.store().subscribe(&topic_of_all()?).await?;
    Ok([own, all])
}

/// Receives the messages of one topic until the store ends the subscription.
async fn read_topic(cluster: &Weak<Cluster>, mut subscription: Subscription) {
    while let Some(event) = subscription.next().await {
        let Some(cluster) = cluster.upgrade() else {
            return;
        };
        match event {
            TopicEvent::Message(bytes) => cluster.receive(&bytes).await,
            TopicEvent::Interrupted => {
                cluster
                    .mailbox
                    .interruptions
                    .send_modify(|count| *count += 1);
            }
        }
    }
}
