//! Skills: their list, their entries, and the files that the entries promise.
//!
//! Specification: the extension `io.modelcontextprotocol/skills`.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::probe::Probe;
use crate::report::Level;

const EXTENSION: &str = "io.modelcontextprotocol/skills";

pub(super) const NEEDS: &[Need] = &[Need::Extension(EXTENSION)];

/// The error for parameters that are wrong.
const INVALID_PARAMS: i64 = -32602;

/// The file that every skill has at its root.
pub(super) const MAIN_FILE: &str = "/SKILL.md";

/// Skills that are looked at in full.
const MAX_SKILLS: usize = 10;

/// Files of one skill that are read.
const MAX_FILES: usize = 20;

/// Pages of the list that are read.
const MAX_PAGES: usize = 50;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "skills.resources-declared",
        Level::Must,
        "a server with skills declares resources too",
        |cx| Box::pin(resources_declared(cx)),
    )
    .needs(NEEDS)
    .requires(&["3f603e37c1a6"])
    .fix("declare the capability `resources`: files of skills are read by resources/read"),
    Check::new(
        "skills.list",
        Level::Must,
        "skills/list is answered, and says how long it may be kept",
        |cx| Box::pin(list(cx)),
    )
    .needs(NEEDS)
    .requires(&["133af628b6df", "5eebb984ea73", "39d5e71c6459", "4af4c0127cd6"])
    .fix("answer with `skills`, `ttlMs`, `cacheScope` and the `resultType` \"complete\""),
    Check::new(
        "skills.get",
        Level::Must,
        "skills/get gives each entry, and refuses other URIs with -32602",
        |cx| Box::pin(get(cx)),
    )
    .needs(NEEDS)
    .requires(&["0e7ce3880638", "64e9ad6bc68c", "99d2f198b8a9", "049f9dcc5fd7", "f1b9dc9ea66e", "3068185d9eb6", "bba84e4d5918"])
    .once()
    .fix("look skills up by the URI of their SKILL.md"),
    Check::new(
        "skills.names",
        Level::Must,
        "the URI of a skill ends in its name, which is a valid one",
        |cx| Box::pin(names(cx)),
    )
    .needs(NEEDS)
    .requires(&["1f901c802fdb", "91798b12c24c", "c4400a6e67d3", "57be9532c0b4"])
    .once()
    .fix("name the folder of a skill as its frontmatter does: lower-case letters, digits and single hyphens"),
    Check::new(
        "skills.manifest-complete",
        Level::Must,
        "an entry lists its files, SKILL.md among them, each once and within the skill",
        |cx| Box::pin(manifest_complete(cx)),
    )
    .needs(NEEDS)
    .requires(&["f1ba40a72ae6", "6c361ebedab6", "482a04fbbea6", "8c7034f61e77", "bbeb3326908f"])
    .once()
    .fix("list every file of the folder with URI, digest and size, or say \"dynamic\""),
    Check::new(
        "skills.digests",
        Level::Must,
        "a file that is read has the digest and the size of its entry",
        |cx| Box::pin(digests(cx)),
    )
    .needs(NEEDS)
    .requires(&["8c7034f61e77", "f19d35f0d101", "a40e672105bd"])
    .once()
    .fix("compute digest and size from the bytes that resources/read serves"),
    Check::new(
        "skills.frontmatter-identical",
        Level::Must,
        "an entry has the name and description of its SKILL.md",
        |cx| Box::pin(frontmatter(cx)),
    )
    .needs(NEEDS)
    .requires(&["75984a8d27ec", "3ceafdeed526", "57be9532c0b4"])
    .once()
    .fix("read the frontmatter of the entry from the file itself"),
    Check::new(
        "skills.directory",
        Level::Must,
        "the directory of a skill can be read, and what is none is refused with -32602",
        |cx| Box::pin(directory(cx)),
    )
    .needs(NEEDS)
    .requires(&["1e398f645b79", "92b5eb478919", "a4ed7d701062", "4b17e2ce00f2", "6dcb4c4b10c1"])
    .once()
    .fix("answer resources/directory/read for each folder of a skill, and -32602 for anything else"),
];

/// Opens a connection that declares the extension.
pub(super) async fn declaring(cx: &mut CheckContext<'_>) -> Result<Probe, Stop> {
    let mut options = cx.options();
    options.capabilities = json!({"extensions": {EXTENSION: {}}});
    cx.fresh(options).await
}

/// Returns the code of an error, or says that there is a result.
fn outcome(answer: &Value) -> String {
    match answer["error"]["code"].as_i64() {
        Some(code) => code.to_string(),
        None => "a result".to_owned(),
    }
}

/// Returns the entries of the list.
pub(super) async fn skills(probe: &mut Probe) -> Result<Vec<Value>, Stop> {
    let mut found = Vec::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let mut answer = probe.request("skills/list", params).await?;
        if let Value::Array(page) = answer["result"]["skills"].take() {
            found.extend(page);
        }
        match answer["result"]["nextCursor"].as_str() {
            Some(cursor) if found.len() < MAX_SKILLS => params = json!({"cursor": cursor}),
            _ => break,
        }
    }
    found.truncate(MAX_SKILLS);
    match found.is_empty() {
        true => Err(Stop::Skip("the server lists no skills".into())),
        false => Ok(found),
    }
}

pub(super) fn uri(skill: &Value) -> &str {
    skill["uri"].as_str().unwrap_or_default()
}

async fn resources_declared(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    if cx.survey().capabilities.get("resources").is_none() {
        cx.fault("the server declares the extension for skills without the capability `resources`");
    }
    Ok(())
}

async fn list(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let answer = probe.request("skills/list", json!({})).await?;
    let result = &answer["result"];
    if !result["skills"].is_array() {
        let found = outcome(&answer);
        cx.fault(format!(
            "skills/list is answered with {found} instead of an array `skills`"
        ));
        return Ok(());
    }
    // Older revisions know neither.
    if !cx.is_modern() {
        return Ok(());
    }
    if !result["ttlMs"].is_number() {
        cx.fault("the result of skills/list has no `ttlMs`");
    }
    if !result["cacheScope"].is_string() {
        cx.fault("the result of skills/list has no `cacheScope`");
    }
    if result["resultType"] != "complete" {
        cx.fault("the result of skills/list has not the `resultType` \"complete\"");
    }
    Ok(())
}

async fn get(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    let params = json!({"uri": "skill://check-unknown/SKILL.md"});
    let answer = probe.request("skills/get", params).await?;
    if answer["error"]["code"] != INVALID_PARAMS {
        let found = outcome(&answer);
        cx.fault(format!(
            "skills/get of an unknown URI is answered with {found} instead of {INVALID_PARAMS}"
        ));
    }
    if cx.is_modern() {
        let params = json!({"uri": "skill://check-unknown/SKILL.md"});
        let answer = probe.request("resources/read", params).await?;
        if answer["error"]["code"] != INVALID_PARAMS {
            let found = outcome(&answer);
            cx.fault(format!(
                "resources/read of an unknown skill is answered with {found} instead of {INVALID_PARAMS}"
            ));
        }
    }
    for skill in skills(&mut probe).await? {
        let answer = probe
            .request("skills/get", json!({"uri": skill["uri"]}))
            .await?;
        if answer["result"]["skill"]["uri"] != skill["uri"] {
            let found = outcome(&answer);
            cx.fault_at(
                uri(&skill),
                format!("skills/get of a skill that is listed is answered with {found} instead of its entry"),
            );
        } else if cx.is_modern() {
            for (member, is_right) in [
                ("ttlMs", Value::is_number as fn(&Value) -> bool),
                ("cacheScope", Value::is_string),
            ] {
                if !is_right(&answer["result"][member]) {
                    let sentence = format!("the result of skills/get has no `{member}`");
                    cx.fault_at(uri(&skill), sentence);
                }
            }
        }
    }
    Ok(())
}

/// Returns whether a name follows the rules of Agent Skills.
fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

async fn names(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for skill in skills(&mut declaring(cx).await?).await? {
        let name = skill["frontmatter"]["name"].as_str().unwrap_or_default();
        let folder = uri(&skill).strip_suffix(MAIN_FILE);
        let last = folder.and_then(|folder| folder.rsplit('/').next());
        if last != Some(name) {
            cx.fault_at(
                uri(&skill),
                format!(
                    "the name of the skill is `{name}`, which is not the last segment of its path"
                ),
            );
        } else if !is_name(name) {
            cx.fault_at(uri(&skill), format!("`{name}` is no valid name of a skill"));
        }
    }
    Ok(())
}

async fn manifest_complete(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for skill in skills(&mut declaring(cx).await?).await? {
        let here = uri(&skill);
        let Some(files) = skill["resources"].as_array() else {
            if skill["resources"] != "dynamic" {
                cx.fault_at(here, "`resources` is neither an array nor \"dynamic\"");
            }
            continue;
        };
        let folder = here.strip_suffix("SKILL.md").unwrap_or(here);
        let mut seen = HashSet::new();
        for file in files {
            let name = uri(file);
            if !seen.insert(name) {
                cx.fault_at(here, format!("the file {name} is listed twice"));
            }
            if !name.starts_with(folder) {
                cx.fault_at(here, format!("the file {name} is not within the skill"));
            }
            if !file["size"].is_u64() {
                cx.fault_at(here, format!("the file {name} has no `size`"));
            }
        }
        if !seen.contains(here) {
            cx.fault_at(here, "the entry does not list its own SKILL.md");
        }
    }
    Ok(())
}

/// Reads a file; `None` if that fails.
async fn read(probe: &mut Probe, uri: &str) -> Result<Option<Vec<u8>>, Stop> {
    let answer = probe.request("resources/read", json!({"uri": uri})).await?;
    let content = &answer["result"]["contents"][0];
    let text = content["text"]
        .as_str()
        .map(|text| text.as_bytes().to_vec());
    let blob = || STANDARD.decode(content["blob"].as_str()?).ok();
    Ok(text.or_else(blob))
}

async fn digests(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    for skill in skills(&mut probe).await? {
        let here = uri(&skill);
        for file in skill["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .take(MAX_FILES)
        {
            let name = uri(file);
            let Some(bytes) = read(&mut probe, name).await? else {
                cx.fault_at(here, format!("the file {name} of the entry cannot be read"));
                continue;
            };
            let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            if file["size"].as_u64() != Some(size) {
                cx.fault_at(
                    here,
                    format!(
                        "the file {name} has {size} bytes, the entry says {}",
                        file["size"]
                    ),
                );
            }
            let digest: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            if file["digest"] != format!("sha256:{digest}") {
                cx.fault_at(
                    here,
                    format!("the file {name} has another digest than its entry says"),
                );
            }
        }
    }
    Ok(())
}

/// Returns the value of a line `<name>: <value>` in the frontmatter of a file, if it is written in one line.
fn front_line<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let body = text.strip_prefix("---")?;
    let (front, _) = body.split_once("\n---")?;
    let mut values = front.lines().filter_map(|line| {
        let rest = line.strip_prefix(name)?.strip_prefix(':')?;
        Some(rest.trim())
    });
    let value = values.next()?;
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let plain = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    // Escapes, comments and text over several lines take a reader of YAML.
    let is_plain = !plain.is_empty() && !plain.contains(['\\', '#', '"', '\'', '|', '>']);
    is_plain.then_some(plain)
}

async fn frontmatter(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut probe = declaring(cx).await?;
    for skill in skills(&mut probe).await? {
        let here = uri(&skill);
        let Some(bytes) = read(&mut probe, here).await? else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n");
        if !text.starts_with("---") {
            cx.fault_at(here, "the file does not begin with frontmatter");
            continue;
        }
        for name in ["name", "description"] {
            let entry = skill["frontmatter"][name].as_str();
            let file = front_line(&text, name);
            if entry.is_none() {
                cx.fault_at(
                    here,
                    format!("the frontmatter of the entry has no `{name}`"),
                );
            } else if let Some(file) = file.filter(|file| Some(*file) != entry) {
                // A value may go on in the next line.
                if !entry.is_some_and(|entry| entry.starts_with(file)) {
                    cx.fault_at(
                        here,
                        format!(
                            "`{name}` is {:?} in the entry and {file:?} in the file",
                            entry.unwrap_or_default()
                        ),
                    );
                }
            }
        }
    }
    Ok(())
}

async fn directory(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    if cx.survey().capabilities["extensions"][EXTENSION]["directoryRead"] != true {
        return Err(Stop::Skip(
            "the server does not declare `directoryRead`".into(),
        ));
    }
    let mut probe = declaring(cx).await?;
    let method = "resources/directory/read";
    let unknown = json!({"uri": "skill://check-unknown"});
    let answer = probe.request(method, unknown).await?;
    if answer["error"]["code"] != INVALID_PARAMS {
        let found = outcome(&answer);
        cx.fault(format!(
            "{method} of an unknown URI is answered with {found} instead of {INVALID_PARAMS}"
        ));
    }
    for skill in skills(&mut probe).await? {
        let here = uri(&skill);
        let Some(folder) = here.strip_suffix(MAIN_FILE) else {
            continue;
        };
        let answer = probe.request(method, json!({"uri": folder})).await?;
        let children = answer["result"]["resources"].as_array();
        if children.is_none() {
            let found = outcome(&answer);
            cx.fault_at(
                here,
                format!("{method} of the folder is answered with {found}"),
            );
        } else if cx.is_modern() && answer["result"]["resultType"] != "complete" {
            cx.fault_at(
                here,
                format!("the result of {method} has not the `resultType` \"complete\""),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_of_frontmatter_are_read() {
        let text =
            "---\nname: cats\ndescription: \"Feeds cats.\"\nnote: >\n  long\n---\nname: dogs\n";
        assert_eq!(front_line(text, "name"), Some("cats"));
        assert_eq!(front_line(text, "description"), Some("Feeds cats."));
        assert_eq!(front_line(text, "note"), None);
        assert_eq!(front_line(text, "names"), None);
        assert_eq!(front_line("name: cats", "name"), None);
    }

    #[test]
    fn names_follow_the_rules_of_agent_skills() {
        for name in ["a", "pdf-forms", "a1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "A", "-a", "a-", "a--b", "a_b", &"a".repeat(65)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
