//! Results of tools that are written without a value of the vocabulary: structured output, which is
//! also sent as text, and plain text.
//!
//! Specification: server/tools, "Structured Content" (2026-07-28).

use std::any::Any;

use serde::Serialize;

use super::body::{ResultBody, WriteTarget};
use super::tool_result::{WRAPPED_META_KEY, WRAPPER_MEMBER};
use crate::json::{self, WriteError};

/// Appends [`IS_NO_ERROR`](super::tool_result::IS_NO_ERROR) to an object with members, where the reader's revision expects it.
fn write_is_error(target: &WriteTarget<'_>, out: &mut Vec<u8>) {
    if target.features.explicit_is_error {
        out.extend_from_slice(b",\"isError\":false");
    }
}

/// The result of a tool with typed output.
///
/// The text form is the output's JSON. The structured form is the same JSON where the reader's
/// revision has it; where that has to be an object and is not, it is wrapped as
/// `{"result": …}`, as the tool's output schema is.
#[derive(Debug)]
pub struct StructuredToolResult {
    json: Vec<u8>,
}

impl StructuredToolResult {
    /// Encodes a tool's output.
    ///
    /// # Errors
    /// When it has no JSON form.
    pub fn new<T: Serialize + ?Sized>(output: &T) -> Result<Self, WriteError> {
        json::to_vec(output).map(|json| Self { json })
    }

    /// Returns the output as JSON.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

impl ResultBody for StructuredToolResult {
    fn write(&self, target: &WriteTarget<'_>, out: &mut Vec<u8>) -> Result<(), WriteError> {
        let features = target.features;
        out.reserve(self.json.len() * 2 + self.json.len() / 4 + 192);
        out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
        json::write_escaped(out, &self.json);
        out.extend_from_slice(br#""}]"#);
        if features.structured_output {
            let wrapped = !features.structured_any && self.json.first() != Some(&b'{');
            out.extend_from_slice(br#","structuredContent":"#);
            if wrapped {
                out.extend_from_slice(b"{\"");
                out.extend_from_slice(WRAPPER_MEMBER.as_bytes());
                out.extend_from_slice(b"\":");
            }
            out.extend_from_slice(&self.json);
            if wrapped {
                out.extend_from_slice(b"},\"_meta\":{\"");
                out.extend_from_slice(WRAPPED_META_KEY.as_bytes());
                out.extend_from_slice(b"\":true}");
            }
        }
        write_is_error(target, out);
        target.additions.append(out);
        out.push(b'}');
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The result of a tool that is one text.
#[derive(Debug)]
pub struct TextToolResult(pub String);

impl ResultBody for TextToolResult {
    fn write(&self, target: &WriteTarget<'_>, out: &mut Vec<u8>) -> Result<(), WriteError> {
        out.reserve(self.0.len() + self.0.len() / 16 + 192);
        out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
        json::write_escaped(out, self.0.as_bytes());
        out.extend_from_slice(br#""}]"#);
        write_is_error(target, out);
        target.additions.append(out);
        out.push(b'}');
        Ok(())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use turnbuckle_types::{CallToolResult, Json};

    use super::*;
    use crate::era::{ProjectedResult, Reply, write_reply};
    use crate::revision::{EraKind, Revision};

    fn result_for(revision: Revision, output: &Value) -> Value {
        let reply = Reply::Complete(Box::new(StructuredToolResult::new(output).unwrap()));
        let mut out = Vec::new();
        write_reply(
            &mut out,
            &1.into(),
            &reply,
            revision.features(),
            Some(br#"{"name":"s"}"#),
        );
        serde_json::from_slice::<Value>(&out).unwrap()["result"].take()
    }

    #[test]
    fn the_text_form_is_always_there_and_the_structured_one_where_it_exists() {
        let output = json!({"a": "x \"y\""});
        for revision in Revision::ALL {
            let result = result_for(revision, &output);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert_eq!(serde_json::from_str::<Value>(text).unwrap(), output);
            let structured = revision.features().structured_output.then_some(&output);
            assert_eq!(result.get("structuredContent"), structured, "{revision}");
        }
    }

    #[test]
    fn success_is_explicit_in_every_legacy_revision_and_absent_in_the_modern_one() {
        let result_of = |body: Box<dyn ResultBody>, revision: Revision| {
            let mut out = Vec::new();
            let features = revision.features();
            write_reply(&mut out, &1.into(), &Reply::Complete(body), features, None);
            serde_json::from_slice::<Value>(&out).unwrap()["result"].take()
        };
        for revision in Revision::ALL {
            let is_legacy = revision.features().era == EraKind::Legacy;
            let expected = is_legacy.then_some(json!(false));
            let bodies: [Box<dyn ResultBody>; 4] = [
                Box::new(TextToolResult("t".to_owned())),
                Box::new(StructuredToolResult::new(&json!([1])).unwrap()),
                Box::new(ProjectedResult(CallToolResult::from_text("t"))),
                Box::new(ProjectedResult(
                    CallToolResult::from_text("t").structured_content(Json::encode(&1).unwrap()),
                )),
            ];
            for body in bodies {
                let result = result_of(body, revision);
                assert_eq!(
                    result.get("isError"),
                    expected.as_ref(),
                    "{revision}: {result}"
                );
            }
            for flag in [false, true] {
                let result = CallToolResult::from_text("t").with_is_error(flag);
                let result = result_of(Box::new(ProjectedResult(result)), revision);
                assert_eq!(result["isError"], flag, "{revision}");
            }
        }
    }

    #[test]
    fn a_value_that_is_not_an_object_is_wrapped_where_the_revision_needs_an_object() {
        let output = json!([1, 2]);
        assert_eq!(
            result_for(Revision::V2025_06_18, &output)["structuredContent"],
            json!({"result": [1, 2]})
        );
        assert_eq!(
            result_for(Revision::V2025_11_25, &output)["structuredContent"],
            json!({"result": [1, 2]})
        );
        assert_eq!(
            result_for(Revision::V2026_07_28, &output)["structuredContent"],
            json!([1, 2])
        );
        assert_eq!(
            result_for(Revision::V2025_11_25, &output)["_meta"][WRAPPED_META_KEY],
            true
        );
    }

    #[test]
    fn the_modern_envelope_is_added_and_the_legacy_one_has_none() {
        let modern = result_for(Revision::V2026_07_28, &json!({}));
        assert_eq!(modern["resultType"], "complete");
        assert_eq!(
            modern["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
            "s"
        );
        let legacy = result_for(Revision::V2025_11_25, &json!({}));
        assert_eq!(legacy.get("resultType"), None);
        assert_eq!(legacy.get("_meta"), None);
    }
}
