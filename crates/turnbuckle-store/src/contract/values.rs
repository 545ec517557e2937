//! The rules of values.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::harness::{
    Broken, Checked, LONG, Rule, SHORT, Test, all, bytes, expect, expect_error, fill, present,
};
use crate::bounds::{MAX_KEY_BYTES, MAX_TTL, MAX_VALUE_BYTES};
use crate::error::{StoreError, StoreErrorKind};
use crate::store::Store;
use crate::types::{Condition, StoreKey, Version, Versioned};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("a value is what was put last", |it| Box::pin(it.put_last())),
    ("keys that differ have values that differ", |it| {
        Box::pin(it.differing_keys())
    }),
    ("put with Absent takes a free key only", |it| {
        Box::pin(it.put_absent())
    }),
    ("put with Version replaces that version only", |it| {
        Box::pin(it.put_version())
    }),
    ("a version is never given twice", |it| {
        Box::pin(it.versions_differ())
    }),
    (
        "remove keeps its condition and says what it removed",
        |it| Box::pin(it.remove()),
    ),
    ("a value is gone when its time to live is over", |it| {
        Box::pin(it.value_expires())
    }),
    ("put gives a value a new time to live", |it| {
        Box::pin(it.put_renews())
    }),
    (
        "touch gives values a new time to live and nothing else",
        |it| Box::pin(it.touch()),
    ),
    ("values have bounds", |it| Box::pin(it.value_bounds())),
    (
        "of several that put with Absent at once, one succeeds",
        |it| Box::pin(it.one_claims()),
    ),
    ("changes with Version at once lose none", |it| {
        Box::pin(it.count_up())
    }),
];

impl Test<'_> {
    async fn put(
        &self,
        key: &StoreKey,
        value: &str,
        when: Condition,
    ) -> Result<Option<Version>, Broken> {
        Ok(self.store.put(key, bytes(value), when, LONG).await?)
    }

    /// Returns the value as both handles see it.
    async fn value(&self, key: &StoreKey) -> Result<Option<Versioned>, Broken> {
        let (here, there) = (self.store.get(key).await?, self.other.get(key).await?);
        expect("both handles see the same value", &there, &here)?;
        Ok(here)
    }

    async fn expect_value(&self, step: &str, key: &StoreKey, value: Option<&str>) -> Checked {
        let found = self.value(key).await?.map(|it| it.value);
        expect(step, found, value.map(bytes))
    }

    async fn put_last(&self) -> Checked {
        let key = self.key("last")?;
        self.expect_value("a key that was never put", &key, None)
            .await?;
        for value in ["first", "", "\0 \u{1f511}\n", "last"] {
            let put = self.put(&key, value, Condition::Always).await?;
            let version = present("put with Always", put)?;
            let found = present("get", self.value(&key).await?)?;
            let expected = Versioned {
                value: bytes(value),
                version,
            };
            expect("get after put", found, expected)?;
        }
        let binary: Bytes = (0..=255).collect::<Vec<u8>>().into();
        self.store
            .put(&key, binary.clone(), Condition::Always, LONG)
            .await?;
        let found = self.value(&key).await?.map(|it| it.value);
        expect("all bytes", found, Some(binary))
    }

    async fn differing_keys(&self) -> Checked {
        let longest = "k".repeat(MAX_KEY_BYTES - self.prefix.len() - 1);
        let almost = format!("{}l", &longest[1..]);
        let names = [
            "a", "A", "a ", "a/b", "a/../b", "é", "%41", "'\"\n\0", "a*", &longest, &almost,
        ];
        for name in names {
            self.put(&self.key(name)?, name, Condition::Always).await?;
        }
        for name in names {
            self.expect_value("each key", &self.key(name)?, Some(name))
                .await?;
        }
        // Logs, topics and queues have keys of their own.
        let key = self.key("a")?;
        let log = self
            .store
            .read(&key, Default::default(), Default::default())
            .await?;
        expect("a log of the key of a value", log, Default::default())?;
        let claim = self.store.claim(&key, LONG).await?;
        expect("a queue of the key of a value", claim, None)
    }

    async fn put_absent(&self) -> Checked {
        let key = self.key("absent")?;
        present(
            "a free key",
            self.put(&key, "one", Condition::Absent).await?,
        )?;
        expect(
            "a taken key",
            self.put(&key, "two", Condition::Absent).await?,
            None,
        )?;
        self.expect_value("after that", &key, Some("one")).await?;
        self.store.remove(&key, Condition::Always).await?;
        present(
            "a key that is free again",
            self.put(&key, "three", Condition::Absent).await?,
        )?;
        Ok(())
    }

    async fn put_version(&self) -> Checked {
        let key = self.key("version")?;
        let nothing = self
            .put(&key, "one", Condition::Version(Version(1)))
            .await?;
        expect("a key without a value", nothing, None)?;
        let one = present("put", self.put(&key, "one", Condition::Always).await?)?;
        let two = present(
            "its version",
            self.put(&key, "two", Condition::Version(one)).await?,
        )?;
        expect(
            "an old version",
            self.put(&key, "x", Condition::Version(one)).await?,
            None,
        )?;
        self.expect_value("after that", &key, Some("two")).await?;
        present(
            "the new version",
            self.put(&key, "three", Condition::Version(two)).await?,
        )?;
        Ok(())
    }

    async fn versions_differ(&self) -> Checked {
        let key = self.key("versions")?;
        let mut versions = Vec::new();
        for step in 0..4 {
            for handle in [&self.store, &self.other] {
                let put = handle
                    .put(&key, bytes("same"), Condition::Always, SHORT)
                    .await?;
                versions.push(present("put", put)?);
            }
            match step {
                0 => {}
                1 => drop(self.store.remove(&key, Condition::Always).await?),
                _ => self.expire().await,
            }
        }
        let count = versions.len();
        versions.sort_unstable();
        versions.dedup();
        expect("versions that differ", versions.len(), count)
    }

    async fn remove(&self) -> Checked {
        let key = self.key("remove")?;
        let remove = |when| self.store.remove(&key, when);
        expect("nothing to remove", remove(Condition::Always).await?, false)?;
        let one = present("put", self.put(&key, "one", Condition::Always).await?)?;
        let two = present("put", self.put(&key, "two", Condition::Always).await?)?;
        expect(
            "an old version",
            remove(Condition::Version(one)).await?,
            false,
        )?;
        expect("with Absent", remove(Condition::Absent).await?, false)?;
        self.expect_value("after that", &key, Some("two")).await?;
        expect("the version", remove(Condition::Version(two)).await?, true)?;
        self.expect_value("after remove", &key, None).await?;
        expect("once more", remove(Condition::Always).await?, false)
    }

    async fn value_expires(&self) -> Checked {
        let (key, lease) = (self.key("expires")?, self.key("lease")?);
        for key in [&key, &lease] {
            let put = self
                .store
                .put(key, bytes("v"), Condition::Absent, SHORT)
                .await?;
            present("put", put)?;
        }
        self.expect_value("before its end", &key, Some("v")).await?;
        self.expire().await;
        self.store.touch(vec![key.clone()], LONG).await?;
        self.expect_value("after its end", &key, None).await?;
        let removed = self.store.remove(&key, Condition::Always).await?;
        expect("remove after its end", removed, false)?;
        let taken = self
            .other
            .put(&lease, bytes("w"), Condition::Absent, LONG)
            .await?;
        present("put with Absent after its end", taken)?;
        Ok(())
    }

    async fn put_renews(&self) -> Checked {
        let (longer, shorter) = (self.key("longer")?, self.key("shorter")?);
        let put = |key, ttl| self.store.put(key, bytes("v"), Condition::Always, ttl);
        put(&longer, SHORT).await?;
        put(&longer, LONG).await?;
        put(&shorter, LONG).await?;
        put(&shorter, SHORT).await?;
        self.expire().await;
        self.expect_value("a longer time", &longer, Some("v"))
            .await?;
        self.expect_value("a shorter time", &shorter, None).await
    }

    async fn touch(&self) -> Checked {
        let (one, two, absent) = (self.key("t1")?, self.key("t2")?, self.key("t3")?);
        let put = |key, ttl| self.store.put(key, bytes("v"), Condition::Always, ttl);
        let version = present("put", put(&one, SHORT).await?)?;
        put(&two, LONG).await?;
        self.other
            .touch(vec![one.clone(), absent.clone()], LONG)
            .await?;
        self.other.touch(vec![two.clone()], SHORT).await?;
        self.other.touch(Vec::new(), SHORT).await?;
        self.expire().await;
        let found = self.value(&one).await?;
        let expected = Versioned {
            value: bytes("v"),
            version,
        };
        expect("a longer time, the same version", found, Some(expected))?;
        self.expect_value("a shorter time", &two, None).await?;
        self.expect_value("a key without a value", &absent, None)
            .await
    }

    async fn value_bounds(&self) -> Checked {
        let key = self.key("bounds")?;
        let put = |length, ttl| self.store.put(&key, fill(length), Condition::Always, ttl);
        let largest = MAX_VALUE_BYTES - self.backend.overhead();
        present("the largest value", put(largest, LONG).await?)?;
        let found = present("get", self.value(&key).await?)?;
        expect("its length", found.value.len(), largest)?;
        let result = put(MAX_VALUE_BYTES + 1, LONG).await;
        expect_error("a larger value", result, &[StoreErrorKind::TooLarge])?;
        let after = present("get", self.value(&key).await?)?;
        expect("after that", after.version, found.version)?;
        present("the longest time", put(1, MAX_TTL).await?)?;
        for ttl in [
            Duration::ZERO,
            MAX_TTL + Duration::from_millis(1),
            Duration::MAX,
        ] {
            expect_error(
                "a time without sense",
                put(1, ttl).await,
                &[StoreErrorKind::Invalid],
            )?;
            let touched = self.store.touch(vec![key.clone()], ttl).await;
            expect_error("touch without sense", touched, &[StoreErrorKind::Invalid])?;
        }
        Ok(())
    }

    async fn one_claims(&self) -> Checked {
        let key = self.key("claims")?;
        let claims = all(16, |number| {
            let (store, key) = (self.handle(number), key.clone());
            async move { store.put(&key, bytes("me"), Condition::Absent, LONG).await }
        });
        let winners = claims.await?.into_iter().flatten().count();
        expect("those that succeed", winners, 1)
    }

    async fn count_up(&self) -> Checked {
        const STEPS: usize = 5;
        let key = self.key("count")?;
        self.put(&key, "", Condition::Always).await?;
        let done = all(8, |number| {
            let (store, key) = (self.handle(number), key.clone());
            async move {
                for _ in 0..STEPS {
                    count(&*store, &key).await?;
                }
                Ok(())
            }
        });
        let steps = done.await?.len() * STEPS;
        let found = present("get", self.value(&key).await?)?;
        expect("the count", found.value.len(), steps)
    }

    /// Returns one handle for even numbers and the other one for odd ones.
    pub(super) fn handle(&self, number: u32) -> Arc<dyn Store> {
        match number % 2 {
            0 => self.store.clone(),
            _ => self.other.clone(),
        }
    }
}

/// Makes a value longer by one byte.
async fn count(store: &dyn Store, key: &StoreKey) -> Result<(), StoreError> {
    loop {
        let Some(Versioned { value, version }) = store.get(key).await? else {
            return Ok(());
        };
        let longer = fill(value.len() + 1);
        let put = store.put(key, longer, Condition::Version(version), LONG);
        if put.await?.is_some() {
            return Ok(());
        }
    }
}
