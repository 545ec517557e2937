//! A record of the messages of one client, each of which is validated by the official schemas.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde_json::Value;

use turnbuckle_wire::revision::{EraKind, Method, Revision};

use super::Case;
use crate::wires::seed;
use turnbuckle_check::oracle::{Oracle, Sender};

/// The record of one conversation.
pub(super) struct MessageRecord {
    case: Case,
    lines: Vec<String>,
    received: Vec<Value>,
    /// By the id of a request: its method, and the revision that its answer is judged by.
    asked: HashMap<String, Asked>,
    /// Revision that the session's handshake agreed on.
    session: Option<Revision>,
}

#[derive(Clone)]
struct Asked {
    method: String,
    revision: Option<Revision>,
}

impl MessageRecord {
    pub(super) fn new(case: Case) -> Self {
        Self {
            case,
            lines: Vec::new(),
            received: Vec::new(),
            asked: HashMap::new(),
            session: None,
        }
    }

    pub(super) fn record_sent(&mut self, frame: &[u8]) {
        self.lines
            .push(format!("→ {}", String::from_utf8_lossy(frame)));
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
            _ if method == Method::Discover.as_str() => Some(Revision::NEWEST),
            Some(version) => Some(version),
            None if method == Method::Initialize.as_str() => None,
            None => Some(self.session.unwrap_or(Revision::NEWEST_LEGACY)),
        };
        let method = method.to_owned();
        self.asked
            .insert(id.to_string(), Asked { method, revision });
    }

    /// Takes down a frame of the server.
    pub(super) fn record_received(&mut self, frame: &[u8]) -> Value {
        let text = std::str::from_utf8(frame).expect("a server sends UTF-8");
        self.lines.push(format!("← {text}"));
        let message: Value = serde_json::from_str(text)
            .unwrap_or_else(|error| panic!("{}: no JSON was received: {error}", self.case));
        self.judge(&message);
        self.received.push(message.clone());
        message
    }

    fn judge(&mut self, message: &Value) {
        if let Value::Array(messages) = message {
            self.check(message, self.case.revision, None);
            return messages.iter().for_each(|message| self.judge(message));
        }
        if let Some(method) = message["method"].as_str() {
            // What other extensions define the official schemas do not know.
            if Oracle::knows(self.case.revision, method) {
                self.check(message, self.case.revision, None);
            }
            return;
        }
        let asked = message
            .get("id")
            .and_then(|id| self.asked.get(&id.to_string()))
            .cloned();
        let Some(asked) = asked else {
            // Without an era nobody can tell: then as the newest has it.
            return self.check(message, self.session.unwrap_or(Revision::NEWEST), None);
        };
        let revision = asked.revision.unwrap_or_else(|| {
            let offered = message["result"]["protocolVersion"].as_str();
            let offered = offered.and_then(Revision::parse);
            self.session = self.session.or(offered);
            offered.unwrap_or(Revision::NEWEST_LEGACY)
        });
        let method = Some(&*asked.method).filter(|method| Oracle::knows(revision, method));
        self.check(message, revision, method);
    }

    fn check(&self, message: &Value, revision: Revision, asked: Option<&str>) {
        static ORACLE: OnceLock<Oracle> = OnceLock::new();
        let oracle = ORACLE.get_or_init(Oracle::load);
        // Integers that are too long for the judge's own numbers are judged as another.
        let mut message = Cow::Borrowed(message);
        if message.get("id").is_some_and(Value::is_f64) {
            message.to_mut()["id"] = 0.into();
        }
        let message = &*message;
        if let Err(faults) = oracle.check_message(revision, Sender::Server, message, asked) {
            panic!(
                "{}: no message of {revision}: {}\n{message:#}",
                self.case,
                faults.join("\n")
            );
        }
    }

    pub(super) fn all_received(&self) -> &[Value] {
        &self.received
    }

    /// Returns the conversation as readable text.
    pub(super) fn transcript(&self) -> String {
        let mut text = format!("{}, TURNBUCKLE_SEED={}:\n", self.case, seed());
        for line in &self.lines {
            let shown = line.char_indices().nth(2000).map_or(line.len(), |it| it.0);
            let _ = writeln!(text, "{}", &line[..shown]);
        }
        text
    }
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
