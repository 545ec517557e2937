//! The rules of logs.

use std::time::Duration;

use bytes::Bytes;

use super::harness::{
    Broken, Checked, LONG, Rule, SHORT, Test, all, bytes, expect, expect_error, fill, present,
};
use crate::bounds::{MAX_APPEND_BYTES, MAX_APPEND_ENTRIES, MAX_ENTRY_BYTES};
use crate::error::StoreErrorKind;
use crate::types::{AppendAt, Condition, Keep, LogSlice, Position, ReadLimit, StoreKey};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("entries have positions 1, 2, 3 without gaps", |it| {
        Box::pin(it.positions())
    }),
    ("append with Exactly takes the next position only", |it| {
        Box::pin(it.exact_positions())
    }),
    ("a read has bounds and makes progress", |it| {
        Box::pin(it.read_limits())
    }),
    ("a log keeps its newest entries and their positions", |it| {
        Box::pin(it.keeps_newest())
    }),
    ("a log is gone when its time to live is over", |it| {
        Box::pin(it.log_expires())
    }),
    ("an append takes all entries or none", |it| {
        Box::pin(it.all_or_none())
    }),
    (
        "appends at once lose no entry and keep batches whole",
        |it| Box::pin(it.appends_at_once()),
    ),
];

const KEEP: Keep = Keep {
    entries: u64::MAX,
    ttl: LONG,
};

fn list(entries: &[&str]) -> Vec<Bytes> {
    entries.iter().map(|it| bytes(it)).collect()
}

impl Test<'_> {
    async fn append(
        &self,
        log: &StoreKey,
        at: AppendAt,
        entries: &[&str],
    ) -> Result<Option<Position>, Broken> {
        Ok(self.store.append(log, at, list(entries), KEEP).await?)
    }

    /// Returns the log behind a position, as both handles see it.
    async fn log(&self, log: &StoreKey, after: u64) -> Result<LogSlice, Broken> {
        let (after, limit) = (Position(after), ReadLimit::default());
        let here = self.store.read(log, after, limit).await?;
        let there = self.other.read(log, after, limit).await?;
        expect("both handles see the same log", &there, &here)?;
        Ok(here)
    }

    async fn positions(&self) -> Checked {
        let log = self.key("positions")?;
        expect(
            "a log that does not exist",
            self.log(&log, 0).await?,
            LogSlice::default(),
        )?;
        let last = self.append(&log, AppendAt::End, &["a"]).await?;
        expect("the first append", last, Some(Position(1)))?;
        let last = self.append(&log, AppendAt::End, &["b", "", "d"]).await?;
        expect("the second append", last, Some(Position(4)))?;
        for (after, entries) in [
            (0, &["a", "b", "", "d"][..]),
            (2, &["", "d"]),
            (4, &[]),
            (9, &[]),
            (u64::MAX, &[]),
        ] {
            let slice = LogSlice {
                entries: list(entries),
                start: Position(if entries.is_empty() { 0 } else { after + 1 }),
                first: Position(1),
                last: Position(4),
            };
            expect("read", self.log(&log, after).await?, slice)?;
        }
        let value = self.store.get(&log).await?;
        expect("a value of the key of a log", value, None)
    }

    async fn exact_positions(&self) -> Checked {
        let log = self.key("exact")?;
        let exactly = |position| AppendAt::Exactly(Position(position));
        for position in [0, 2, u64::MAX] {
            let taken = self.append(&log, exactly(position), &["x"]).await?;
            expect("not the first position", taken, None)?;
        }
        let last = self.append(&log, exactly(1), &["a", "b"]).await?;
        expect("the first position", last, Some(Position(2)))?;
        for position in [0, 1, 2, 4, u64::MAX] {
            let taken = self.append(&log, exactly(position), &["x"]).await?;
            expect("not the next position", taken, None)?;
        }
        let last = self.append(&log, exactly(3), &["c"]).await?;
        expect("the next position", last, Some(Position(3)))?;
        expect(
            "the log",
            self.log(&log, 0).await?.entries,
            list(&["a", "b", "c"]),
        )
    }

    async fn read_limits(&self) -> Checked {
        let log = self.key("limits")?;
        self.append(&log, AppendAt::End, &["aaaa", "bbbb", "cccc"])
            .await?;
        for (entries, bytes, expected) in [
            (2, 100, &["aaaa", "bbbb"][..]),
            (9, 11, &["aaaa", "bbbb"]),
            (9, 12, &["aaaa", "bbbb", "cccc"]),
            (9, 0, &["aaaa"]),
            (0, 0, &["aaaa"]),
            (usize::MAX, usize::MAX, &["aaaa", "bbbb", "cccc"]),
        ] {
            let limit = ReadLimit { entries, bytes };
            let slice = self.store.read(&log, Position(0), limit).await?;
            let step = format!("at most {entries} entries of {bytes} bytes");
            expect(&step, slice.entries, list(expected))?;
        }
        Ok(())
    }

    async fn keeps_newest(&self) -> Checked {
        let log = self.key("keep")?;
        let keep = Keep {
            entries: 3,
            ttl: LONG,
        };
        for batch in [&["a", "b"][..], &["c", "d"], &["e"]] {
            self.store
                .append(&log, AppendAt::End, list(batch), keep)
                .await?;
        }
        let slice = LogSlice {
            entries: list(&["c", "d", "e"]),
            start: Position(3),
            first: Position(3),
            last: Position(5),
        };
        expect("the newest entries", self.log(&log, 0).await?, slice)?;
        let keep = Keep {
            entries: 1,
            ttl: LONG,
        };
        let batch = list(&["f", "g"]);
        let last = self
            .store
            .append(&log, AppendAt::Exactly(Position(6)), batch, keep)
            .await?;
        expect("the next position", last, Some(Position(7)))?;
        let slice = LogSlice {
            entries: list(&["g"]),
            start: Position(7),
            first: Position(7),
            last: Position(7),
        };
        expect(
            "the newest entry of a batch",
            self.log(&log, 3).await?,
            slice,
        )
    }

    async fn log_expires(&self) -> Checked {
        let (gone, stays) = (self.key("gone")?, self.key("stays")?);
        let keep = |ttl| Keep { entries: 9, ttl };
        for (log, first, second) in [(&gone, LONG, SHORT), (&stays, SHORT, LONG)] {
            for ttl in [first, second] {
                self.store
                    .append(log, AppendAt::End, list(&["a"]), keep(ttl))
                    .await?;
            }
        }
        expect(
            "before its end",
            self.log(&gone, 0).await?.last,
            Position(2),
        )?;
        self.expire().await;
        expect(
            "after its end",
            self.log(&gone, 0).await?,
            LogSlice::default(),
        )?;
        expect(
            "a longer time",
            self.log(&stays, 0).await?.last,
            Position(2),
        )?;
        let last = self
            .append(&gone, AppendAt::Exactly(Position(1)), &["b"])
            .await?;
        expect("a new log", last, Some(Position(1)))
    }

    async fn all_or_none(&self) -> Checked {
        let log = self.key("batch")?;
        let append = |entries, keep| self.store.append(&log, AppendAt::End, entries, keep);
        let too_large = &[StoreErrorKind::TooLarge];
        let batch = vec![bytes("a"), fill(MAX_ENTRY_BYTES + 1)];
        expect_error(
            "an entry that is too large",
            append(batch, KEEP).await,
            too_large,
        )?;
        let batch = vec![fill(MAX_APPEND_BYTES / 4); 5];
        expect_error(
            "a batch that is too large",
            append(batch, KEEP).await,
            too_large,
        )?;
        let batch = vec![Bytes::new(); MAX_APPEND_ENTRIES + 1];
        expect_error("too many entries", append(batch, KEEP).await, too_large)?;
        let nothing = append(Vec::new(), KEEP).await;
        expect_error("no entries", nothing, &[StoreErrorKind::Invalid])?;
        for keep in [
            Keep {
                entries: 0,
                ttl: LONG,
            },
            Keep {
                entries: 1,
                ttl: Duration::ZERO,
            },
        ] {
            let result = append(list(&["a"]), keep).await;
            expect_error("nothing kept", result, &[StoreErrorKind::Invalid])?;
        }
        expect("the log", self.log(&log, 0).await?, LogSlice::default())?;
        let largest = fill(MAX_ENTRY_BYTES - self.backend.overhead());
        let batch = vec![largest; MAX_APPEND_BYTES / MAX_ENTRY_BYTES];
        present("the largest batch", append(batch, KEEP).await?)?;
        let batch = vec![Bytes::new(); MAX_APPEND_ENTRIES];
        present("the longest batch", append(batch, KEEP).await?)?;
        Ok(())
    }

    async fn appends_at_once(&self) -> Checked {
        const ROUNDS: u32 = 5;
        let log = self.key("at once")?;
        let done = all(8, |number| {
            let (store, log) = (self.handle(number), log.clone());
            async move {
                for round in 0..ROUNDS {
                    let entry = format!("{number}.{round}");
                    let batch = vec![bytes(&entry), bytes(&entry)];
                    store.append(&log, AppendAt::End, batch, KEEP).await?;
                }
                Ok(())
            }
        });
        let batches = done.await?.len() * ROUNDS as usize;
        let slice = self.log(&log, 0).await?;
        expect(
            "the last position",
            slice.last,
            Position(2 * batches as u64),
        )?;
        let (pairs, rest) = slice.entries.as_chunks::<2>();
        expect("entries", (pairs.len(), rest.len()), (batches, 0))?;
        for [one, two] in pairs {
            expect("the entries of a batch", one, two)?;
        }
        let mut distinct: Vec<_> = pairs.iter().map(|[one, _]| one).collect();
        distinct.sort_unstable();
        distinct.dedup();
        expect("batches", distinct.len(), batches)?;
        let put = self
            .store
            .put(&log, bytes("v"), Condition::Absent, LONG)
            .await?;
        present("a value of the key of a log", put)?;
        Ok(())
    }
}
