//! Items of a keyring of any size: large ones are split into parts.
//!
//! Windows keeps at most 2,560 bytes in an item. A larger one is split into parts, and the item
//! itself names them. There are two sets of parts (slots); a write fills the one that is not in use
//! and then replaces the item, so that a crash leaves the old or the new one.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{AuthError, AuthErrorKind};

/// The largest item that is not split.
const MAX_ITEM_BYTES: usize = if cfg!(windows) { 2_400 } else { 128 * 1024 };

/// The most parts of an item. More are a sign of damage.
const MAX_PARTS: usize = 4_096;

/// A keyring: items by name.
pub(super) trait Backend: Send + Sync + 'static {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, AuthError>;
    fn set(&self, name: &str, bytes: &[u8]) -> Result<(), AuthError>;
    fn remove(&self, name: &str) -> Result<(), AuthError>;
}

/// The content of an item that was split.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Split {
    split_into_parts: usize,
    slot: u8,
}

/// Items of any size in a keyring.
pub(super) struct Items {
    backend: Box<dyn Backend>,
    max_item_bytes: usize,
}

impl Items {
    pub(super) fn new(backend: impl Backend) -> Self {
        Self {
            backend: Box::new(backend),
            max_item_bytes: MAX_ITEM_BYTES,
        }
    }

    #[cfg(test)]
    pub(super) fn set_max_item_bytes(&mut self, max_item_bytes: usize) {
        self.max_item_bytes = max_item_bytes;
    }

    /// Returns whether there is an item.
    pub(super) fn exists(&self, name: &str) -> Result<bool, AuthError> {
        Ok(self.backend.get(name)?.is_some())
    }

    /// Returns an item.
    pub(super) fn read(&self, name: &str) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError> {
        // A write of another process can replace the parts between two reads.
        for _ in 0..3 {
            let Some(bytes) = self.backend.get(name)?.map(Zeroizing::new) else {
                return Ok(None);
            };
            let Some(split) = parse_split(&bytes) else {
                return Ok(Some(bytes));
            };
            let whole = self.read_parts(name, &split)?;
            let current = self.backend.get(name)?.map(Zeroizing::new);
            if current.is_some_and(|current| current == bytes) {
                if let Some(whole) = whole {
                    return Ok(Some(whole));
                }
                break;
            }
        }
        let message =
            format!("the keyring's item \"{name}\" lacks a part; remove it and log in again");
        Err(AuthError::new(AuthErrorKind::StoreCorrupt, message))
    }

    fn read_parts(
        &self,
        name: &str,
        split: &Split,
    ) -> Result<Option<Zeroizing<Vec<u8>>>, AuthError> {
        // In full from the start: growth would leave copies of the secret in freed memory.
        let capacity = split.split_into_parts.min(MAX_PARTS) * self.max_item_bytes;
        let mut whole = Zeroizing::new(Vec::with_capacity(capacity));
        for part in 0..split.split_into_parts {
            match self.backend.get(&part_name(name, split.slot, part))? {
                Some(bytes) => whole.extend_from_slice(&Zeroizing::new(bytes)),
                None => return Ok(None),
            }
        }
        Ok(Some(whole))
    }

    /// Sets an item. The caller excludes other writes.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<(), AuthError> {
        if bytes.len() <= self.max_item_bytes {
            self.backend.set(name, bytes)?;
            self.remove_parts(name, 0)?;
            self.remove_parts(name, 1)
        } else {
            let old = self.backend.get(name)?.map(Zeroizing::new);
            let old_slot = old
                .and_then(|bytes| parse_split(&bytes))
                .map(|split| split.slot);
            let slot = old_slot.map_or(0, |old_slot| 1 - old_slot);
            let parts = bytes.chunks(self.max_item_bytes);
            let split = Split {
                split_into_parts: parts.len(),
                slot,
            };
            for (index, part) in parts.enumerate() {
                self.backend.set(&part_name(name, slot, index), part)?;
            }
            let item = serde_json::to_vec(&split).map_err(|error| {
                let message = "the list of parts cannot be written as JSON";
                AuthError::new(AuthErrorKind::Store, message).with_source(error)
            })?;
            self.backend.set(name, &item)?;
            self.remove_parts(name, 1 - slot)
        }
    }

    /// Removes an item. The caller excludes other writes.
    pub(super) fn remove(&self, name: &str) -> Result<(), AuthError> {
        self.backend.remove(name)?;
        self.remove_parts(name, 0)?;
        self.remove_parts(name, 1)
    }

    /// Removes the parts of a slot, also those that a crash left.
    ///
    /// From the last to the first, so that a crash leaves no part behind a gap.
    fn remove_parts(&self, name: &str, slot: u8) -> Result<(), AuthError> {
        let mut parts = 0;
        while parts < MAX_PARTS {
            match self.backend.get(&part_name(name, slot, parts))? {
                Some(bytes) => drop(Zeroizing::new(bytes)),
                None => break,
            }
            parts += 1;
        }
        for part in (0..parts).rev() {
            self.backend.remove(&part_name(name, slot, part))?;
        }
        Ok(())
    }
}

fn part_name(name: &str, slot: u8, part: usize) -> String {
    format!("{name}/{slot}/{part}")
}

/// Parses the content of an item that was split. Whole items are envelopes, which differ.
fn parse_split(bytes: &[u8]) -> Option<Split> {
    let split: Split = serde_json::from_slice(bytes).ok()?;
    (split.slot <= 1 && split.split_into_parts <= MAX_PARTS).then_some(split)
}

/// The keyring of the operating system.
pub(super) struct SystemKeyring {
    service: String,
}

impl SystemKeyring {
    /// Connects to the keyring.
    pub(super) fn open(service: String) -> Result<Self, AuthError> {
        match keyring::Entry::store_status() {
            Ok(()) => Ok(Self { service }),
            Err(error) => {
                let message = format!(
                    "this system has no keyring that can be used ({error}); \
                     start its keyring service or use FileStore"
                );
                Err(AuthError::new(AuthErrorKind::Store, message))
            }
        }
    }

    fn entry(&self, name: &str) -> Result<keyring::Entry, AuthError> {
        keyring::Entry::new(&self.service, name).map_err(|e| keyring_error("find", name, e))
    }
}

impl Backend for SystemKeyring {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, AuthError> {
        match self.entry(name)?.get_secret() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(keyring::Error::NoEntry) => Ok(None),
            Err(error) => Err(keyring_error("read", name, error)),
        }
    }

    fn set(&self, name: &str, bytes: &[u8]) -> Result<(), AuthError> {
        let set = self.entry(name)?.set_secret(bytes);
        set.map_err(|error| keyring_error("write", name, error))
    }

    fn remove(&self, name: &str) -> Result<(), AuthError> {
        match self.entry(name)?.delete_credential() {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(error) => Err(keyring_error("remove", name, error)),
        }
    }
}

/// Returns the error of an operation on the keyring, without a value.
fn keyring_error(action: &str, name: &str, error: keyring::Error) -> AuthError {
    // The text of other kinds never holds the secret; `BadEncoding` carries it in its fields.
    let reason = match error {
        keyring::Error::BadEncoding(_) | keyring::Error::BadDataFormat(..) => {
            "the item is not in the form that was expected".to_owned()
        }
        error => error.to_string(),
    };
    let message = format!("cannot {action} the item \"{name}\" of the keyring: {reason}");
    AuthError::new(AuthErrorKind::Store, message)
}
