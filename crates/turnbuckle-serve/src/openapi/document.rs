//! An OpenAPI document: read with bounds, and its references followed.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::base::text::shorten;
use turnbuckle_yaml::Rules;

use crate::Error;

/// The bytes of a document.
const MAX_DOCUMENT_BYTES: usize = 32 << 20;

/// The values in a document.
const MAX_VALUES: usize = 4_000_000;

/// The rules of a document in YAML.
const YAML_RULES: Rules = Rules {
    max_depth: 100,
    max_values: MAX_VALUES,
    strict: false,
};

/// The references that are followed from one place.
const MAX_REFERENCES: usize = 16;

/// An OpenAPI document of version 3.0, 3.1 or 3.2, in JSON or YAML.
///
/// It has at most 32 MiB and 4,000,000 values. Nothing is ever fetched: a reference to another document is an
/// error of the operation that needs it.
#[derive(Clone)]
pub struct Document {
    root: Value,
}

debug_fields!(Document {});

impl Document {
    /// Reads a file.
    ///
    /// # Errors
    /// When the file cannot be read, and as for [`parse`](Self::parse).
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let shown = path.display();
        let read = || {
            let mut text = String::new();
            let file = File::open(path)?.take(MAX_DOCUMENT_BYTES as u64 + 1);
            { file }.read_to_string(&mut text).map(|_| text)
        };
        let text = read().map_err(|error| {
            Error::new(format!("cannot read {shown}: {error}")).with_source(error)
        })?;
        Self::parse(&text).map_err(|error| Error::new(format!("{shown}: {error}")))
    }

    /// Parses the text of a document.
    ///
    /// # Errors
    /// When it is too large, no JSON or YAML, or of another version.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_DOCUMENT_BYTES {
            return Err(Error::new(format!(
                "the OpenAPI document has more than {MAX_DOCUMENT_BYTES} bytes"
            )));
        }
        let root = match text.trim_start().starts_with('{') {
            true => parse_json(text),
            false => turnbuckle_yaml::parse(text, &YAML_RULES).map_err(|error| error.to_string()),
        };
        let root = root
            .map_err(|reason| Error::new(format!("the OpenAPI document is invalid: {reason}")))?;
        let version = root.get("openapi").and_then(Value::as_str);
        match version {
            Some(version)
                if ["3.0", "3.1", "3.2"]
                    .iter()
                    .any(|known| version.starts_with(known)) =>
            {
                Ok(Self { root })
            }
            Some(version) => Err(Error::new(format!(
                "the document has version {} of OpenAPI, and 3.0, 3.1 and 3.2 are supported",
                shorten(version)
            ))),
            None if root.get("swagger").is_some() => Err(Error::new(
                "the document is of Swagger 2.0: convert it to OpenAPI 3 first",
            )),
            None => Err(Error::new(
                "the document is none of OpenAPI 3: it has no member `openapi`",
            )),
        }
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// Returns the title of the API, and its version.
    pub(super) fn title(&self) -> (&str, &str) {
        let info = |name| self.root.pointer(name).and_then(Value::as_str);
        (
            info("/info/title").unwrap_or("OpenAPI"),
            info("/info/version").unwrap_or("1"),
        )
    }

    /// Follows the references at a value.
    ///
    /// # Errors
    /// When one names another document, or a place that does not exist, or there are too many.
    pub(super) fn resolve<'d>(&'d self, mut value: &'d Value) -> Result<&'d Value, String> {
        for _ in 0..MAX_REFERENCES {
            match reference(value) {
                None => return Ok(value),
                Some(reference) => value = self.target(reference)?,
            }
        }
        Err("a reference leads to references only".to_owned())
    }

    /// Returns the place that a reference names.
    pub(super) fn target(&self, reference: &str) -> Result<&Value, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!(
                "the reference {} names another document, and none is ever fetched",
                shorten(reference)
            ));
        };
        let missing = || format!("the reference {} leads nowhere", shorten(reference));
        // A pointer in a fragment is written with the escapes of URLs.
        let pointer = percent_encoding::percent_decode_str(pointer);
        let pointer = pointer.decode_utf8().map_err(|_| missing())?;
        self.root.pointer(&pointer).ok_or_else(missing)
    }
}

/// Returns whether a reference names another document.
pub(super) fn is_elsewhere(reference: &str) -> bool {
    !reference.starts_with('#')
}

/// Returns the reference that stands in place of a value.
pub(super) fn reference(value: &Value) -> Option<&str> {
    value.get("$ref").and_then(Value::as_str)
}

fn parse_json(text: &str) -> Result<Value, String> {
    // Each value but the first stands behind one of these.
    let begins = |byte: &&u8| matches!(**byte, b',' | b':' | b'[' | b'{');
    if text.as_bytes().iter().filter(begins).count() > MAX_VALUES {
        return Err(format!("it has more than {MAX_VALUES} values"));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_is_read_as_json() {
        let text = "openapi: 3.1.0\ninfo: {title: Pets, version: '1.0'}\nx: [1, 2.5, ~, yes, true, 0x10, '1']\n200: &a {b: c}\ny: *a\n";
        let document = Document::parse(text).unwrap();
        let json = serde_json::json!({
            "openapi": "3.1.0", "info": {"title": "Pets", "version": "1.0"},
            "x": [1, 2.5, null, "yes", true, 16, "1"], "200": {"b": "c"}, "y": {"b": "c"},
        });
        assert_eq!(document.root, json);
        assert_eq!(document.title(), ("Pets", "1.0"));
        assert_eq!(Document::parse(&json.to_string()).unwrap().root, json);
    }

    #[test]
    fn a_document_of_another_version_is_refused() {
        for (text, reason) in [
            ("swagger: '2.0'", "convert it"),
            ("openapi: 4.0.0", "version 4.0.0"),
            ("a: 1", "no member `openapi`"),
            ("[1", "line 2"),
            ("{", "invalid"),
            ("", "empty"),
            ("openapi: 3.0.0\nopenapi: 3.0.0", "stands twice"),
            ("openapi: 3.0.0\n---\na: 1", "second document"),
            ("openapi: 3.0.0\na: *b", "line 2"),
            ("openapi: 3.0.0\na: .inf", "cannot express"),
        ] {
            let error = Document::parse(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn size_depth_and_count_are_bounded() {
        let deep = format!("openapi: 3.0.0\nx: {}", "[".repeat(1_000));
        let blocks: String = (0..200)
            .map(|level| format!("{}a:\n", " ".repeat(level)))
            .collect();
        let json = format!("{{\"openapi\": \"3.0.0\", \"x\": {}", "[".repeat(100_000));
        let many = format!("{{\"x\": [{}1]}}", "1,".repeat(MAX_VALUES));
        // Each line has ten times the values of the one before.
        let mut aliases = "openapi: 3.0.0\na: &a [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for (next, last) in "bcdefghij".chars().zip("abcdefghi".chars()) {
            let all = vec![format!("*{last}"); 10].join(",");
            aliases += &format!("{next}: &{next} [{all}]\n");
        }
        let long = " ".repeat(MAX_DOCUMENT_BYTES + 1);
        for (text, reason) in [
            (deep, "recursion limit"),
            (blocks, "nested deeper than 100"),
            (json, "recursion limit"),
            (many, "values"),
            (aliases, "values"),
            (long, "bytes"),
        ] {
            let error = Document::parse(&text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn references_stay_in_the_document() {
        let text = r##"{"openapi": "3.0.0", "a": {"$ref": "#/b"}, "b": {"$ref": "#/c~1d/%7Be%7D"},
            "c/d": {"{e}": 7}, "loop": {"$ref": "#/loop"}, "remote": {"$ref": "https://a.example/x"},
            "file": {"$ref": "other.yaml#/a"}, "gone": {"$ref": "#/nothing"}}"##;
        let document = Document::parse(text).unwrap();
        let resolve = |name| document.resolve(&document.root[name]);
        assert_eq!(resolve("a"), Ok(&serde_json::json!(7)));
        assert!(resolve("loop").unwrap_err().contains("references only"));
        assert!(resolve("remote").unwrap_err().contains("another document"));
        assert!(resolve("file").unwrap_err().contains("another document"));
        assert!(resolve("gone").unwrap_err().contains("nowhere"));
    }
}
