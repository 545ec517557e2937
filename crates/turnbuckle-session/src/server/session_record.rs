//! The record of a legacy session: all that another instance of the server needs to serve it.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};
use turnbuckle_types::base::change_position::ChangePosition;
use turnbuckle_types::{ClientCapabilities, Implementation, LoggingLevel, Principal};
use turnbuckle_wire::revision::{EraKind, Revision};

/// The first byte of a record, which tells its format.
const VERSION: u8 = 1;

/// The most bytes of a record.
const MAX_RECORD_BYTES: usize = 512 << 10;

/// The most bytes of the URIs of a record, so that the rest fits.
const MAX_RESOURCES_BYTES: usize = 448 << 10;

/// The record of a legacy session: what its handshake said, and what its client set afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// The negotiated revision, one of the legacy era.
    pub revision: Revision,
    /// The capabilities that the client declared.
    pub capabilities: ClientCapabilities,
    /// The client's description of itself.
    pub client_info: Option<Implementation>,
    /// The lowest level of log messages that the client gets.
    pub log_level: LoggingLevel,
    /// True if the client has concluded the handshake.
    pub initialized: bool,
    /// The principal that opened the session, if there was one.
    pub owner: Option<SessionOwner>,
    /// The URIs of the resources that the client is subscribed to.
    pub resources: Vec<Box<str>>,
    /// The position in the log of changes up to which the client was told of everything.
    pub change_position: Option<ChangePosition>,
    /// The position in the log of changes before the client changed what is new in this version of the record,
    /// if the store failed then.
    pub unsaved_since: Option<ChangePosition>,
}

/// The identity of the principal that opened a session:
/// [`Principal::identity`](turnbuckle_types::Principal::identity).
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionOwner {
    /// The issuer of the token.
    pub issuer: String,
    /// The caller.
    pub subject: String,
    /// The client that acts for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

impl SessionOwner {
    /// Returns the parts of the identity.
    #[must_use]
    pub fn identity(&self) -> (&str, &str, Option<&str>) {
        (&self.issuer, &self.subject, self.client.as_deref())
    }
}

impl From<&Principal> for SessionOwner {
    fn from(principal: &Principal) -> Self {
        let (issuer, subject, client) = principal.identity();
        Self {
            issuer: issuer.to_owned(),
            subject: subject.to_owned(),
            client: client.map(str::to_owned),
        }
    }
}

impl fmt::Debug for SessionOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOwner").finish_non_exhaustive()
    }
}

/// The parts of a saved record that the client can change afterwards.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordBase {
    /// The lowest level of log messages that the client gets.
    pub log_level: LoggingLevel,
    /// The URIs of the resources that the client is subscribed to.
    pub resources: Vec<Box<str>>,
    /// The position up to which the client was told of changes.
    pub change_position: Option<ChangePosition>,
}

impl From<&SessionRecord> for RecordBase {
    fn from(record: &SessionRecord) -> Self {
        Self {
            log_level: record.log_level,
            resources: record.resources.clone(),
            change_position: record.change_position,
        }
    }
}

/// The reason that bytes are no record that this release can read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The first byte names a format that this release does not know.
    #[error("the record of the session was written by a newer release")]
    Newer,
    /// The bytes are no record.
    #[error("the record of the session is malformed")]
    Malformed,
}

/// The text of a record. Members that are unknown are skipped, and those that later releases add are
/// optional.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordText {
    revision: String,
    #[serde(default)]
    capabilities: ClientCapabilities,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_info: Option<Implementation>,
    log_level: LoggingLevel,
    #[serde(default)]
    initialized: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<SessionOwner>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resources: Vec<Box<str>>,
    /// The text of a position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    change_position: Option<String>,
    /// The text of a position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unsaved_since: Option<String>,
}

impl SessionRecord {
    /// Encodes the record. URIs of resources beyond 448 KiB are left out.
    ///
    /// # Errors
    /// [`RecordError::Malformed`] if it cannot be written as JSON or has more than 512 KiB.
    pub fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let mut room = MAX_RESOURCES_BYTES;
        let mut fits = |uri: &str| {
            // A byte takes up to six bytes of JSON, and a URI two quotes and a comma.
            let left = room.checked_sub(6 * uri.len() + 3);
            room = left.unwrap_or(0);
            left.is_some()
        };
        let resources = self.resources.iter().take_while(|uri| fits(uri));
        let resources = resources.cloned().collect();
        let text = RecordText {
            revision: self.revision.as_str().to_owned(),
            capabilities: self.capabilities.clone(),
            client_info: self.client_info.clone(),
            log_level: self.log_level,
            initialized: self.initialized,
            owner: self.owner.clone(),
            resources,
            change_position: self.change_position.map(|position| position.to_string()),
            unsaved_since: self.unsaved_since.map(|position| position.to_string()),
        };
        let mut bytes = vec![VERSION];
        serde_json::to_writer(&mut bytes, &text).map_err(|_| RecordError::Malformed)?;
        match bytes.len() {
            ..=MAX_RECORD_BYTES => Ok(bytes),
            _ => Err(RecordError::Malformed),
        }
    }

    /// Merges the changes that another instance made to `base` into this record, which is `base` with the
    /// changes of this instance. Where both changed the same thing, this instance wins.
    pub fn merge(&mut self, base: &RecordBase, theirs: &Self) {
        self.initialized |= theirs.initialized;
        if self.log_level == base.log_level {
            self.log_level = theirs.log_level;
        }
        if self.change_position == base.change_position {
            self.change_position = theirs.change_position;
        }
        let base: HashSet<&str> = base.resources.iter().map(|uri| &**uri).collect();
        let ours: HashSet<&str> = self.resources.iter().map(|uri| &**uri).collect();
        let removed = |uri: &str| base.contains(uri) && !ours.contains(uri);
        let mut merged: BTreeSet<Box<str>> = theirs.resources.iter().cloned().collect();
        merged.retain(|uri| !removed(uri));
        let added = ours.difference(&base).map(|uri| Box::from(*uri));
        merged.extend(added);
        self.resources = merged.into_iter().collect();
    }

    /// Decodes a record.
    ///
    /// # Errors
    /// If the bytes are no record, or one of a newer format.
    pub fn decode(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() > MAX_RECORD_BYTES {
            return Err(RecordError::Malformed);
        }
        let text = match bytes.split_first() {
            Some((&VERSION, text)) => text,
            Some((&version, _)) if version > VERSION => return Err(RecordError::Newer),
            _ => return Err(RecordError::Malformed),
        };
        let text: RecordText = serde_json::from_slice(text).map_err(|_| RecordError::Malformed)?;
        let revision = Revision::parse(&text.revision)
            .filter(|revision| revision.features().era == EraKind::Legacy)
            .ok_or(RecordError::Malformed)?;
        let position = |text: Option<String>| text.as_deref().and_then(ChangePosition::parse);
        Ok(Self {
            revision,
            capabilities: text.capabilities,
            client_info: text.client_info,
            log_level: text.log_level,
            initialized: text.initialized,
            owner: text.owner,
            resources: text.resources,
            change_position: position(text.change_position),
            unsaved_since: position(text.unsaved_since),
        })
    }
}

#[cfg(test)]
mod tests {
    use turnbuckle_types::RootsCapability;

    use super::*;

    fn record() -> SessionRecord {
        let mut capabilities = ClientCapabilities::new();
        capabilities.roots = Some(RootsCapability::new().list_changed(true));
        SessionRecord {
            revision: Revision::NEWEST_LEGACY,
            capabilities,
            client_info: Some(Implementation::new("c", "1")),
            log_level: LoggingLevel::Error,
            initialized: true,
            owner: Some(SessionOwner {
                issuer: "https://issuer.example".into(),
                subject: "ann".into(),
                client: Some("app".into()),
            }),
            resources: vec!["a:\u{1}".into(), "b:2".into()],
            change_position: Some(ChangePosition { number: 3, mark: 7 }),
            unsaved_since: Some(ChangePosition { number: 2, mark: 6 }),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = record().encode().unwrap();
        assert_eq!(SessionRecord::decode(&bytes), Ok(record()));
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let good = record().encode().unwrap();
        let mut newer = good.clone();
        newer[0] = VERSION + 1;
        assert_eq!(SessionRecord::decode(&newer), Err(RecordError::Newer));
        let modern = String::from_utf8(good[1..].to_vec())
            .unwrap()
            .replace(Revision::NEWEST_LEGACY.as_str(), Revision::NEWEST.as_str());
        let deep = format!(r#"{{"capabilities":{}"#, r#"{"a":"#.repeat(100_000));
        let texts = ["", "{}", "[]", r#"{"revision":7}"#, &modern, &deep];
        let texts = texts
            .iter()
            .map(|text| [&[VERSION], text.as_bytes()].concat());
        let long = vec![b' '; MAX_RECORD_BYTES + 1];
        let cut = good[..good.len() - 1].to_vec();
        for bytes in texts.chain([Vec::new(), vec![0], good[1..].to_vec(), cut, long]) {
            assert!(SessionRecord::decode(&bytes).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn changes_of_two_instances_are_merged() {
        let with = |level, resources: &[&str]| SessionRecord {
            log_level: level,
            resources: resources.iter().map(|uri| Box::from(*uri)).collect(),
            initialized: false,
            ..record()
        };
        let saved = with(LoggingLevel::Info, &["a:1", "b:1", "c:1"]);
        let mut ours = with(LoggingLevel::Info, &["b:1", "c:1", "d:1"]);
        let told = Some(ChangePosition { number: 4, mark: 1 });
        let theirs = SessionRecord {
            initialized: true,
            change_position: told,
            ..with(LoggingLevel::Error, &["a:1", "c:1", "e:1"])
        };
        ours.merge(&RecordBase::from(&saved), &theirs);
        let merged = SessionRecord {
            initialized: true,
            change_position: told,
            ..with(LoggingLevel::Error, &["c:1", "d:1", "e:1"])
        };
        assert_eq!(ours, merged);
        let mut ours = with(LoggingLevel::Debug, &[]);
        ours.merge(&RecordBase::from(&saved), &theirs);
        assert_eq!(ours.log_level, LoggingLevel::Debug);
    }

    #[test]
    fn the_resources_of_a_record_are_bounded() {
        let mut record = record();
        let uri: Box<str> = "\u{1}".repeat(1 << 10).into();
        record.resources = vec![uri; 1 << 10];
        let bytes = record.encode().unwrap();
        assert!(bytes.len() <= MAX_RECORD_BYTES);
        let kept = SessionRecord::decode(&bytes).unwrap().resources.len();
        assert!(kept > 70 && kept < 80, "{kept}");
    }
}
