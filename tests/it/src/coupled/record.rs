//! The record of a conversation in both directions, checked by the oracle message by message.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use serde_json::Value;

use turnbuckle_wire::revision::Revision;

use crate::wires::seed;
use turnbuckle_check::oracle::{Oracle, Sender};

pub(super) struct Record {
    name: String,
    revision: Revision,
    lines: Vec<String>,
    pub(super) sent: Vec<Value>,
    pub(super) received: Vec<Value>,
    /// Violations found so far.
    pub(super) faults: Vec<String>,
    /// By who asked and the text of the id: the method.
    asked: HashMap<(Sender, String), String>,
}

impl Record {
    pub(super) fn new(name: String, revision: Revision) -> Self {
        Self {
            name,
            revision,
            lines: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
            faults: Vec::new(),
            asked: HashMap::new(),
        }
    }

    pub(super) fn take(&mut self, sender: Sender, frame: &[u8]) {
        let arrow = match sender {
            Sender::Client => "→",
            Sender::Server => "←",
        };
        let text = String::from_utf8_lossy(frame);
        self.lines.push(format!("{arrow} {text}"));
        let Ok(message) = serde_json::from_slice::<Value>(frame) else {
            return self.faults.push(format!("{}: no JSON: {text}", self.name));
        };
        self.judge(sender, &message);
        match sender {
            Sender::Client => self.sent.push(message),
            Sender::Server => self.received.push(message),
        }
    }

    fn judge(&mut self, sender: Sender, message: &Value) {
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        let method = message["method"].as_str();
        if let Some(method) = method {
            self.asked.insert((sender, id), method.to_owned());
            // What other extensions define the official schemas do not know.
            if Oracle::knows(self.revision, method) {
                self.check(sender, message, None);
            }
            return;
        }
        let asker = match sender {
            Sender::Client => Sender::Server,
            Sender::Server => Sender::Client,
        };
        let asked = self.asked.get(&(asker, id)).cloned();
        let asked = asked.filter(|method| Oracle::knows(self.revision, method));
        self.check(sender, message, asked.as_deref());
    }

    fn check(&mut self, sender: Sender, message: &Value, asked: Option<&str>) {
        static ORACLE: OnceLock<Oracle> = OnceLock::new();
        let oracle = ORACLE.get_or_init(Oracle::load);
        let judged = oracle.check_message(self.revision, sender, message, asked);
        if let Err(faults) = judged {
            let (name, faults) = (&self.name, faults.join("\n"));
            self.faults.push(format!(
                "{name}: {sender:?} says what is no message: {faults}\n{message:#}"
            ));
        }
    }

    /// Returns the conversation as readable text.
    pub(super) fn transcript(&self) -> String {
        let mut text = format!("{}, TURNBUCKLE_SEED={}:\n", self.name, seed());
        for line in &self.lines {
            let shown = line.char_indices().nth(2000).map_or(line.len(), |it| it.0);
            let _ = writeln!(text, "{}", &line[..shown]);
        }
        text
    }
}
