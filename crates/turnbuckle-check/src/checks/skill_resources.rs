//! Resources of skills: their URIs, and what the list of resources says of them.
//!
//! Specification: the extension `io.modelcontextprotocol/skills`, "Resource Mapping".

use serde_json::{Value, json};

use super::skills::{MAIN_FILE, NEEDS, declaring, skills, uri};
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Characters of a segment of a URI path beside letters, digits and escapes (RFC 3986, `pchar`).
const SEGMENT_MARKS: &str = "-._~!$&'()*+,;=:@";

/// Characters of a registered name beside letters, digits and escapes (RFC 3986, `reg-name`).
const NAME_MARKS: &str = "-._~!$&'()*+,;=";

/// Media type of the main file of a skill.
const MARKDOWN: &str = "text/markdown";

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "skills.uris",
        Level::Should,
        "the URI of a skill has the scheme `skill`, and segments that a URI allows",
        |cx| Box::pin(uris(cx)),
    )
    .needs(NEEDS)
    .requires(&["a0c650a03f14", "b02f972bd223", "9e91c77ca80f"])
    .once()
    .fix("serve a skill as `skill://<path>/SKILL.md`, and escape what a URI does not allow"),
    Check::new(
        "skills.resource-fields",
        Level::Should,
        "the resource of a skill has its name, its description and the type `text/markdown`",
        |cx| Box::pin(resource_fields(cx)),
    )
    .needs(NEEDS)
    .requires(&["8613942d64ef", "643bef5ae8ca", "ef203915ee90"])
    .once()
    .fix("take `name` and `description` of the resource from the frontmatter"),
];

/// Returns whether a text has only letters, digits, escapes and these marks.
fn is_made_of(text: &str, marks: &str) -> bool {
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let is_escape = || {
            let digits = [chars.clone().next(), chars.clone().nth(1)];
            digits
                .iter()
                .all(|it| it.is_some_and(|it| it.is_ascii_hexdigit()))
        };
        if !(char.is_ascii_alphanumeric() || marks.contains(char) || (char == '%' && is_escape())) {
            return false;
        }
    }
    !text.is_empty()
}

/// Returns what is wrong with the URI of a skill.
fn uri_fault(uri: &str) -> Option<String> {
    let Some(path) = uri.strip_prefix("skill://") else {
        return Some("the URI has not the scheme `skill`".into());
    };
    let path = path.strip_suffix(MAIN_FILE).unwrap_or(path);
    let mut segments = path.split('/');
    let first = segments.next().unwrap_or_default();
    if !is_made_of(first, NAME_MARKS) {
        return Some(format!(
            "{first:?} is no name that a URI allows as its authority"
        ));
    }
    let wrong = segments.find(|segment| !is_made_of(segment, SEGMENT_MARKS))?;
    Some(format!("{wrong:?} is no segment of a URI"))
}

async fn uris(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for skill in skills(&mut declaring(cx).await?).await? {
        if let Some(fault) = uri_fault(uri(&skill)) {
            cx.fault_at(uri(&skill), fault);
        }
    }
    Ok(())
}

async fn resource_fields(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    for skill in skills(&mut probe).await? {
        let here = uri(&skill);
        let mut media = Vec::new();
        let mut listed = cx.survey().resources.iter();
        if let Some(resource) = listed.find(|it| uri(it) == here) {
            media.push(resource["mimeType"].clone());
            for member in ["name", "description"] {
                if resource[member] != skill["frontmatter"][member] {
                    cx.fault_at(
                        here,
                        format!(
                            "the resource has the {member} {}, the skill {}",
                            resource[member], skill["frontmatter"][member]
                        ),
                    );
                }
            }
        }
        let answer = probe
            .request("resources/read", json!({"uri": here}))
            .await?;
        media.push(answer["result"]["contents"][0]["mimeType"].clone());
        let wrong = media.iter().find(|it| !it.is_null() && **it != MARKDOWN);
        if let Some(Value::String(wrong)) = wrong {
            cx.fault_at(
                here,
                format!("the resource has the type `{wrong}` instead of `{MARKDOWN}`"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_of_skills_have_their_scheme_and_valid_segments() {
        for uri in ["skill://a/SKILL.md", "skill://a.b/c:d/e%20f/SKILL.md"] {
            assert_eq!(uri_fault(uri), None, "{uri}");
        }
        for uri in [
            "file:///a/SKILL.md",
            "skill:///SKILL.md",
            "skill://a b/SKILL.md",
            "skill://a/b%2/c/SKILL.md",
            "skill://a//b/SKILL.md",
            "skill://a:1/SKILL.md",
        ] {
            assert!(uri_fault(uri).is_some(), "{uri}");
        }
    }
}
