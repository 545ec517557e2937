//! The changes that instances share, and their form in the log.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};

use crate::message::NAME_BYTES;

/// A change that the subscribers of all instances are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedChange {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources or of resource templates.
    Resources,
    /// The resource of this URI.
    Resource(Arc<str>),
    /// A notification for the subscribers of a topic.
    Topic {
        /// The key of the topic.
        topic: Arc<str>,
        /// The name of the notification.
        method: Arc<str>,
        /// The JSON text of its parameters.
        params: Bytes,
    },
    /// There is something new about a topic. Each instance reads what it is.
    TopicChanged(Arc<str>),
    /// Changes that are not known one by one: everything may have changed.
    Everything,
}

/// The part of a change by which a later one takes the place of an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeKey {
    Tools,
    Prompts,
    Resources,
    Resource(Arc<str>),
    Topic(Arc<str>, Arc<str>),
    TopicChanged(Arc<str>),
    Everything,
}

impl SharedChange {
    pub(super) fn key(&self) -> ChangeKey {
        match self {
            Self::Tools => ChangeKey::Tools,
            Self::Prompts => ChangeKey::Prompts,
            Self::Resources => ChangeKey::Resources,
            Self::Resource(uri) => ChangeKey::Resource(uri.clone()),
            Self::Topic { topic, method, .. } => ChangeKey::Topic(topic.clone(), method.clone()),
            Self::TopicChanged(topic) => ChangeKey::TopicChanged(topic.clone()),
            Self::Everything => ChangeKey::Everything,
        }
    }

    /// Returns the bytes that the change takes in the log, and about as many in memory.
    pub(super) fn bytes(&self) -> usize {
        HEAD_BYTES
            + match self {
                Self::Tools | Self::Prompts | Self::Resources | Self::Everything => 0,
                Self::Resource(text) | Self::TopicChanged(text) => text.len(),
                Self::Topic {
                    topic,
                    method,
                    params,
                } => 8 + topic.len() + method.len() + params.len(),
            }
    }
}

/// The version of the form. Entries of another version are not read.
const VERSION: u8 = 1;

/// The bytes before the texts of an entry: version, flags, kind, mark, name of the instance.
const HEAD_BYTES: usize = 3 + 4 + NAME_BYTES;

/// The flag of a change of which the instance has told its own subscribers before.
const IS_TOLD: u8 = 1;

/// An entry of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// The instance that has appended the entry.
    pub(super) origin: Arc<str>,
    pub(super) mark: u32,
    /// True if that instance has told its own subscribers before.
    pub(super) is_told: bool,
    /// The change; `None` in an entry that only keeps the log alive.
    pub(super) change: Option<SharedChange>,
}

impl Entry {
    /// Creates an entry that nobody is told of.
    pub(super) fn without_change(origin: &Arc<str>, mark: u32) -> Self {
        Self {
            origin: origin.clone(),
            mark,
            is_told: false,
            change: None,
        }
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        let texts = self.change.as_ref().map_or(0, SharedChange::bytes);
        let mut bytes = BytesMut::with_capacity(HEAD_BYTES + texts);
        bytes.put_u8(VERSION);
        bytes.put_u8(if self.is_told { IS_TOLD } else { 0 });
        bytes.put_u8(match &self.change {
            None => 0,
            Some(SharedChange::Tools) => 1,
            Some(SharedChange::Prompts) => 2,
            Some(SharedChange::Resources) => 3,
            Some(SharedChange::Resource(_)) => 4,
            Some(SharedChange::Topic { .. }) => 5,
            Some(SharedChange::TopicChanged(_)) => 6,
            Some(SharedChange::Everything) => 7,
        });
        bytes.put_u32_le(self.mark);
        bytes.extend_from_slice(self.origin.as_bytes());
        match &self.change {
            Some(SharedChange::Resource(text) | SharedChange::TopicChanged(text)) => {
                bytes.extend_from_slice(text.as_bytes());
            }
            Some(SharedChange::Topic {
                topic,
                method,
                params,
            }) => {
                put_text(&mut bytes, topic);
                put_text(&mut bytes, method);
                bytes.extend_from_slice(params);
            }
            _ => {}
        }
        bytes.freeze()
    }

    /// Reads an entry. Returns `None` if it is not one, or of a kind that this release does not know.
    pub(super) fn read(bytes: &Bytes) -> Option<Self> {
        let (head, _) = bytes.split_at_checked(HEAD_BYTES)?;
        let [version, flags, kind, rest @ ..] = head else {
            return None;
        };
        let (mark, origin) = rest.split_first_chunk()?;
        if *version != VERSION || *flags > IS_TOLD {
            return None;
        }
        let origin = std::str::from_utf8(origin).ok()?;
        if !origin.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let rest = bytes.slice(HEAD_BYTES..);
        let text = || Some(Arc::from(std::str::from_utf8(&rest).ok()?));
        let change = match kind {
            0..=3 | 7 if !rest.is_empty() => return None,
            0 => None,
            1 => Some(SharedChange::Tools),
            2 => Some(SharedChange::Prompts),
            3 => Some(SharedChange::Resources),
            4 => Some(SharedChange::Resource(text()?)),
            5 => {
                let mut rest = rest;
                Some(SharedChange::Topic {
                    topic: take_text(&mut rest)?,
                    method: take_text(&mut rest)?,
                    params: rest,
                })
            }
            6 => Some(SharedChange::TopicChanged(text()?)),
            7 => Some(SharedChange::Everything),
            _ => return None,
        };
        Some(Self {
            origin: origin.into(),
            mark: u32::from_le_bytes(*mark),
            is_told: *flags == IS_TOLD,
            change,
        })
    }
}

fn put_text(bytes: &mut BytesMut, text: &str) {
    // Far below 4 GiB: the log takes no entry of more than 1 MiB.
    bytes.put_u32_le(u32::try_from(text.len()).unwrap_or(u32::MAX));
    bytes.extend_from_slice(text.as_bytes());
}

fn take_text(rest: &mut Bytes) -> Option<Arc<str>> {
    let (length, after) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let text = std::str::from_utf8(after.get(..length)?).ok()?.into();
    *rest = rest.slice(size_of::<u32>() + length..);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let changes = [
            None,
            Some(SharedChange::Tools),
            Some(SharedChange::Prompts),
            Some(SharedChange::Resources),
            Some(SharedChange::Resource("file:///\u{e4}".into())),
            Some(SharedChange::Topic {
                topic: "com.example/jobs 7".into(),
                method: "notifications/job".into(),
                params: Bytes::from_static(b"{\"a\":1}"),
            }),
            Some(SharedChange::TopicChanged("io.example/tasks 3".into())),
            Some(SharedChange::Everything),
        ];
        let entry = |(mark, change): (usize, Option<SharedChange>)| Entry {
            origin: "k3f9x2aq".into(),
            mark: u32::MAX - u32::try_from(mark).unwrap(),
            is_told: mark % 2 == 1,
            change,
        };
        changes.into_iter().enumerate().map(entry).collect()
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        for entry in entries() {
            assert_eq!(Entry::read(&entry.to_bytes()), Some(entry));
        }
    }

    #[test]
    fn what_is_not_ours_is_not_read() {
        for entry in entries() {
            let good = entry.to_bytes();
            for length in 0..HEAD_BYTES {
                assert_eq!(Entry::read(&good.slice(..length)), None, "{length}");
            }
            for (at, byte) in [(0, 2), (1, 2), (2, 8), (2, 200), (7, b'/'), (8, 0xff)] {
                let mut bad = good.to_vec();
                bad[at] = byte;
                assert_eq!(Entry::read(&bad.into()), None, "byte {at} is {byte}");
            }
        }
        let topic = entries().swap_remove(5).to_bytes();
        for at in [HEAD_BYTES, HEAD_BYTES + 3, HEAD_BYTES + 4] {
            let mut bad = topic.to_vec();
            bad[at] = 0xff;
            assert_eq!(Entry::read(&bad.into()), None, "byte {at}");
        }
        let mut long = entries().swap_remove(1).to_bytes().to_vec();
        long.push(0);
        assert_eq!(Entry::read(&long.into()), None);
    }
}
