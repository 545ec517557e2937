//! The record of what both sides said.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnbuckle_types::base::text::shorten_to;

use super::RuleFault;

/// Sender of a line of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The client.
    Sent,
    /// The server.
    Received,
}

/// A line of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Sender.
    pub direction: Direction,
    /// The message, or the head of an HTTP exchange, shortened.
    pub text: String,
}

/// A message of the server that the official schema of its revision refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFault {
    /// The method of the message, or of the request that it answers.
    pub method: Option<String>,
    /// The faults, one line each.
    pub faults: Vec<String>,
    /// The message, shortened.
    pub message: String,
}

impl SchemaFault {
    /// The fault of something that is not JSON.
    pub const NOT_JSON: &str = "not JSON";
}

/// A bounded record of what both sides said; clones are the same one.
#[derive(Debug, Clone)]
pub struct Transcript(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    lines: VecDeque<Line>,
    faults: Vec<SchemaFault>,
    rule_faults: Vec<RuleFault>,
    max_lines: usize,
    max_chars: usize,
    /// Lines that were dropped because newer ones came.
    dropped: usize,
}

/// Faults of schemas that are kept, and messages that break other rules.
const MAX_FAULTS: usize = 200;

impl Default for Transcript {
    fn default() -> Self {
        Self::new(80, 2000)
    }
}

impl Transcript {
    /// Creates a record of the last `max_lines` lines, each of `max_chars` characters at most.
    #[must_use]
    pub fn new(max_lines: usize, max_chars: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            lines: VecDeque::new(),
            faults: Vec::new(),
            rule_faults: Vec::new(),
            max_lines,
            max_chars,
            dropped: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records something that the client sent.
    pub fn record_sent(&self, text: &str) {
        self.push(Direction::Sent, text);
    }

    /// Records something that the server sent.
    pub fn record_received(&self, text: &str) {
        self.push(Direction::Received, text);
    }

    fn push(&self, direction: Direction, text: &str) {
        let mut inner = self.lock();
        let text = shorten_to(text, inner.max_chars);
        inner.lines.push_back(Line { direction, text });
        if inner.lines.len() > inner.max_lines {
            inner.lines.pop_front();
            inner.dropped += 1;
        }
    }

    /// Records a message that its schema refuses.
    pub fn refuse(&self, fault: SchemaFault) {
        let mut inner = self.lock();
        if inner.faults.len() < MAX_FAULTS {
            inner.faults.push(fault);
        }
    }

    /// Records a message that breaks a rule about the conversation.
    pub(crate) fn record_rule_fault(&self, fault: RuleFault) {
        let mut inner = self.lock();
        if inner.rule_faults.len() < MAX_FAULTS {
            inner.rule_faults.push(fault);
        }
    }

    /// Returns the messages that broke rules about the conversation.
    #[must_use]
    pub(crate) fn rule_faults(&self) -> Vec<RuleFault> {
        self.lock().rule_faults.clone()
    }

    /// Returns the messages that broke rules about the conversation, and forgets them.
    #[must_use]
    pub(crate) fn take_rule_faults(&self) -> Vec<RuleFault> {
        std::mem::take(&mut self.lock().rule_faults)
    }

    /// Returns the lines.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        self.lock().lines.iter().cloned().collect()
    }

    /// Returns the messages that their schemas refused, and forgets them.
    #[must_use]
    pub fn take_faults(&self) -> Vec<SchemaFault> {
        std::mem::take(&mut self.lock().faults)
    }

    /// Forgets everything.
    pub fn clear(&self) {
        let mut inner = self.lock();
        inner.lines.clear();
        inner.faults.clear();
        inner.rule_faults.clear();
        inner.dropped = 0;
    }
}
