//! Messages of the extension for tasks, which its own schema judges.

use serde_json::Value;
use turnbuckle_wire::revision::{Method, Revision};

use super::{Faults, Oracle, Part, Sender};

/// The requests of the extension, each with the beginning of the names of its definitions.
const REQUESTS: [(&str, &str); 3] = [
    ("tasks/get", "GetTask"),
    ("tasks/update", "UpdateTask"),
    ("tasks/cancel", "CancelTask"),
];

const NOTIFICATION: &str = "notifications/tasks";

/// Returns the beginning of the names of a request's definitions.
fn request_name(method: &str) -> Option<&'static str> {
    let mut requests = REQUESTS.into_iter();
    requests.find_map(|(name, definition)| (name == method).then_some(definition))
}

impl Oracle {
    /// Returns the parts of a message that the extension for tasks defines; `None` for any other message.
    pub(super) fn task_parts<'m>(
        &'m self,
        revision: Revision,
        sender: Sender,
        message: &'m Value,
        request_method: Option<&str>,
    ) -> Option<Result<Vec<Part<'m>>, Faults>> {
        if revision != Revision::NEWEST {
            return None;
        }
        let part = |definition: &str, value| Part::new(&self.tasks, &[definition], value);
        if let Some(method) = message["method"].as_str() {
            let (definition, expected) = match request_name(method) {
                Some(name) => (format!("{name}Request"), Sender::Client),
                None if method == NOTIFICATION => ("TaskStatusNotification".into(), Sender::Server),
                None => return None,
            };
            return Some(match sender == expected {
                true => Ok(vec![part(&definition, message)]),
                false => Err(vec![format!("{method} of a {sender:?}")]),
            });
        }
        let result = message.get("result")?;
        let envelope = Part::new(self.schema(revision), &["JSONRPCResultResponse"], message);
        let is_task = result["resultType"] == "task";
        let definition = match request_method? {
            "tools/call" if is_task => "CreateTaskResult".to_owned(),
            method if is_task => {
                return Some(Err(vec![format!("a task as the result of {method}")]));
            }
            method => format!("{}Result", request_name(method)?),
        };
        Some(Ok(vec![envelope, part(&definition, result)]))
    }

    /// Returns whether messages of a method can be judged: not those of extensions other than tasks.
    #[must_use]
    pub fn knows(revision: Revision, method: &str) -> bool {
        let is_task = method == NOTIFICATION || request_name(method).is_some();
        Method::parse(method).is_some() || (is_task && revision == Revision::NEWEST)
    }
}
