//! The projection of values to older revisions: a member or a kind of content that a revision does
//! not know is never sent to it.
//!
//! Each type of the vocabulary has one table ([`rules`]), in files by area. The table of what is
//! sent instead is on [`Project`].

mod capability;
mod content;
mod elicitation;
mod list;
#[cfg(feature = "definitions")]
pub(crate) mod listing;
mod message;
mod output_schema;
mod prompt;
mod property_schemas;
mod resource;
mod rules;
mod sampling;
mod task;
mod tool;

use std::any::Any;
use std::borrow::Cow;

use rules::Fate;
use serde::Serialize;
use turnbuckle_types::{Extra, Map, Meta, ProtocolError, meta};

use super::body::{ResultBody, WriteTarget, write_value};
use super::result::RESULT_TYPE;
use super::tool_result::IS_NO_ERROR;
use crate::json::WriteError;
use crate::revision::Features;

/// A value that can be reduced to what an older revision knows.
///
/// Only members that a *later* schema defines are removed; members that no schema knows pass. What
/// is sent instead, by the [`Features`] that the reader's revision lacks:
///
/// | lacks | in | is sent as |
/// |---|---|---|
/// | `tool_annotations` | tool | nothing: hints |
/// | `titles` | tool | `annotations.title`, where that exists and says nothing else |
/// | `titles` | anything else | nothing: the name stays |
/// | `titles` | `_meta` of an item, `lastModified` | nothing: hints |
/// | `icons` | icons; an implementation's description and site | nothing: hints |
/// | `audio` | tool result, prompt | an embedded resource: the data as a blob, under a URI made of their hash |
/// | `audio` | sampling | a line of text that says what was left out |
/// | `resource_links` | tool result, prompt | a text with name, URI, type and description; an embedded resource would claim contents that nobody read |
/// | `structured_output` | tool | no output schema |
/// | `structured_output` | tool result | its text, which is added where there is no content |
/// | `structured_any` | tool | an output schema for objects only as it is; one for anything but objects wrapped, as the property `result` of an object; one for both not at all |
/// | `boolean_properties` | the schemas of a tool | `{}` and `{"not":{}}` for a property whose schema is `true` or `false` |
/// | `structured_any` | tool result | an object as it is; anything else as `{"result": …}`, with a mark in `_meta` |
/// | `sampling_tools` | tools for a model | *missing capability* |
/// | `sampling_tools` | tool uses and results in a message | a line of text each |
/// | `sampling_tools` | a list of blocks | the block, if it is one; several are a *missing capability* in a question and one text in an answer |
/// | `elicitation` | any question to the user | *missing capability* |
/// | `elicitation_url` | a URL to visit | *missing capability* |
/// | `elicitation_url` | choice of several values | *missing capability* |
/// | `elicitation_url` | choice of one titled value | `enum` and `enumNames` |
/// | `elicitation_id` | the id of a URL to visit | nothing |
/// | `core_tasks` | the wish that a request is a task; the ways in which a tool runs | nothing |
/// | `completions_capability`, `core_tasks`, `extensions` | capability | nothing |
/// | `progress_message` | progress | nothing: the numbers stay |
/// | `completion_context` | completion | nothing: a hint |
/// | `result_envelope` | `resultType`, `ttlMs`, `cacheScope`; the protocol's own `_meta`; answers and state of a retried request | nothing |
///
/// A *missing capability* is found by [`Project::check_expressible`] before anything is sent: a
/// question to a user or a model is never reduced in silence.
pub trait Project {
    /// `true` for a result that may be cached, which states in the modern era for how long.
    const CACHEABLE: bool = false;

    /// `true` for the result of a tool, which states in legacy revisions that it is no error.
    const IS_TOOL_RESULT: bool = false;

    /// Returns whether the value can be sent as it is to a peer with `features`.
    fn fits(&self, features: &Features) -> bool;

    /// Converts the value to one that such a peer knows: later members are removed, and later content
    /// is replaced by older content that says the same.
    fn project(&mut self, features: &Features);

    /// Checks that the value can be sent to such a peer at all.
    ///
    /// # Errors
    /// [`ErrorKind::MissingRequiredClientCapability`](turnbuckle_types::ErrorKind::MissingRequiredClientCapability), with what
    /// the peer would need, when the projection would ask for something else than the value does.
    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        let _ = features;
        Ok(())
    }

    /// Returns whether the result reports a failure.
    fn is_error(&self) -> bool {
        false
    }

    /// Undoes, on the reader's side, a change that the projection marked: the wrapping of structured
    /// output that is no object. Anything else stays as it arrived.
    fn undo_projection(&mut self) {}
}

/// A result from the vocabulary, which is projected while it is written.
#[derive(Debug, Clone)]
pub struct ProjectedResult<T>(pub T);

impl<T> ResultBody for ProjectedResult<T>
where
    T: Serialize + Project + Clone + Send + 'static,
{
    fn write(&self, target: &WriteTarget<'_>, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let mut members = Vec::new();
        let mut target = *target;
        if T::CACHEABLE && target.features.result_envelope {
            members.extend_from_slice(target.additions.members);
            // Without a word of its author, a result may not be cached.
            members.extend_from_slice(&[("ttlMs", b"0"), ("cacheScope", b"\"private\"")]);
            target.additions.members = &members;
        } else if T::IS_TOOL_RESULT && target.features.explicit_is_error {
            target.additions.members = &[IS_NO_ERROR];
        }
        write_value(out, &*project_copy(&self.0, target.features), &target)
    }

    fn is_error(&self) -> bool {
        self.0.is_error()
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&self.0)
    }
}

/// Returns the value, or a copy, as a peer with `features` knows it.
pub(super) fn project_copy<'v, T: Project + Clone>(
    value: &'v T,
    features: &Features,
) -> Cow<'v, T> {
    if value.fits(features) {
        return Cow::Borrowed(value);
    }
    let mut older = value.clone();
    older.project(features);
    Cow::Owned(older)
}

impl<T: Project> Project for Vec<T> {
    fn fits(&self, features: &Features) -> bool {
        self.iter().all(|value| value.fits(features))
    }

    fn project(&mut self, features: &Features) {
        self.iter_mut().for_each(|value| value.project(features));
    }

    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        self.iter()
            .try_for_each(|value| value.check_expressible(features))
    }
}

impl<T: Project> Project for Option<T> {
    fn fits(&self, features: &Features) -> bool {
        self.as_ref().is_none_or(|value| value.fits(features))
    }

    fn project(&mut self, features: &Features) {
        if let Some(value) = self {
            value.project(features);
        }
    }

    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        self.as_ref()
            .map_or(Ok(()), |value| value.check_expressible(features))
    }
}

impl<V: Project> Project for Map<V> {
    fn fits(&self, features: &Features) -> bool {
        self.values().all(|value| value.fits(features))
    }

    fn project(&mut self, features: &Features) {
        self.values_mut().for_each(|value| value.project(features));
    }

    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        self.values()
            .try_for_each(|value| value.check_expressible(features))
    }
}

impl<T: Project> Project for Box<T> {
    fn fits(&self, features: &Features) -> bool {
        (**self).fits(features)
    }

    fn project(&mut self, features: &Features) {
        (**self).project(features);
    }

    fn check_expressible(&self, features: &Features) -> Result<(), ProtocolError> {
        (**self).check_expressible(features)
    }
}

/// Removes the type of a result, which arrived without a name in the vocabulary, where results have
/// none.
fn result_extra(extra: &Extra, features: &Features) -> Fate<Extra> {
    if features.result_envelope || !extra.contains_key(RESULT_TYPE) {
        return Fate::Keep;
    }
    let mut older = extra.clone();
    older.remove(RESULT_TYPE);
    Fate::Replace(older)
}

/// Removes the keys of the modern envelope from the `_meta` of a message where there is none.
fn message_meta(meta: &Meta, features: &Features) -> Fate<Meta> {
    let is_envelope_key = |key: &str| ENVELOPE_KEYS.contains(&key);
    if features.result_envelope
        || meta.is_empty()
        || !meta.iter().any(|(key, _)| is_envelope_key(key))
    {
        return Fate::Keep;
    }
    let mut older = meta.clone();
    for key in ENVELOPE_KEYS {
        older.remove(key);
    }
    Fate::Replace(older)
}

const ENVELOPE_KEYS: [&str; 6] = [
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::SERVER_INFO,
    meta::SUBSCRIPTION_ID,
];

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use turnbuckle_types::{EmptyResult, ListToolsResult, ReadResourceResult};

    use super::*;
    use crate::era::{Reply, write_reply};
    use crate::revision::Revision;

    pub(super) fn decode<T: serde::de::DeserializeOwned>(value: &Value) -> T {
        serde_json::from_str(&value.to_string()).unwrap()
    }

    /// Returns the JSON of a value after its projection for a revision.
    pub(super) fn project_json<T>(value: &Value, revision: Revision) -> Value
    where
        T: serde::de::DeserializeOwned + Serialize + Project,
    {
        let mut typed: T = decode(value);
        let fits = typed.fits(revision.features());
        typed.project(revision.features());
        let json = serde_json::to_value(&typed).unwrap();
        assert_eq!(fits, json == *value, "{revision}: {value}");
        assert!(typed.fits(revision.features()), "{revision}: {json}");
        json
    }

    fn reply_json(reply: &Reply, revision: Revision) -> Value {
        let mut out = Vec::new();
        write_reply(&mut out, &1.into(), reply, revision.features(), None);
        serde_json::from_slice::<Value>(&out).unwrap()["result"].take()
    }

    #[test]
    fn cacheable_results_have_a_ttl_in_revisions_that_know_it() {
        let without_ttl = Reply::complete(ListToolsResult::new(vec![]));
        let with_ttl = Reply::complete(ReadResourceResult::new(vec![]).ttl_ms(9u64));
        let empty = Reply::complete(EmptyResult::new());
        let modern = Revision::NEWEST;
        assert_eq!(
            reply_json(&without_ttl, modern),
            json!({"tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
        );
        assert_eq!(
            reply_json(&with_ttl, modern),
            json!({"contents": [], "resultType": "complete", "ttlMs": 9, "cacheScope": "private"})
        );
        assert_eq!(
            reply_json(&empty, modern),
            json!({"resultType": "complete"})
        );
        assert_eq!(
            reply_json(&without_ttl, Revision::NEWEST_LEGACY),
            json!({"tools": []})
        );
        assert_eq!(
            reply_json(&with_ttl, Revision::NEWEST_LEGACY),
            json!({"contents": []})
        );
    }

    #[test]
    fn the_type_of_a_result_is_not_told_where_there_are_none() {
        let arrived = json!({"tools": [], "resultType": "complete", "x": 1});
        assert_eq!(
            project_json::<ListToolsResult>(&arrived, Revision::NEWEST),
            arrived
        );
        let older = json!({"tools": [], "x": 1});
        assert_eq!(
            project_json::<ListToolsResult>(&arrived, Revision::NEWEST_LEGACY),
            older
        );
    }

    #[test]
    fn of_a_messages_meta_only_the_envelopes_keys_are_removed() {
        let meta = json!({"_meta": {
            "progressToken": 1,
            "com.example/a": 2.50,
            "io.modelcontextprotocol/serverInfo": {"name": "s", "version": "1"},
            "io.modelcontextprotocol/related-task": {"taskId": "t"}
        }});
        assert_eq!(project_json::<EmptyResult>(&meta, Revision::NEWEST), meta);
        let mut kept = meta.clone();
        kept["_meta"]
            .as_object_mut()
            .unwrap()
            .remove("io.modelcontextprotocol/serverInfo");
        assert_eq!(
            project_json::<EmptyResult>(&meta, Revision::NEWEST_LEGACY),
            kept
        );
    }
}
