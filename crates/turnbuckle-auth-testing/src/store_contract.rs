//! A test of the rules that each [`CredentialStore`] keeps.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use turnbuckle_auth::client::store::MemoryStore;
//! use turnbuckle_auth_testing::store_contract;
//!
//! let store = MemoryStore::new();
//! store_contract::check(&store).await?;
//! # Ok(())
//! # }
//! ```

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use turnbuckle_auth::AuthError;
use turnbuckle_auth::Secret;
use turnbuckle_auth::client::store::{CredentialStore, MAX_KEY_BYTES, MAX_VALUE_BYTES, StoreLock};

use turnbuckle_types::base::random;

/// The time within which a free lock must be granted.
const FREE_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a held lock must not be granted.
const HELD_LOCK_INTERVAL: Duration = Duration::from_millis(150);

/// The increments of each task in the test of the lock.
const INCREMENTS: usize = 10;

/// A rule of [`CredentialStore`] that a store broke. `Display` names the rule and the fault.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store breaks the contract of CredentialStore: {0}")]
pub struct ContractViolation(String);

type Checked = Result<(), ContractViolation>;

/// Checks a store against the rules of [`CredentialStore`].
///
/// The test uses keys of its own that begin with `contract-test/` and removes them when it succeeds.
/// It takes about a second. It needs a tokio runtime with time enabled, and it cannot test
/// durability, other processes, and the state after a crash.
///
/// # Errors
/// Fails with the first rule that the store breaks.
pub async fn check<S: CredentialStore + ?Sized>(store: &S) -> Result<(), ContractViolation> {
    let id = random::id().map_err(|error| ContractViolation(error.to_string()))?;
    let prefix = format!("contract-test/{id}/");
    let test = Test { store, prefix };
    test.check_values().await?;
    test.check_keys().await?;
    test.check_bounds().await?;
    test.check_lock().await?;
    test.check_increments().await?;
    test.check_whole_values().await?;
    test.remove_all().await
}

/// A run of the test.
struct Test<'s, S: ?Sized> {
    store: &'s S,
    /// The beginning of each key, so that runs do not disturb each other.
    prefix: String,
}

impl<S: CredentialStore + ?Sized> Test<'_, S> {
    async fn check_values(&self) -> Checked {
        let key = self.key("value");
        self.expect(&key, None, "a key that was never saved has no value")
            .await?;
        for value in ["first", "", "{\"a\":\n\"é\u{1f511}\"}\0", "last"] {
            self.save(&key, value).await?;
            self.expect(&key, Some(value), "load returns what save set last")
                .await?;
        }
        self.remove(&key).await?;
        self.expect(&key, None, "a removed key has no value")
            .await?;
        self.remove(&key).await
    }

    async fn check_keys(&self) -> Checked {
        let mut expected = Vec::new();
        for name in [
            "a", "A", "a/../b", "a b", "é", "C:\\x", "%41", "'\"\n", "a.tmp",
        ] {
            let key = self.key(name);
            self.save(&key, name).await?;
            expected.push(key);
        }
        let longest = self.longest_key();
        self.save(&longest, "long").await?;
        for name in ["a", "A", "a b"] {
            self.expect(
                &self.key(name),
                Some(name),
                "keys that differ have values that differ",
            )
            .await?;
        }
        expected.push(longest);
        expected.sort();
        let mut found = self.own_keys().await?;
        found.sort();
        if found != expected {
            let rule = "keys returns each key that has a value once, byte for byte";
            return violation(format!("{rule}: expected {expected:?}, got {found:?}"));
        }
        self.remove(&self.key("a")).await?;
        if self.own_keys().await?.contains(&self.key("a")) {
            return violation("keys does not return a removed key");
        }
        Ok(())
    }

    async fn check_bounds(&self) -> Checked {
        let key = self.key("bounds");
        let largest = "v".repeat(MAX_VALUE_BYTES);
        self.save(&key, &largest).await?;
        self.expect(&key, Some(&largest), "a value of MAX_VALUE_BYTES is kept")
            .await?;
        let too_large = Secret::new(format!("{largest}v"));
        if self.store.save(&key, &too_large).await.is_ok() {
            return violation("save refuses a value that is longer than MAX_VALUE_BYTES");
        }
        self.expect(&key, Some(&largest), "a refused value leaves the old one")
            .await?;
        self.save(&key, "small").await?;
        self.expect(&key, Some("small"), "a small value replaces a large one")
            .await?;
        let value = Secret::new("v");
        for key in [String::new(), format!("{}k", self.longest_key())] {
            let refused = self.store.save(&key, &value).await.is_err()
                && self.store.load(&key).await.is_err()
                && self.store.lock(&key).await.is_err();
            if !refused {
                let bytes = key.len();
                return violation(format!("a key of {bytes} bytes is refused"));
            }
        }
        Ok(())
    }

    async fn check_lock(&self) -> Checked {
        let (first, second) = (self.key("lock"), self.key("another lock"));
        let held = self
            .take_lock(&first, "a lock that nobody holds is granted")
            .await?;
        let waiting = tokio::time::timeout(HELD_LOCK_INTERVAL, self.store.lock(&first)).await;
        match waiting {
            Err(_) => {}
            Ok(Ok(_)) => return violation("a lock is exclusive, and two callers had it"),
            Ok(Err(error)) => {
                return violation(format!("lock waits for the holder, and failed: {error}"));
            }
        }
        drop(
            self.take_lock(&second, "the locks of two keys are independent")
                .await?,
        );
        self.save(&first, "by the holder").await?;
        self.expect(
            &first,
            Some("by the holder"),
            "the holder of a lock can load and save",
        )
        .await?;
        self.remove(&first).await?;
        let mut next = pin!(self.take_lock(&first, "a lock that was dropped is granted"));
        // It queues before the lock is free.
        let early = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
        if early.is_ready() {
            return violation("a lock is exclusive, also after its value was removed");
        }
        drop(held);
        drop(next.await?);
        drop(self.take_lock(&first, "a lock can be taken again").await?);
        Ok(())
    }

    /// Increments a counter from eight tasks, each time under the lock.
    async fn check_increments(&self) -> Checked {
        let key = self.key("counter");
        self.save(&key, "0").await?;
        let task = || self.increment(&key);
        tokio::try_join!(
            task(),
            task(),
            task(),
            task(),
            task(),
            task(),
            task(),
            task()
        )?;
        let total = (8 * INCREMENTS).to_string();
        self.expect(&key, Some(&total), "changes under the lock are not lost")
            .await
    }

    async fn increment(&self, key: &str) -> Checked {
        for _ in 0..INCREMENTS {
            let held = self.store.lock(key).await;
            let _held = held.map_err(|e| failure("lock", key, &e))?;
            let value = self.load(key).await?;
            let count = value.and_then(|value| value.expose().parse::<usize>().ok());
            let Some(count) = count else {
                return violation("load under the lock returns what save under the lock set");
            };
            self.save(key, &(count + 1).to_string()).await?;
        }
        Ok(())
    }

    /// Saves values of different lengths while others load them.
    async fn check_whole_values(&self) -> Checked {
        let key = self.key("whole");
        let texts = ["x".repeat(10), "y".repeat(MAX_VALUE_BYTES / 2)];
        self.save(&key, &texts[0]).await?;
        let writer = async {
            for index in 0..20 {
                self.save(&key, &texts[index % 2]).await?;
            }
            Ok(())
        };
        let reader = async {
            for _ in 0..40 {
                let value = self.load(&key).await?;
                if !texts
                    .iter()
                    .any(|text| value.as_ref().is_some_and(|v| v.expose() == text))
                {
                    return violation("load returns a whole value while another is saved");
                }
            }
            Ok(())
        };
        tokio::try_join!(writer, reader)?;
        Ok(())
    }

    async fn remove_all(&self) -> Checked {
        for key in self.own_keys().await? {
            self.remove(&key).await?;
        }
        match self.own_keys().await?.first() {
            None => Ok(()),
            Some(key) => violation(format!("remove removes the key {key:?}")),
        }
    }

    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn longest_key(&self) -> String {
        let missing = MAX_KEY_BYTES.saturating_sub(self.prefix.len());
        self.key(&"k".repeat(missing))
    }

    async fn own_keys(&self) -> Result<Vec<String>, ContractViolation> {
        let keys = self.store.keys().await;
        let mut keys = keys.map_err(|e| ContractViolation(format!("keys failed: {e}")))?;
        keys.retain(|key| key.starts_with(&self.prefix));
        Ok(keys)
    }

    async fn take_lock(&self, key: &str, rule: &str) -> Result<StoreLock, ContractViolation> {
        match tokio::time::timeout(FREE_LOCK_TIMEOUT, self.store.lock(key)).await {
            Ok(result) => result.map_err(|e| failure("lock", key, &e)),
            Err(_) => Err(ContractViolation(format!(
                "{rule}, and it was not within {} s",
                FREE_LOCK_TIMEOUT.as_secs()
            ))),
        }
    }

    async fn load(&self, key: &str) -> Result<Option<Secret>, ContractViolation> {
        let loaded = self.store.load(key).await;
        loaded.map_err(|e| failure("load", key, &e))
    }

    async fn save(&self, key: &str, value: &str) -> Checked {
        let saved = self.store.save(key, &Secret::new(value)).await;
        saved.map_err(|e| failure("save", key, &e))
    }

    async fn remove(&self, key: &str) -> Checked {
        let removed = self.store.remove(key).await;
        removed.map_err(|e| failure("remove", key, &e))
    }

    /// Checks the value of a key. The values are the test's own and no secrets.
    async fn expect(&self, key: &str, expected: Option<&str>, rule: &str) -> Checked {
        let loaded = self.load(key).await?;
        let found = loaded.as_ref().map(Secret::expose);
        if found == expected {
            return Ok(());
        }
        let shorten = |text: Option<&str>| {
            text.map(|text| (text.len(), text.chars().take(20).collect::<String>()))
        };
        let (expected, found) = (shorten(expected), shorten(found));
        violation(format!(
            "{rule}: key {key:?}, expected (length, beginning) {expected:?}, got {found:?}"
        ))
    }
}

fn violation<T>(text: impl Into<String>) -> Result<T, ContractViolation> {
    Err(ContractViolation(text.into()))
}

fn failure(operation: &str, key: &str, error: &AuthError) -> ContractViolation {
    ContractViolation(format!("{operation} of {key:?} failed: {error}"))
}

#[cfg(test)]
mod tests;
