//! The messages of one connection, each of which is judged by the official schemas.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;
use turnbuckle_wire::revision::{EraKind, Revision};

use super::conversation::{Asked, Found, MessageRules};
use super::{ProbeError, RuleFault, SchemaFault, Transcript};
use crate::oracle::{Oracle, Sender};

/// Requests whose answers are remembered to be judged. A connection that asks more is not judged by
/// method any more.
const MAX_REQUESTS: usize = 100_000;

/// The record of one connection.
pub(super) struct MessageRecord {
    revision: Revision,
    transcript: Transcript,
    /// By the id of a request: its method, and the revision that its answer is judged by.
    asked: HashMap<String, Asked>,
    conversation: MessageRules,
    /// Revision that the session's handshake agreed on.
    session: Option<Revision>,
    has_received: bool,
    /// Every message of the server, where they are kept.
    received: Option<Vec<Value>>,
}

impl MessageRecord {
    pub(super) fn new(revision: Revision, transcript: Transcript, keeps_messages: bool) -> Self {
        Self {
            revision,
            transcript,
            asked: HashMap::new(),
            conversation: MessageRules::new(revision),
            session: None,
            has_received: false,
            received: keeps_messages.then(Vec::new),
        }
    }

    pub(super) fn record_sent(&mut self, frame: &[u8]) {
        self.transcript.record_sent(&String::from_utf8_lossy(frame));
        match serde_json::from_slice(frame) {
            Ok(Value::Array(messages)) => messages.iter().for_each(|it| self.note_request(it)),
            Ok(message) => self.note_request(&message),
            Err(_) => {}
        }
    }

    fn note_request(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            return;
        };
        let revision = match envelope_of(message) {
            _ if method == "server/discover" => Some(Revision::NEWEST),
            Some(version) => Some(version),
            None if method == "initialize" => None,
            None => Some(self.session.unwrap_or(Revision::NEWEST_LEGACY)),
        };
        if method == "initialize" {
            self.conversation
                .declare(&message["params"]["capabilities"]);
        }
        let declared = &message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
        let asked = Asked {
            method: method.to_owned(),
            revision,
            declared: declared.clone(),
        };
        if self.asked.len() < MAX_REQUESTS {
            self.asked.insert(id.to_string(), asked);
        }
    }

    /// Takes down a frame of the server.
    pub(super) fn record_received(&mut self, frame: &[u8]) -> Result<Value, ProbeError> {
        let text = String::from_utf8_lossy(frame);
        self.transcript.record_received(&text);
        let not_json = || {
            let beginning: String = text.chars().take(200).collect();
            self.transcript.refuse(SchemaFault {
                method: None,
                faults: vec![SchemaFault::NOT_JSON.into()],
                message: beginning.clone(),
            });
            ProbeError::NotJson { beginning }
        };
        if matches!(text, Cow::Owned(_)) {
            return Err(not_json());
        }
        let message: Value = serde_json::from_str(&text).map_err(|_| not_json())?;
        self.judge(&message);
        self.has_received = true;
        if let Some(received) = &mut self.received {
            received.push(message.clone());
        }
        Ok(message)
    }

    pub(super) fn has_received(&self) -> bool {
        self.has_received
    }

    pub(super) fn all_received(&self) -> &[Value] {
        self.received.as_deref().unwrap_or_default()
    }

    fn judge(&mut self, message: &Value) {
        if let Value::Array(messages) = message {
            self.check(message, self.revision, None);
            return messages.iter().for_each(|message| self.judge(message));
        }
        if let Some(method) = message["method"].as_str() {
            let asked = &self.asked;
            let listens = |id: &Value| {
                let asked = asked.get(&id.to_string());
                asked.is_some_and(|asked| asked.method == "subscriptions/listen")
            };
            let found = self.conversation.judge(message, listens);
            self.report(Some(method), message, found);
            // The official schemas do not know what other extensions define.
            if Oracle::knows(self.revision, method) {
                self.check(message, self.revision, None);
            }
            return;
        }
        let asked = message
            .get("id")
            .and_then(|id| self.asked.get(&id.to_string()))
            .cloned();
        let Some(asked) = asked else {
            // Without a session the era of the sender is unknown: then the newest revision may have it, too.
            let newest = Revision::NEWEST;
            let judged = oracle().check_message(newest, Sender::Server, message, None);
            if self.session.is_some() || judged.is_err() {
                self.check(message, self.session.unwrap_or(self.revision), None);
            }
            return;
        };
        let revision = asked.revision.unwrap_or_else(|| {
            let offered = message["result"]["protocolVersion"].as_str();
            let offered = offered.and_then(Revision::parse);
            self.session = self.session.or(offered);
            offered.unwrap_or(Revision::NEWEST_LEGACY)
        });
        let found = self.conversation.judge_answer(revision, &asked, message);
        self.report(Some(&asked.method), message, found);
        let method = Some(&*asked.method).filter(|method| Oracle::knows(revision, method));
        self.check(message, revision, method);
    }

    fn report(&self, method: Option<&str>, message: &Value, found: Found) {
        for (check, sentence) in found {
            self.transcript.record_rule_fault(RuleFault {
                check,
                method: method.map(str::to_owned),
                sentence,
                message: message_text(message),
            });
        }
    }

    fn check(&self, message: &Value, revision: Revision, asked: Option<&str>) {
        // Integers that are too long for the judge's own numbers are judged as another.
        let mut judged = Cow::Borrowed(message);
        if message.get("id").is_some_and(Value::is_f64) {
            judged.to_mut()["id"] = 0.into();
        }
        if let Err(faults) = oracle().check_message(revision, Sender::Server, &judged, asked) {
            let method = message["method"].as_str().or(asked).map(str::to_owned);
            self.transcript.refuse(SchemaFault {
                method,
                faults: faults
                    .into_iter()
                    .map(|fault| format!("no message of {revision}: {fault}"))
                    .collect(),
                message: message_text(message),
            });
        }
    }
}

/// Returns a message as it is shown in a report.
fn message_text(message: &Value) -> String {
    format!("{message:#}").chars().take(4000).collect()
}

fn oracle() -> &'static Oracle {
    static ORACLE: OnceLock<Oracle> = OnceLock::new();
    ORACLE.get_or_init(Oracle::load)
}

/// Returns the modern revision of a message that has any part of an envelope.
fn envelope_of(message: &Value) -> Option<Revision> {
    let meta = message["params"]["_meta"].as_object()?;
    let version = meta.get("io.modelcontextprotocol/protocolVersion");
    if version.is_none() && !meta.contains_key("io.modelcontextprotocol/clientCapabilities") {
        return None;
    }
    let named = version.and_then(Value::as_str).and_then(Revision::parse);
    Some(
        named
            .filter(|it| it.features().era == EraKind::Modern)
            .unwrap_or(Revision::NEWEST),
    )
}
