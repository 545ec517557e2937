//! The conversation as the model reads it, within a bound.

use serde_json::Value;

/// The text in place of a tool's result that is left out.
const LEFT_OUT: &str = "(left out: the conversation is too long)";

/// The messages of a conversation, with a bound on their bytes together.
pub(crate) struct History {
    messages: Vec<Value>,
    max_bytes: usize,
}

impl History {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            messages: Vec::new(),
            max_bytes,
        }
    }

    pub(crate) fn messages(&self) -> &[Value] {
        &self.messages
    }

    /// Adds a message. Over the bound, the oldest turns are dropped: a message of the user with all
    /// that followed it. If the last turn alone is too long, its oldest results are left out, and so
    /// each call keeps a result.
    pub(crate) fn push(&mut self, message: Value) {
        self.messages.push(message);
        let mut bytes: usize = self.messages.iter().map(length).sum();
        while bytes > self.max_bytes
            && let Some(next) = self.messages.iter().skip(1).position(is_of_user)
        {
            bytes -= self
                .messages
                .drain(..=next)
                .map(|it| length(&it))
                .sum::<usize>();
        }
        let results = self.messages.iter_mut().filter(|it| it["role"] == "tool");
        for result in results {
            if bytes <= self.max_bytes {
                return;
            }
            let before = length(result);
            result["content"] = LEFT_OUT.into();
            bytes = bytes.saturating_sub(before) + length(result);
        }
    }

    /// Removes the last turn.
    pub(crate) fn remove_last_turn(&mut self) {
        let begin = self.messages.iter().rposition(is_of_user);
        self.messages.truncate(begin.unwrap_or_default());
    }
}

fn is_of_user(message: &Value) -> bool {
    message["role"] == "user"
}

fn length(message: &Value) -> usize {
    message.to_string().len()
}
