//! The official schemas as judges of messages.
//!
//! [`Oracle::check_message`] asks three things of a message: that its envelope is JSON-RPC, that
//! what it carries is what the revision's schema says of its method, and that it uses no name that
//! only a later revision defines.

mod official;
mod schema;
mod strict;
mod tasks;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use turnbuckle_wire::revision::Revision;

pub use schema::Schema;

/// Sender of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Sender {
    fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    fn union(self, kind: &str) -> String {
        format!("{self:?}{kind}")
    }
}

/// Violations found in a message, one line each.
pub type Faults = Vec<String>;

/// The official schemas of all revisions, and of the extension for tasks.
pub struct Oracle {
    schemas: [Schema; Revision::ALL.len()],
    tasks: Schema,
}

impl Oracle {
    /// Reads the structure of the official schemas, which `cargo xtask schemas` writes and this crate
    /// contains.
    #[must_use]
    pub fn load() -> Self {
        Self::with_schemas(official::SCHEMAS.map(official::parse))
    }

    /// Creates an oracle that judges by other schemas of the revisions, oldest first.
    #[must_use]
    pub fn with_schemas(mut schemas: [Value; Revision::ALL.len()]) -> Self {
        let take =
            |revision: Revision| Schema::new(revision.as_str(), schemas[revision as usize].take());
        Self {
            schemas: Revision::ALL.map(take),
            tasks: Schema::new("ext-tasks", official::parse(official::TASKS)),
        }
    }

    /// Returns the schema of one revision.
    #[must_use]
    pub fn schema(&self, revision: Revision) -> &Schema {
        &self.schemas[revision as usize]
    }

    /// Checks a value against one definition of a revision, and that it uses no later name.
    ///
    /// # Errors
    /// When it is not such a value.
    pub fn validate(
        &self,
        revision: Revision,
        definition: &str,
        value: &Value,
    ) -> Result<(), Faults> {
        self.judge(self.schema(revision), &[definition], value)
    }

    /// Checks one message, or a batch of them where the revision has batches.
    ///
    /// `request_method` is the method of the request that a response answers; without it only the
    /// envelope of a result is checked. An error without an id that could be read may say
    /// `"id": null` to the three oldest revisions, although their schemas do not allow it.
    ///
    /// # Errors
    /// When the message is not one of the revision.
    pub fn check_message(
        &self,
        revision: Revision,
        sender: Sender,
        message: &Value,
        request_method: Option<&str>,
    ) -> Result<(), Faults> {
        if let Value::Array(messages) = message {
            if !self.schema(revision).has("JSONRPCBatchRequest") {
                return Err(vec!["a batch in a revision that has none".into()]);
            }
            if messages.is_empty() {
                return Err(vec!["an empty batch".into()]);
            }
            let check = |message| self.check_message(revision, sender, message, request_method);
            return messages.iter().try_for_each(check);
        }
        for part in self.parts(revision, sender, message, request_method)? {
            let definitions: Vec<_> = part.definitions.iter().map(String::as_str).collect();
            self.judge(part.schema, &definitions, &part.value)?;
        }
        Ok(())
    }

    /// Returns the names that a revision defines for the types in these messages and that none of
    /// them uses, as `Definition/…/name`: the gaps of a set of examples.
    ///
    /// # Errors
    /// When one of them is not a message of the revision.
    pub fn unused_names<'m>(
        &self,
        revision: Revision,
        messages: impl IntoIterator<Item = (Sender, &'m Value, Option<&'m str>)>,
    ) -> Result<BTreeSet<String>, Faults> {
        let schema = self.schema(revision);
        let mut names = strict::Names::default();
        for (sender, message, request_method) in messages {
            let parts = self.parts(revision, sender, message, request_method)?;
            let is_of_revision = |part: &&Part<'_>| part.schema.revision() == schema.revision();
            for part in parts.iter().filter(is_of_revision) {
                for definition in &part.definitions {
                    names.collect(schema, definition, &part.value);
                }
            }
        }
        Ok(names.unused_names())
    }

    /// Returns the parts of a message, each with the definitions that it is checked against.
    fn parts<'m>(
        &'m self,
        revision: Revision,
        sender: Sender,
        message: &'m Value,
        request_method: Option<&str>,
    ) -> Result<Vec<Part<'m>>, Faults> {
        if let Some(parts) = self.task_parts(revision, sender, message, request_method) {
            return parts;
        }
        let schema = self.schema(revision);
        let has = |name: &str| message.get(name).is_some();
        match (has("method"), has("id"), has("result"), has("error")) {
            (true, true, false, false) => {
                let typed = schema.of_method(&sender.union("Request"), method(message)?)?;
                Ok(vec![Part::new(
                    schema,
                    &[&typed, "JSONRPCRequest", "Request"],
                    message,
                )])
            }
            (true, false, false, false) => {
                let typed = schema.of_method(&sender.union("Notification"), method(message)?)?;
                Ok(vec![Part::new(
                    schema,
                    &[&typed, "JSONRPCNotification", "Notification"],
                    message,
                )])
            }
            (false, true, true, false) => {
                let envelope = ["JSONRPCResultResponse", "JSONRPCResponse"];
                let envelope = envelope.into_iter().find(|name| schema.has(name));
                let mut parts = vec![Part::new(schema, envelope.as_slice(), message)];
                if let Some(method) = request_method {
                    let request = schema.of_method(&sender.other().union("Request"), method)?;
                    parts.extend(result_parts(schema, &request, message));
                }
                Ok(parts)
            }
            (false, _, false, true) => self.error_parts(revision, message),
            _ => Err(vec![format!(
                "no request, notification or response: {message}"
            )]),
        }
    }

    fn error_parts<'m>(
        &'m self,
        revision: Revision,
        message: &'m Value,
    ) -> Result<Vec<Part<'m>>, Faults> {
        let schema = self.schema(revision);
        let mut readable = Cow::Borrowed(message);
        if schema.has("JSONRPCError") && message.get("id") == Some(&Value::Null) {
            readable.to_mut()["id"] = json!(0);
        }
        let definitions = ["JSONRPCError", "JSONRPCErrorResponse"];
        let mut parts = vec![Part {
            value: readable,
            ..Part::new(schema, &definitions, message)
        }];

        let code = &message["error"]["code"];
        if let Some(typed) = schema.of_error_code(code) {
            let whole = schema.definition(&typed)["properties"]
                .get("error")
                .is_some();
            let value = if whole { message } else { &message["error"] };
            parts.push(Part::new(schema, &[&typed], value));
            return Ok(parts);
        }
        let later = self.schemas[revision as usize..]
            .iter()
            .find_map(|it| it.of_error_code(code));
        match later {
            // The numbers of JSON-RPC itself got definitions late.
            Some(typed) if !(-32768..=-32600).contains(&code.as_i64().unwrap_or_default()) => Err(
                vec![format!("the error {code} is a later revision's {typed}")],
            ),
            _ => Ok(parts),
        }
    }

    fn judge(&self, schema: &Schema, definitions: &[&str], value: &Value) -> Result<(), Faults> {
        let mut faults = Faults::new();
        for definition in definitions {
            faults.extend(schema.faults(definition, value));
        }
        // Only the revisions follow each other; an extension has one schema.
        if let (true, Some(revision)) = (faults.is_empty(), Revision::parse(schema.revision())) {
            let later = &self.schemas[revision as usize + 1..];
            strict::later_names(schema, later, definitions, value, &mut faults);
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }
}

/// A part of a message, and the definitions that it is to be judged by.
struct Part<'m> {
    /// The schema of the revision, or of the extension, that has the definitions.
    schema: &'m Schema,
    definitions: Vec<String>,
    value: Cow<'m, Value>,
}

impl<'m> Part<'m> {
    /// Creates a part that is checked against those of the definitions that the revision has.
    fn new(schema: &'m Schema, definitions: &[&str], value: &'m Value) -> Self {
        let known = definitions.iter().filter(|name| schema.has(name));
        Self {
            schema,
            definitions: known.map(|name| (*name).to_owned()).collect(),
            value: Cow::Borrowed(value),
        }
    }
}

/// The requests that a client or server of 2025-11-25 may answer with a task.
const TASKABLE: [&str; 3] = ["CallToolRequest", "CreateMessageRequest", "ElicitRequest"];

/// Returns the result in a response to a request of that definition.
fn result_parts<'m>(schema: &'m Schema, request: &str, message: &'m Value) -> Vec<Part<'m>> {
    let result = &message["result"];
    let typed = match result.get("resultType").and_then(Value::as_str) {
        None if result.get("task").is_some() && TASKABLE.contains(&request) => {
            return vec![Part::new(schema, &["CreateTaskResult", "Result"], result)];
        }
        None | Some("complete") => request.replace("Request", "Result"),
        Some("input_required") => "InputRequiredResult".to_owned(),
        // Defined by an extension, of which the core's schema says nothing.
        Some(_) => return vec![Part::new(schema, &["Result"], result)],
    };
    let typed = if schema.has(&typed) {
        typed
    } else {
        "EmptyResult".to_owned()
    };
    let response = request.replace("Request", "ResultResponse");
    vec![
        Part::new(schema, &[&response], message),
        Part::new(schema, &[&typed, "Result"], result),
    ]
}

fn method(message: &Value) -> Result<&str, Faults> {
    message["method"]
        .as_str()
        .ok_or_else(|| vec!["a method that is no string".into()])
}
