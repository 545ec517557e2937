//! Objects: the members that a revision lists, and their metadata.

use serde_json::{Map, Value, json};
use turnbuckle_types::InputRequest;
use turnbuckle_types::describe::{FieldShape, Shape, StructShape};

use super::builder::Builder;
use super::names::definition_name;
use crate::era::RESULT_TYPE;
use crate::era::project::listing::object_listing;

/// The members of an object.
#[derive(Default)]
pub(super) struct Members {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

impl Members {
    pub(super) fn add(&mut self, name: &str, schema: Value, is_required: bool) {
        self.properties.insert(name.to_owned(), schema);
        if is_required {
            self.required.push(name.into());
        }
    }

    pub(super) fn into_schema(self) -> Value {
        let mut schema = json!({"type": "object"});
        if !self.properties.is_empty() {
            schema["properties"] = Value::Object(self.properties);
        }
        if !self.required.is_empty() {
            schema["required"] = Value::Array(self.required);
        }
        schema
    }
}

/// The part of a `_meta` object in its message.
#[derive(Clone, Copy, PartialEq)]
enum MetaOwner {
    /// An item or a piece of content: the author's.
    Item,
    Request,
    Notification,
    Result,
    /// The end of a subscription.
    SubscriptionResult,
    /// A question or an answer inside of another message, which has no envelope.
    Embedded,
}

impl Builder {
    /// Returns the members of an object that pass the filter, which takes names of Rust fields.
    pub(super) fn members(
        &mut self,
        object: &StructShape,
        filter: &dyn Fn(&str) -> bool,
    ) -> Members {
        let mut members = Members::default();
        let listing = object_listing(object.name);
        let rule = |field: &str| {
            listing
                .and_then(|it| it.field(field))
                .map_or("", |it| it.rule)
        };
        let owner = match rule("meta") {
            "by message_meta" => self.meta_owner(object.name, rule("extra") == "by result_extra"),
            _ => MetaOwner::Item,
        };
        if let Some((name, value)) = object.tag {
            members.add(name, json!({"type": "string", "const": value}), true);
        }
        for field in object.fields.iter().filter(|field| filter(field.field)) {
            let facts = listing.and_then(|it| it.field(field.field));
            if facts.is_some_and(|facts| !(facts.is_listed)(self.features)) {
                continue;
            }
            if let Shape::Meta = field.shape {
                if let Some((schema, is_required)) = self.meta(object.name, owner) {
                    members.add(field.key, schema, is_required);
                }
                continue;
            }
            let is_demanded = facts.is_some_and(|facts| (facts.is_demanded)(self.features));
            let schema = self.member(object.name, field);
            members.add(field.key, schema, field.is_required || is_demanded);
        }
        if matches!(owner, MetaOwner::Result | MetaOwner::SubscriptionResult)
            && self.features.result_envelope
        {
            members.add(RESULT_TYPE, json!({"type": "string"}), true);
        }
        // The schemas that write parameters out leave out the metadata that all of them may have.
        let is_written_out = definition_name(object.name, self.features).is_none();
        if object.name.ends_with("Params") && is_written_out && members.properties.len() > 1 {
            members.properties.remove("_meta");
        }
        members
    }

    /// Returns the schema of a member of an object.
    fn member(&mut self, object: &str, field: &FieldShape) -> Value {
        let mut schema = match (&field.shape, field.key) {
            (Shape::Schema, key) => self.author_schema(key),
            (Shape::Any, "structuredContent") if !self.features.structured_any => {
                json!({"type": "object"})
            }
            (shape, _) => self.schema(shape),
        };
        match (object, field.key) {
            (_, "ttlMs") => schema["minimum"] = 0.into(),
            ("Completion", "values") if self.features.result_envelope => {
                schema["maxItems"] = 100.into();
            }
            // The type has the requests of both sides.
            ("ClientCapabilities", "tasks") => drop_requests(&mut schema, &["tools"]),
            ("ServerCapabilities", "tasks") => {
                drop_requests(&mut schema, &["elicitation", "sampling"]);
            }
            _ => {}
        }
        schema
    }

    fn meta_owner(&self, name: &str, is_result: bool) -> MetaOwner {
        let is_embedded = || {
            let mut questions = InputRequest::VARIANTS.iter();
            !self.features.server_requests && questions.any(|method| name.starts_with(method))
        };
        match name {
            "SubscriptionsListenResult" => MetaOwner::SubscriptionResult,
            _ if is_embedded() => MetaOwner::Embedded,
            _ if is_result => MetaOwner::Result,
            _ if name.ends_with("NotificationParams") => MetaOwner::Notification,
            _ => MetaOwner::Request,
        }
    }

    /// Returns the schema of a `_meta` object, and whether it must be there; `None` if it is not
    /// listed.
    fn meta(&mut self, object: &str, owner: MetaOwner) -> Option<(Value, bool)> {
        let is_envelope = self.features.result_envelope;
        Some(match owner {
            // A task is part of messages that have metadata.
            _ if object == "LegacyTask" => return None,
            MetaOwner::Embedded if object != "CreateMessageResult" => return None,
            MetaOwner::Request if !is_envelope => {
                let mut members = Members::default();
                members.add("progressToken", self.reference("ProgressToken"), false);
                (members.into_schema(), false)
            }
            _ if !is_envelope => (json!({"type": "object"}), false),
            MetaOwner::Item | MetaOwner::Embedded => (self.reference("MetaObject"), false),
            MetaOwner::Request => (self.reference("RequestMetaObject"), true),
            MetaOwner::Notification => (self.reference("NotificationMetaObject"), false),
            MetaOwner::Result => (self.reference("ResultMetaObject"), false),
            MetaOwner::SubscriptionResult => {
                (self.reference("SubscriptionsListenResultMetaObject"), true)
            }
        })
    }

    /// Returns the schema of a tool's schema, as far as a revision restricts it.
    fn author_schema(&self, key: &str) -> Value {
        let mut members = Members::default();
        if self.features.elicitation_url {
            members.add("$schema", json!({"type": "string"}), false);
        }
        if !self.features.structured_any {
            let properties = json!({"type": "object", "additionalProperties": {"type": "object"}});
            members.add("properties", properties, false);
            let names = json!({"type": "array", "items": {"type": "string"}});
            members.add("required", names, false);
        }
        if key == "inputSchema" || !self.features.structured_any {
            members.add("type", json!({"type": "string", "const": "object"}), true);
        }
        members.into_schema()
    }
}

/// Removes requests from the schema of the capability for tasks.
fn drop_requests(tasks: &mut Value, names: &[&str]) {
    if let Some(Value::Object(requests)) = tasks.pointer_mut("/properties/requests/properties") {
        requests.retain(|name, _| !names.contains(&&**name));
    }
}
