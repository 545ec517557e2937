//! The rules of topics.

use std::time::Duration;

use super::harness::{Broken, Checked, Rule, Test, all, bytes, expect, expect_error, fill};
use crate::bounds::MAX_MESSAGE_BYTES;
use crate::error::StoreErrorKind;
use crate::topic::{Subscription, TopicEvent};

pub(super) const RULES: &[(&str, Rule)] = &[
    (
        "a message reaches each subscriber of its topic once",
        |it| Box::pin(it.each_subscriber()),
    ),
    ("a topic keeps nothing for later subscribers", |it| {
        Box::pin(it.no_history())
    }),
    ("messages of one sender arrive in order", |it| {
        Box::pin(it.message_order())
    }),
    ("messages have a bound", |it| Box::pin(it.message_bounds())),
];

/// The time within which a message arrives.
const ARRIVAL_TIMEOUT: Duration = Duration::from_secs(10);

/// Fails unless the next event of a subscription is this message.
pub(super) async fn expect_message(step: &str, from: &mut Subscription, message: &str) -> Checked {
    let event = next_event(step, from).await?;
    expect(step, event, Some(TopicEvent::Message(bytes(message))))
}

pub(super) async fn next_event(
    step: &str,
    from: &mut Subscription,
) -> Result<Option<TopicEvent>, Broken> {
    tokio::time::timeout(ARRIVAL_TIMEOUT, from.next())
        .await
        .map_err(|_| Broken(format!("{step}: no event for 10 s")))
}

impl Test<'_> {
    async fn each_subscriber(&self) -> Checked {
        let (topic, another) = (self.key("topic")?, self.key("another topic")?);
        let mut here = self.store.subscribe(&topic).await?;
        let mut here_too = self.store.subscribe(&topic).await?;
        let mut there = self.other.subscribe(&topic).await?;
        let mut elsewhere = self.other.subscribe(&another).await?;
        for (sender, message) in [(&self.store, "one"), (&self.other, "two")] {
            sender.publish(&topic, bytes(message)).await?;
            expect_message("the same handle", &mut here, message).await?;
            expect_message("a second subscription", &mut here_too, message).await?;
            expect_message("another handle", &mut there, message).await?;
        }
        // The next event is the marker: nothing came twice, and nothing from another topic.
        drop(here_too);
        self.store.publish(&topic, bytes("marker")).await?;
        self.store.publish(&another, bytes("other marker")).await?;
        expect_message("nothing twice", &mut here, "marker").await?;
        expect_message("nothing twice elsewhere", &mut there, "marker").await?;
        expect_message("another topic", &mut elsewhere, "other marker").await
    }

    async fn no_history(&self) -> Checked {
        let topic = self.key("history")?;
        self.store.publish(&topic, bytes("early")).await?;
        let mut early = self.store.subscribe(&topic).await?;
        self.store.publish(&topic, bytes("late")).await?;
        expect_message("the same handle", &mut early, "late").await?;
        let mut later = self.other.subscribe(&topic).await?;
        self.store.publish(&topic, bytes("latest")).await?;
        expect_message("another handle", &mut later, "latest").await
    }

    async fn message_order(&self) -> Checked {
        const COUNT: usize = 50;
        let topic = self.key("order")?;
        let mut subscription = self.other.subscribe(&topic).await?;
        let senders = all(4, |number| {
            let (store, topic) = (self.handle(number), topic.clone());
            async move {
                for count in 0..COUNT {
                    store
                        .publish(&topic, bytes(&format!("{number}.{count}")))
                        .await?;
                }
                Ok(())
            }
        });
        let senders = senders.await?.len();
        let mut next = vec![0; senders];
        for _ in 0..senders * COUNT {
            let event = next_event("messages of several senders", &mut subscription).await?;
            let Some(TopicEvent::Message(message)) = event else {
                return Err(Broken(format!("expected a message, found {event:?}")));
            };
            let text = String::from_utf8_lossy(&message);
            let (sender, count) = text.split_once('.').unwrap_or_default();
            let sender: usize = sender.parse().unwrap_or(usize::MAX);
            let Some(expected) = next.get_mut(sender) else {
                return Err(Broken(format!("found a message of nobody: {text}")));
            };
            expect("the next message of a sender", count, &expected.to_string())?;
            *expected += 1;
        }
        Ok(())
    }

    async fn message_bounds(&self) -> Checked {
        let topic = self.key("bounds")?;
        let mut subscription = self.other.subscribe(&topic).await?;
        let result = self
            .store
            .publish(&topic, fill(MAX_MESSAGE_BYTES + 1))
            .await;
        expect_error(
            "a message that is too large",
            result,
            &[StoreErrorKind::TooLarge],
        )?;
        let largest = fill(MAX_MESSAGE_BYTES - self.backend.overhead());
        self.store.publish(&topic, largest.clone()).await?;
        let event = next_event("the largest message", &mut subscription).await?;
        let expected = Some(TopicEvent::Message(largest));
        expect("the largest message", event == expected, true)
    }
}
