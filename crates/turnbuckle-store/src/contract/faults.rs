//! The rules about what is left, and about engines that fail.

use std::future::Future;

use super::backend::Fault;
use super::harness::{
    Broken, Checked, FAILURE_TIMEOUT, LONG, Rule, SHORT, Test, bytes, expect, expect_error, fill,
    present,
};
use super::topics::{expect_message, next_event};
use crate::error::{StoreError, StoreErrorKind};
use crate::topic::TopicEvent;
use crate::types::{AppendAt, Condition, Keep, Position, ReadLimit};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("nothing is left after expiry", |it| {
        Box::pin(it.nothing_left())
    }),
    (
        "a cut connection fails by name, and nothing is lost",
        |it| Box::pin(it.cut()),
    ),
    ("a full engine refuses by name, and nothing is lost", |it| {
        Box::pin(it.full())
    }),
    ("an engine of a newer release is refused by name", |it| {
        Box::pin(it.newer_version())
    }),
];

/// Returns the result of an operation of an engine that has failed, which must come in time.
async fn in_time<T>(
    step: &str,
    operation: impl Future<Output = Result<T, StoreError>>,
) -> Result<Result<T, StoreError>, Broken> {
    tokio::time::timeout(FAILURE_TIMEOUT, operation)
        .await
        .map_err(|_| Broken(format!("{step}: no answer for 10 s")))
}

impl Test<'_> {
    async fn nothing_left(&self) -> Checked {
        // Whatever other rules left with a short time to live.
        self.expire().await;
        let Some(before) = self.backend.remaining().await? else {
            return Ok(());
        };
        let (key, keep) = (
            self.key("left")?,
            Keep {
                entries: 5,
                ttl: SHORT,
            },
        );
        for _ in 0..3 {
            self.store
                .put(&key, bytes("v"), Condition::Always, SHORT)
                .await?;
            let entries = vec![bytes("e"); 2];
            self.store
                .append(&key, AppendAt::End, entries, keep)
                .await?;
            self.store.push(&key, bytes("j"), SHORT).await?;
        }
        self.store.claim(&key, LONG).await?;
        let filled = self.backend.remaining().await?;
        expect("1 value, 5 entries and 3 jobs", filled, Some(before + 9))?;
        self.expire().await;
        let after = self.backend.remaining().await?;
        expect("after their time", after, Some(before))
    }

    fn can(&self, fault: Fault) -> bool {
        self.backend.faults().contains(&fault)
    }

    async fn cut(&self) -> Checked {
        if !self.can(Fault::Cut) {
            return Ok(());
        }
        let key = self.key("cut")?;
        self.store
            .put(&key, bytes("v"), Condition::Always, LONG)
            .await?;
        let mut subscription = self.store.subscribe(&key).await?;

        self.backend.begin(Fault::Cut).await;
        let kinds = &[StoreErrorKind::Unavailable, StoreErrorKind::TimedOut];
        let got = in_time("get", self.store.get(&key)).await?;
        expect_error("get", got, kinds)?;
        let put = self.store.put(&key, bytes("w"), Condition::Absent, LONG);
        expect_error("put", in_time("put", put).await?, kinds)?;
        let read = self.store.read(&key, Position(0), ReadLimit::default());
        expect_error("read", in_time("read", read).await?, kinds)?;
        let claim = self.store.claim(&key, LONG);
        expect_error("claim", in_time("claim", claim).await?, kinds)?;
        self.backend.end(Fault::Cut).await;

        let event = next_event("a subscription", &mut subscription).await?;
        expect("a subscription", event, Some(TopicEvent::Interrupted))?;
        let found = present("get after that", self.store.get(&key).await?)?;
        expect("get after that", found.value, bytes("v"))?;
        self.store.publish(&key, bytes("m")).await?;
        expect_message("publish after that", &mut subscription, "m").await
    }

    async fn full(&self) -> Checked {
        if !self.can(Fault::Full) {
            return Ok(());
        }
        let key = self.key("full")?;
        self.store
            .put(&key, bytes("v"), Condition::Always, LONG)
            .await?;
        self.backend.begin(Fault::Full).await;
        let mut refused = None;
        for number in 0..8 {
            let large = self.key(&format!("full/{number}"))?;
            let put = self
                .store
                .put(&large, fill(1 << 20), Condition::Always, SHORT);
            let put = in_time("put", put).await?;
            if put.is_err() {
                refused = Some(put);
                break;
            }
        }
        let refused = present("put of 8 MiB is refused", refused)?;
        expect_error("put", refused, &[StoreErrorKind::Full])?;
        let found = present("get then", self.other.get(&key).await?)?;
        expect("get then", found.value, bytes("v"))?;
        self.backend.end(Fault::Full).await;
        self.expire().await;
        let put = self.store.put(&key, fill(1 << 20), Condition::Always, LONG);
        present("put after that", put.await?)?;
        Ok(())
    }

    async fn newer_version(&self) -> Checked {
        if !self.can(Fault::NewerVersion) {
            return Ok(());
        }
        self.backend.begin(Fault::NewerVersion).await;
        let opened = in_time("open", self.backend.open()).await?;
        self.backend.end(Fault::NewerVersion).await;
        let opened = opened.map(|_| "a store");
        expect_error("open", opened, &[StoreErrorKind::NewerVersion])?;
        self.backend.open().await?;
        Ok(())
    }
}
