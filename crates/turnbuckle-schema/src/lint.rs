//! A linter for schemas: features that certain clients refuse or misread.

mod find;
mod table;

use std::fmt;

use serde_json::Value;
use turnbuckle_types::Schema;
use turnbuckle_types::base::text::shorten;

use self::find::{SchemaFeature, find_features, find_recursion};
use self::table::TABLE;
use crate::SchemaLimits;
use crate::check::check_schema;

/// A feature of a schema that a client, or the model behind it, is known to refuse or misread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Objection {
    client: &'static str,
    reason: &'static str,
    path: String,
}

impl Objection {
    /// Returns the name of the client or service that objects.
    #[must_use]
    pub fn client(&self) -> &'static str {
        self.client
    }

    /// Returns the feature and the consequence.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason
    }

    /// Returns the first location of the feature, as a JSON Pointer into the schema.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shorten(&self.path);
        write!(f, "{}: {} (at \"{path}\")", self.client, self.reason)
    }
}

/// Returns the known objections of clients and services to a schema of a tool's arguments. Each
/// objection is listed once, with its first location.
///
/// The table holds observed failures. Clients change: an objection is a warning, and a schema
/// without objections may still be refused.
///
/// | client | objects to | seen in |
/// |---|---|---|
/// | all | a `$ref` that recurs: [`Profile::Portable`](crate::Profile::Portable) cuts it, and a model sees one level | this crate |
/// | Claude | `anyOf`, `oneOf` or `allOf` at the root: the whole request is refused | anthropics/claude-code 45106, makenotion/notion-mcp-server 341 |
/// | Claude | a `$schema` of another dialect than 2020-12 | ankimcp/anki-mcp-server-addon 75 |
/// | Claude | an array as `items`, as draft-07 wrote tuples: the whole request is refused | anthropics/claude-code 586 |
/// | Claude | members of type object behind a `$ref` or of no type: text that holds JSON may come | anthropics/claude-code 5504 |
/// | Copilot CLI | `$ref`: what is behind it is not seen, and its members do not come | github/copilot-cli 1876 |
/// | Cursor | an array of types: a text is refused as not being `null,string` | cursor/cursor 3778 |
/// | Cursor | `anyOf`, `oneOf` or `allOf`: its gateway may refuse the whole request | code-yeongyu/senpi 952 |
/// | Gemini | an array of types: the whole request is refused | taylorwilsdon/google_workspace_mcp 1099, WordPress/ai-provider-for-google 33 |
/// | Gemini | `$ref`: not resolved, or lost on the way | google-gemini/gemini-cli 13326, DEEIX-AI/DEEIX-Chat 546 |
/// | Gemini | `const`: no such field | danny-avila/LibreChat 11784, zendev-sh/goai 124 |
/// | Gemini | `enum` of anything but text | cortexkit/antigravity-auth 17, Draculabo/AntigravityManager 260 |
/// | Gemini | a `format` of text other than `date-time` | google-gemini/gemini-cli 3178 |
/// | Gemini | keywords beside `anyOf` | patlux/pi-commandcode-provider 103, google-gemini/gemini-cli 4121 |
/// | Gemini | a member without a type: the tool is left out | google-gemini/gemini-cli 5694 |
/// | Gemini | an array without `items`, or with a tuple's only | DEEIX-AI/DEEIX-Chat 546, pleaseai/shunt 454 |
/// | Gemini | `$schema`, on the way of older clients | GetStream/Vision-Agents 513 |
/// | Gemini | `additionalProperties`, on the way of older clients | promptfoo/promptfoo 6902 |
/// | OpenAI | an object without `properties`: the whole request is refused | openai/openai-agents-python 449, github/copilot-cli 1825 |
/// | OpenAI | `anyOf`, `oneOf` or `allOf` at the root | the error text of its API |
/// | VS Code | an array without `items`: the tool is refused | microsoft/vscode 257537, microsoft/vscode 325618 |
/// | VS Code | `$dynamicRef`: its checker of schemas does not know it | firecrawl/firecrawl-mcp-server 107 |
///
/// Text that is not a JSON object has no objections. The issue numbers are those of GitHub.
///
/// ```
/// use turnbuckle_schema::{Profile, lint};
/// use turnbuckle_types::Schema;
///
/// let schema: Schema =
///     r#"{"type":"object","properties":{"n":{"type":["integer","null"]}}}"#.parse()?;
/// let clients: Vec<_> = lint(&schema).iter().map(|objection| objection.client()).collect();
/// assert_eq!(clients, ["Cursor", "Gemini"]);
/// assert!(lint(&Profile::Portable.apply(&schema)?).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn lint(schema: &Schema) -> Vec<Objection> {
    let Ok(root) = serde_json::from_str::<Value>(schema.as_str()) else {
        return Vec::new();
    };
    let mut found = find_features(&root);
    // References are followed only in schemas within the limits.
    if let Ok(checked) = check_schema(schema, SchemaLimits::default())
        && let Some(reference) = find_recursion(&checked.schema)
    {
        let target = reference.strip_prefix('#').unwrap_or(reference);
        found.push((SchemaFeature::Recursion, target.to_owned()));
    }
    let objections = TABLE.iter().filter_map(|row| {
        let (_, path) = found.iter().find(|(one, _)| *one == row.feature)?;
        Some(Objection {
            client: row.client,
            reason: row.reason,
            path: path.clone(),
        })
    });
    objections.collect()
}

#[cfg(test)]
mod tests;
