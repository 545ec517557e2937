//! The rules of queues.

use super::harness::{
    Broken, Checked, LONG, Rule, SHORT, Test, all, bytes, expect, expect_error, fill, present,
};
use crate::bounds::MAX_MESSAGE_BYTES;
use crate::error::StoreErrorKind;
use crate::types::{Claim, StoreKey};
use std::time::Duration;

pub(super) const RULES: &[(&str, Rule)] = &[
    (
        "jobs are claimed in the order in which they were pushed",
        |it| Box::pin(it.job_order()),
    ),
    ("a completed job is gone", |it| Box::pin(it.complete_jobs())),
    ("a claim that is not extended is offered again", |it| {
        Box::pin(it.offered_again())
    }),
    ("an extended claim stays hidden", |it| {
        Box::pin(it.extend_claims())
    }),
    ("a job is claimed by one at a time", |it| {
        Box::pin(it.claims_at_once())
    }),
    ("a job is gone when its time to live is over", |it| {
        Box::pin(it.job_expires())
    }),
    ("jobs have bounds", |it| Box::pin(it.job_bounds())),
];

impl Test<'_> {
    async fn push(&self, queue: &StoreKey, job: &str) -> Checked {
        Ok(self.store.push(queue, bytes(job), LONG).await?)
    }

    async fn claim(
        &self,
        step: &str,
        queue: &StoreKey,
        hidden_for: Duration,
    ) -> Result<Claim, Broken> {
        present(step, self.store.claim(queue, hidden_for).await?)
    }

    async fn expect_empty(&self, step: &str, queue: &StoreKey) -> Checked {
        expect(step, self.store.claim(queue, LONG).await?, None)?;
        expect(step, self.other.claim(queue, LONG).await?, None)
    }

    async fn job_order(&self) -> Checked {
        let queue = self.key("order")?;
        self.expect_empty("a queue that does not exist", &queue)
            .await?;
        for job in ["a", "", "c"] {
            self.push(&queue, job).await?;
        }
        for (number, job) in ["a", "", "c"].into_iter().enumerate() {
            let claim = present(
                "a job",
                self.handle(number as u32).claim(&queue, LONG).await?,
            )?;
            expect("the job", &claim.job, &bytes(job))?;
            expect("its queue", &claim.queue, &queue)?;
            expect("its attempt", claim.attempt, 1)?;
        }
        self.expect_empty("all are claimed", &queue).await
    }

    async fn complete_jobs(&self) -> Checked {
        let queue = self.key("completed")?;
        self.push(&queue, "a").await?;
        let claim = self.claim("the job", &queue, SHORT).await?;
        expect("complete", self.store.complete(claim.clone()).await?, true)?;
        expect(
            "complete again",
            self.store.complete(claim.clone()).await?,
            false,
        )?;
        expect(
            "extend then",
            self.other.extend(&claim, SHORT).await?,
            false,
        )?;
        self.expire().await;
        self.expect_empty("after its time", &queue).await
    }

    async fn offered_again(&self) -> Checked {
        let queue = self.key("again")?;
        self.push(&queue, "a").await?;
        self.push(&queue, "b").await?;
        let old = self.claim("the first job", &queue, SHORT).await?;
        expect("the first job", &old.job, &bytes("a"))?;
        self.expire().await;
        let new = present("claim again", self.other.claim(&queue, LONG).await?)?;
        expect("the oldest job first", &new.job, &bytes("a"))?;
        expect("its attempt", new.attempt, 2)?;
        expect(
            "the old claim extends",
            self.store.extend(&old, LONG).await?,
            false,
        )?;
        expect(
            "the old claim completes",
            self.store.complete(old).await?,
            false,
        )?;
        expect(
            "the new claim completes",
            self.store.complete(new).await?,
            true,
        )
    }

    async fn extend_claims(&self) -> Checked {
        let queue = self.key("extended")?;
        self.push(&queue, "a").await?;
        let claim = self.claim("the job", &queue, SHORT).await?;
        expect("extend", self.other.extend(&claim, LONG).await?, true)?;
        self.expire().await;
        self.expect_empty("after the first time", &queue).await?;
        expect(
            "extend to less",
            self.store.extend(&claim, SHORT).await?,
            true,
        )?;
        self.expire().await;
        self.claim("after the last time", &queue, LONG).await?;
        Ok(())
    }

    async fn claims_at_once(&self) -> Checked {
        const JOBS: usize = 12;
        let queue = self.key("at once")?;
        for job in 0..JOBS {
            self.push(&queue, &format!("{job:02}")).await?;
        }
        let claims = all(16, |number| {
            let (store, queue) = (self.handle(number), queue.clone());
            async move { store.claim(&queue, LONG).await }
        });
        let mut jobs: Vec<_> = claims
            .await?
            .into_iter()
            .flatten()
            .map(|it| it.job)
            .collect();
        expect("jobs that were claimed", jobs.len(), JOBS)?;
        jobs.sort_unstable();
        jobs.dedup();
        expect("jobs that differ", jobs.len(), JOBS)
    }

    async fn job_expires(&self) -> Checked {
        let queue = self.key("expires")?;
        let push = |job, ttl| self.store.push(&queue, bytes(job), ttl);
        push("claimed", SHORT).await?;
        push("waiting", SHORT).await?;
        push("stays", LONG).await?;
        let claim = self.claim("a job", &queue, LONG).await?;
        self.expire().await;
        expect("extend", self.store.extend(&claim, LONG).await?, false)?;
        expect("complete", self.store.complete(claim).await?, false)?;
        let next = self.claim("the next job", &queue, LONG).await?;
        expect("the next job", next.job, bytes("stays"))?;
        self.expect_empty("nothing else", &queue).await
    }

    async fn job_bounds(&self) -> Checked {
        let queue = self.key("bounds")?;
        let push = |length, ttl| self.store.push(&queue, fill(length), ttl);
        let result = push(MAX_MESSAGE_BYTES + 1, LONG).await;
        expect_error(
            "a job that is too large",
            result,
            &[StoreErrorKind::TooLarge],
        )?;
        let invalid = &[StoreErrorKind::Invalid];
        expect_error("no time to live", push(1, Duration::ZERO).await, invalid)?;
        self.expect_empty("after that", &queue).await?;
        let largest = MAX_MESSAGE_BYTES - self.backend.overhead();
        push(largest, LONG).await?;
        let result = self.store.claim(&queue, Duration::ZERO).await;
        expect_error("no hidden time", result, invalid)?;
        let claim = self.claim("the largest job", &queue, LONG).await?;
        expect("its length", claim.job.len(), largest)?;
        let result = self.store.extend(&claim, Duration::ZERO).await;
        expect_error("extend by nothing", result, invalid)
    }
}
