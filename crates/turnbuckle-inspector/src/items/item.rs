//! The row of an item, read from its raw JSON.

use serde::de::DeserializeOwned;
use turnbuckle_skills::Skill;
use turnbuckle_types::base::text::one_line;
use turnbuckle_types::{Prompt, Resource, ResourceTemplate, Tool, describe_decode_error};

use crate::api::{Hint, ItemKind, ItemRow};
use crate::outline::find_nested;
use crate::values::string::{char_boundary, decode};

/// The most bytes of a name, a title or a URI.
const MAX_NAME_BYTES: usize = 2_000;

/// The most characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 300;

/// Returns the member of a result that has the items.
pub(super) fn list_member(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::Tools => "tools",
        ItemKind::Resources => "resources",
        ItemKind::Templates => "resourceTemplates",
        ItemKind::Prompts => "prompts",
        ItemKind::Skills => "skills",
        ItemKind::Tasks => "tasks",
    }
}

/// Reads the row of an item; its key is still to be set.
pub(super) fn read_row(kind: ItemKind, raw: &[u8]) -> ItemRow {
    let text = |name: &str| text_at(raw, &[name]);
    let (name, title) = match kind {
        ItemKind::Tools | ItemKind::Prompts => (
            text("name"),
            text("title").or_else(|| text_at(raw, &["annotations", "title"])),
        ),
        ItemKind::Resources => (text("uri"), text("title").or_else(|| text("name"))),
        ItemKind::Templates => (text("uriTemplate"), text("title").or_else(|| text("name"))),
        ItemKind::Skills => (text("uri"), text_at(raw, &["frontmatter", "name"])),
        ItemKind::Tasks => (text("taskId"), text("status")),
    };
    let description = match kind {
        ItemKind::Tasks => text("statusMessage"),
        ItemKind::Skills => text_at(raw, &["frontmatter", "description"]),
        _ => text("description"),
    };
    let fault = match kind {
        ItemKind::Tools => fault_of::<Tool>(raw),
        ItemKind::Resources => fault_of::<Resource>(raw),
        ItemKind::Templates => fault_of::<ResourceTemplate>(raw),
        ItemKind::Prompts => fault_of::<Prompt>(raw),
        ItemKind::Skills => fault_of::<Skill>(raw),
        ItemKind::Tasks => None,
    };
    ItemRow {
        key: String::new(),
        name: name.unwrap_or_default(),
        title,
        description: description.map(|text| one_line(&text, MAX_DESCRIPTION_CHARS)),
        hints: match kind {
            ItemKind::Tools => tool_hints(raw),
            ItemKind::Tasks => task_hints(raw),
            _ => Vec::new(),
        },
        fault,
        size: raw.len() as u64,
    }
}

fn fault_of<T: DeserializeOwned>(raw: &[u8]) -> Option<String> {
    let error = serde_json::from_slice::<T>(raw).err()?;
    // The error can quote the whole value.
    Some(one_line(
        &describe_decode_error(&error),
        MAX_DESCRIPTION_CHARS,
    ))
}

fn tool_hints(raw: &[u8]) -> Vec<Hint> {
    let hint = |name: &str| match find_nested(raw, &["annotations", name]).map(|at| &raw[at]) {
        Some(b"true") => Some(true),
        Some(b"false") => Some(false),
        _ => None,
    };
    let is_read_only = hint("readOnlyHint") == Some(true);
    let destructive = hint("destructiveHint");
    let task = text_at(raw, &["execution", "taskSupport"]);
    let hints = [
        (is_read_only, Hint::ReadOnly),
        (
            !is_read_only && destructive != Some(false),
            Hint::Destructive,
        ),
        (
            !is_read_only && destructive == Some(true),
            Hint::SaysDestructive,
        ),
        (hint("idempotentHint") == Some(true), Hint::Idempotent),
        (hint("openWorldHint") == Some(true), Hint::OpenWorld),
        (task.as_deref() == Some("optional"), Hint::TaskOptional),
        (task.as_deref() == Some("required"), Hint::TaskRequired),
    ];
    let hints = hints.into_iter().filter(|(is_there, _)| *is_there);
    hints.map(|(_, hint)| hint).collect()
}

fn task_hints(raw: &[u8]) -> Vec<Hint> {
    let status = text_at(raw, &["status"]);
    let hint = match status.as_deref() {
        Some("working") => Hint::Working,
        Some("input_required") => Hint::InputRequired,
        Some("completed") => Hint::Completed,
        Some("failed") => Hint::Failed,
        Some("cancelled") => Hint::Cancelled,
        _ => return Vec::new(),
    };
    vec![hint]
}

/// Returns the decoded text of a string inside of members, cut.
pub(super) fn text_at(raw: &[u8], names: &[&str]) -> Option<String> {
    let range = find_nested(raw, names)?;
    let body = raw[range].strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    Some(decode(&body[..char_boundary(body, MAX_NAME_BYTES)]))
}
