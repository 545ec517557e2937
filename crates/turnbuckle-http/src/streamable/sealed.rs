//! Sealed sessions: their ids hold all that is known of them, encrypted with the keys of the server.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use turnbuckle_session::internal::{SessionOwner, SessionRecord};
use turnbuckle_types::{DerivedKeys, Implementation, KeyLabel, KeyRing, Principal};

use crate::options::HttpServerOptions;
use crate::request::principal::Owner;

const LABEL: KeyLabel = KeyLabel::new("session id");

/// The beginning of an id, which tells its form.
const PREFIX: &str = "s1.";

/// The most characters of an id.
const MAX_ID_CHARS: usize = 2048;

/// The most bytes of a client's description of itself that is kept whole.
const MAX_INFO_BYTES: usize = 256;

/// The most characters that are kept of the name and of the version in a longer one.
const MAX_NAME_CHARS: usize = 48;

/// The bytes of the time at which an id expires.
const EXPIRY_BYTES: usize = 8;

/// The keys of the ids of sealed sessions, and how long ids are good.
#[derive(Debug)]
pub(crate) struct SealedIds {
    keys: DerivedKeys,
    ttl: Duration,
}

/// A session that an id holds.
#[derive(Debug)]
pub(crate) struct SealedSession {
    pub(crate) record: SessionRecord,
    /// The time at which the id expires.
    pub(crate) expires_at: SystemTime,
}

/// The reason that a session got no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SealError {
    /// The id would have more characters than an id may have.
    TooLong,
    /// The operating system gives no random bytes.
    RandomnessUnavailable,
}

impl SealedIds {
    pub(super) fn new(keys: &KeyRing, options: &HttpServerOptions) -> Self {
        Self {
            keys: keys.derive(LABEL),
            ttl: options.timeouts.sealed_session_ttl,
        }
    }

    /// Returns the id of a session that is opened at the time `now`.
    ///
    /// # Errors
    /// If the id would be too long, or there is no randomness.
    pub(crate) fn seal(
        &self,
        mut record: SessionRecord,
        now: SystemTime,
    ) -> Result<String, SealError> {
        let owner = owner_context(record.owner.take().as_ref());
        record.client_info = record.client_info.as_ref().map(shorten_info);
        let expiry = since_epoch(now).saturating_add(self.ttl).as_secs();
        let mut plain = expiry.to_be_bytes().to_vec();
        plain.extend(record.encode().map_err(|_| SealError::TooLong)?);
        let sealed = self.keys.seal(&owner, &plain);
        let sealed = sealed.map_err(|_| SealError::RandomnessUnavailable)?;
        let id = format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(sealed));
        match id.len() {
            ..=MAX_ID_CHARS => Ok(id),
            _ => Err(SealError::TooLong),
        }
    }

    /// Returns the session of an id at the time `now`, for a request of this principal. `None` if the id is
    /// not one of these keys and this principal, or has expired.
    pub(crate) fn open(
        &self,
        id: &str,
        principal: Option<&Principal>,
        now: SystemTime,
    ) -> Option<SealedSession> {
        let text = id.strip_prefix(PREFIX)?;
        if id.len() > MAX_ID_CHARS {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        // A session without an owner may be used by every principal.
        let own = principal.map(|principal| Owner::new(Some(principal)).into_record());
        let (owner, plain) = [own.flatten(), None].into_iter().find_map(|owner| {
            let plain = self.keys.open(&owner_context(owner.as_ref()), &sealed)?;
            Some((owner, plain))
        })?;
        let (expiry, record) = plain.split_first_chunk::<EXPIRY_BYTES>()?;
        let expiry = Duration::from_secs(u64::from_be_bytes(*expiry));
        if since_epoch(now) >= expiry {
            return None;
        }
        let mut record = SessionRecord::decode(record).ok()?;
        record.owner = owner;
        // What the client concludes may come to another instance than its next request.
        record.initialized = true;
        Some(SealedSession {
            record,
            expires_at: UNIX_EPOCH.checked_add(expiry)?,
        })
    }
}

/// Returns the context of the ids of an owner: they open for no other one.
fn owner_context(owner: Option<&SessionOwner>) -> Vec<u8> {
    let mut context = Vec::new();
    if let Some(owner) = owner {
        let (issuer, subject, client) = owner.identity();
        for part in [Some(issuer), Some(subject), client].into_iter().flatten() {
            context.extend_from_slice(&(part.len() as u64).to_be_bytes());
            context.extend_from_slice(part.as_bytes());
        }
    }
    context
}

/// Returns a client's description of itself in few bytes.
fn shorten_info(info: &Implementation) -> Implementation {
    if serde_json::to_vec(info).is_ok_and(|text| text.len() <= MAX_INFO_BYTES) {
        return info.clone();
    }
    let beginning = |text: &str| text.chars().take(MAX_NAME_CHARS).collect::<String>();
    Implementation::new(beginning(&info.name), beginning(&info.version))
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::{ClientCapabilities, Json, LoggingLevel, SecretKey};
    use turnbuckle_wire::revision::Revision;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn ids(key: u8) -> SealedIds {
        let options = HttpServerOptions::new();
        let options = options.timeouts(crate::HttpTimeouts::new().sealed_session_ttl(HOUR));
        SealedIds::new(&KeyRing::new(SecretKey::from_bytes([key; 32])), &options)
    }

    fn record(principal: Option<&Principal>) -> SessionRecord {
        SessionRecord {
            revision: Revision::NEWEST_LEGACY,
            capabilities: ClientCapabilities::new(),
            client_info: Some(Implementation::new("c", "1")),
            log_level: LoggingLevel::Info,
            initialized: false,
            owner: Owner::new(principal).into_record(),
            resources: Vec::new(),
            change_position: None,
            unsaved_since: None,
        }
    }

    fn now() -> SystemTime {
        UNIX_EPOCH + 500_000 * HOUR
    }

    #[test]
    fn an_id_opens_for_its_owner_until_it_expires() {
        let ann = Principal::new("https://issuer.example", "ann");
        let bob = Principal::new("https://issuer.example", "bob");
        let id = ids(1).seal(record(Some(&ann)), now()).unwrap();
        let opened = ids(1).open(&id, Some(&ann), now()).unwrap();
        let expected = SessionRecord {
            initialized: true,
            ..record(Some(&ann))
        };
        assert_eq!(opened.record, expected);
        assert_eq!(opened.expires_at, now() + HOUR);
        let second = Duration::from_secs(1);
        assert!(
            ids(1)
                .open(&id, Some(&ann), now() + HOUR - second)
                .is_some()
        );
        assert!(ids(1).open(&id, Some(&ann), now() + HOUR).is_none());
        for stranger in [None, Some(&bob)] {
            assert!(ids(1).open(&id, stranger, now()).is_none(), "{stranger:?}");
        }
        assert!(ids(2).open(&id, Some(&ann), now()).is_none(), "other keys");
        let open = ids(1).seal(record(None), now()).unwrap();
        for anybody in [None, Some(&ann), Some(&bob)] {
            let opened = ids(1).open(&open, anybody, now()).unwrap();
            assert_eq!(opened.record.owner, None);
        }
    }

    #[test]
    fn an_id_that_was_changed_opens_nothing() {
        let id = ids(1).seal(record(None), now()).unwrap();
        for at in 0..id.len() {
            let mut changed = id.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(ids(1).open(&changed, None, now()).is_none(), "{at}");
        }
        let long = format!("{id}{}", "A".repeat(10_000));
        for other in ["", "s1.", "s1.A", &id[3..], &long, "s1.ä"] {
            assert!(ids(1).open(other, None, now()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_handshake_that_makes_a_long_id_has_none() {
        let mut long = record(None);
        long.client_info = Some(Implementation::new("n".repeat(4000), "1"));
        let id = ids(1).seal(long.clone(), now()).unwrap();
        let info = ids(1).open(&id, None, now()).unwrap().record.client_info;
        assert_eq!(info.unwrap().name, "n".repeat(MAX_NAME_CHARS));
        let settings = Json::encode(&serde_json::json!({"a": "x".repeat(1500)})).unwrap();
        long.capabilities.extensions.insert("a.b/c", settings);
        assert_eq!(ids(1).seal(long, now()), Err(SealError::TooLong));
    }
}
