//! A tool's structured output: encoded once, and also told as text.
//!
//! Specification: server/tools, "Structured Content" (2026-07-28).

use serde::Serialize;

use super::project::WRAPPED_MARK;
use super::{Body, Target};
use crate::json::{self, Unwritable};

/// The name under which an output that is no object is wrapped where it has to be one.
pub(crate) const WRAPPED: &str = "result";

/// The result of a tool with typed output.
///
/// The text form is the output's JSON. The structured form is the same JSON where the reader's
/// revision has it; where that has to be an object and is not, it is wrapped as
/// `{"result": …}`, as the tool's output schema is.
#[derive(Debug)]
pub struct Structured {
    json: Vec<u8>,
}

impl Structured {
    /// Encodes a tool's output.
    ///
    /// # Errors
    /// When it has no JSON form.
    pub fn new<T: Serialize + ?Sized>(output: &T) -> Result<Self, Unwritable> {
        json::to_vec(output).map(|json| Self { json })
    }

    /// The output as JSON.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        &self.json
    }
}

impl Body for Structured {
    fn write(&self, target: &Target<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
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
                out.extend_from_slice(WRAPPED.as_bytes());
                out.extend_from_slice(b"\":");
            }
            out.extend_from_slice(&self.json);
            if wrapped {
                out.extend_from_slice(b"},\"_meta\":{\"");
                out.extend_from_slice(WRAPPED_MARK.as_bytes());
                out.extend_from_slice(b"\":true}");
            }
        }
        target.additions.append(out);
        out.push(b'}');
        Ok(())
    }
}

/// The result of a tool that says nothing but a text.
#[derive(Debug)]
pub struct Plain(pub String);

impl Body for Plain {
    fn write(&self, target: &Target<'_>, out: &mut Vec<u8>) -> Result<(), Unwritable> {
        out.reserve(self.0.len() + self.0.len() / 16 + 192);
        out.extend_from_slice(br#"{"content":[{"type":"text","text":""#);
        json::write_escaped(out, self.0.as_bytes());
        out.extend_from_slice(br#""}]"#);
        target.additions.append(out);
        out.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::{Reply, write_reply};
    use crate::revision::Revision;

    fn result_for(revision: Revision, output: &Value) -> Value {
        let reply = Reply::Complete(Box::new(Structured::new(output).unwrap()));
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
    fn what_is_no_object_is_wrapped_where_it_has_to_be_one() {
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
            result_for(Revision::V2025_11_25, &output)["_meta"][WRAPPED_MARK],
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
