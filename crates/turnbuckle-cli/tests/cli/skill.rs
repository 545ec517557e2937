//! Skills of a scripted server: listed, read, verified, completed, and printed without escapes.

use serde_json::{Value, json};
use turnbuckle::skills::Digest;

use crate::completion::complete;
use crate::support::{Run, Scratch, run, run_with_input};
use crate::terminal::TerminalSession;

const SKILL: &str = "skill://docs/pdf/SKILL.md";
const SKILL_TEXT: &str =
    "---\nname: pdf\ndescription: Work with PDF\n---\n\nSee references/FORMS.md.\n";
const FORMS: &str = "skill://docs/pdf/references/FORMS.md";
const FORMS_TEXT: &str = "Forms.\n";

/// A server of one skill, whose parts a test replaces.
struct Served {
    entries: Vec<Value>,
    skill: Value,
    forms: Value,
}

impl Served {
    fn new() -> Self {
        Self {
            entries: vec![entry()],
            skill: text(SKILL, SKILL_TEXT),
            forms: text(FORMS, FORMS_TEXT),
        }
    }

    /// Returns the shell script that is the server.
    fn script(&self) -> String {
        let discover = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "ttlMs": 0, "cacheScope": "private",
            "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}},
        });
        let result = |name: &str, value: Value| json!({"resultType": "complete", name: value, "ttlMs": 0, "cacheScope": "private"});
        let answers = [
            ("server/discover", "", discover),
            ("skills/list", "", result("skills", json!(self.entries))),
            (
                "skills/get",
                "",
                result("skill", self.entries.first().cloned().unwrap_or_default()),
            ),
            (
                "resources/read",
                "FORMS.md",
                result("contents", json!([self.forms])),
            ),
            (
                "resources/read",
                "",
                result("contents", json!([self.skill])),
            ),
        ];
        let cases = answers.map(|(method, word, result)| {
            assert!(!result.to_string().contains('\''), "it stands in quotes");
            format!("*'\"method\":\"{method}\"'*'{word}'*) answer '{result}' ;;\n")
        });
        format!(
            "answer() {{ printf '%s\\n' '{{\"jsonrpc\":\"2.0\",\"id\":'\"$id\"',\"result\":'\"$1\"'}}'; }}\n\
             while IFS= read -r line; do\nid=${{line#*\\\"id\\\":}}\nid=${{id%%[,\\}}]*}}\ncase $line in\n{}esac\ndone\n",
            cases.concat()
        )
    }

    /// Runs the tool at the server.
    fn run(&self, words: &[&str]) -> Run {
        run(&[words, &["--", "sh", "-c", &self.script()]].concat())
    }
}

fn text(uri: &str, text: &str) -> Value {
    json!({"uri": uri, "mimeType": "text/markdown", "text": text})
}

fn entry() -> Value {
    let file = |uri: &str, text: &str| json!({"uri": uri, "digest": Digest::compute(text.as_bytes()), "size": text.len()});
    json!({
        "uri": SKILL, "frontmatter": {"name": "pdf", "description": "Work with PDF"},
        "resources": [file(SKILL, SKILL_TEXT), file(FORMS, FORMS_TEXT)],
    })
}

#[test]
fn skills_are_listed_and_invalid_ones_are_named() {
    let mut served = Served::new();
    let shown = served.run(&["skill", "list"]).ends(0);
    assert!(
        shown
            .out
            .starts_with(&format!("pdf  {SKILL}\n    Work with PDF\n    2 files, ")),
        "{shown:#?}"
    );
    let listed = served.run(&["skill", "list", "-o", "json"]).ends(0).json();
    assert_eq!(listed, json!({"skills": [entry()]}));
    served
        .entries
        .push(json!({"uri": "skill://docs/bad/SKILL.md"}));
    served.entries.push(entry());
    let shown = served.run(&["skill", "list", "-o", "ndjson"]).ends(0);
    assert_eq!(shown.out.lines().count(), 2);
    assert!(
        shown.err.contains("skill://docs/bad/SKILL.md is left out"),
        "{shown:#?}"
    );
    served.entries = Vec::new();
    let none = served.run(&["skill", "list"]).ends(0);
    assert!(
        none.err.contains("skills that it does not list"),
        "{none:#?}"
    );
}

#[test]
fn a_file_of_a_skill_is_printed_once_it_is_verified() {
    let mut served = Served::new();
    assert_eq!(
        served.run(&["skill", "read", SKILL]).ends(0).out,
        SKILL_TEXT
    );
    let forms = served
        .run(&["skill", "read", SKILL, "references/FORMS.md"])
        .ends(0);
    assert_eq!(forms.out, FORMS_TEXT);
    let forms = served
        .run(&["skill", "read", SKILL, FORMS, "-o", "json"])
        .ends(0)
        .json();
    assert_eq!(forms, json!({"contents": [text(FORMS, FORMS_TEXT)]}));
    let error = served
        .run(&["skill", "read", SKILL, "../x", "-o", "json"])
        .ends(2)
        .error();
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("is not a file of skill"),
        "{error}"
    );

    served.forms = text(FORMS, "Farms.\n");
    let failed = served.run(&["skill", "read", SKILL, FORMS]).ends(6);
    assert_eq!(failed.out, "");
    assert!(
        failed.err.contains("digest") && !failed.err.contains("::"),
        "{failed:#?}"
    );
    served.skill = text(SKILL, "---\n");
    assert_eq!(served.run(&["skill", "read", SKILL]).ends(6).out, "");
}

#[test]
fn dynamic_and_large_skills_are_read_only_if_options_say_so() {
    let mut served = Served::new();
    let large = served
        .run(&["skill", "read", SKILL, "--limit", "max-skill-files=1"])
        .ends(1);
    assert!(large.err.contains("--limit max-skill-files="), "{large:#?}");
    served
        .run(&["skill", "read", SKILL, "--limit", "max-skill-bytes=10"])
        .ends(1);
    served.entries[0]["resources"] = "dynamic".into();
    let refused = served.run(&["skill", "read", SKILL]).ends(1);
    assert!(refused.err.contains("`--allow-dynamic`"), "{refused:#?}");
    let read = served
        .run(&["skill", "read", SKILL, "--allow-dynamic"])
        .ends(0);
    assert_eq!(read.out, SKILL_TEXT);
}

#[test]
fn verification_reports_each_skill_and_ends_with_a_code() {
    let mut served = Served::new();
    let verified = served.run(&["skill", "verify"]).ends(0);
    assert!(
        verified
            .out
            .starts_with(&format!("verified  {SKILL}  2 files, ")),
        "{verified:#?}"
    );
    assert_eq!(
        served.run(&["skill", "verify", SKILL]).ends(0).out,
        verified.out
    );
    let large = served
        .run(&["skill", "verify", "--limit", "max-skill-files=1"])
        .ends(7);
    assert!(large.out.starts_with("too large  "), "{large:#?}");

    served.forms = text(FORMS, "Farms.\n");
    let failed = served.run(&["skill", "verify"]).ends(6);
    assert!(
        failed
            .out
            .starts_with(&format!("FAILED  {SKILL}  1 files, ")),
        "{failed:#?}"
    );
    assert!(failed.out.contains(FORMS), "{failed:#?}");
    assert!(
        failed.err.contains("1 of 1 skills failed verification"),
        "{failed:#?}"
    );
    let report = served
        .run(&["skill", "verify", "-o", "json"])
        .ends(6)
        .json();
    assert_eq!(report["skills"][0]["outcome"], "failed");
    assert_eq!(report["skills"][0]["failures"][0]["uri"], FORMS);

    served.entries[0]["resources"] = "dynamic".into();
    let dynamic = served.run(&["skill", "verify", "-o", "ndjson"]).ends(0);
    assert_eq!(dynamic.json()["outcome"], "dynamic");
    served.entries[0]
        .as_object_mut()
        .unwrap()
        .remove("resources");
    served.run(&["skill", "verify"]).ends(6);
    served.run(&["skill", "verify", SKILL]).ends(6);
}

#[test]
fn the_shell_has_the_verbs_and_their_formats() {
    let script = Served::new().script();
    let lines =
        format!("skill list -o ndjson\nskill read {SKILL} references/FORMS.md\nskill verify\n");
    let shown = run_with_input(&["shell", "--", "sh", "-c", &script], &lines).ends(0);
    let lines: Vec<_> = shown.out.lines().collect();
    assert_eq!(lines.len(), 3, "{shown:#?}");
    assert_eq!(serde_json::from_str::<Value>(lines[0]).unwrap(), entry());
    assert_eq!(lines[1], "Forms.");
    assert!(lines[2].starts_with("verified"));
    let refused = run_with_input(
        &["shell", "--", "sh", "-c", &script],
        "skill list --era legacy\n",
    )
    .ends(2);
    assert!(
        refused
            .err
            .contains("`--era` is an option of the connection"),
        "{refused:#?}"
    );
}

#[test]
fn text_of_skills_cannot_act_upon_a_terminal() {
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31mred\u{202e}gnp.exe";
    let content = format!(
        "---\nname: pdf\ndescription: \"{}\"\n---\n{evil}\n",
        "\\r\\N\\u202ered"
    );
    let mut served = Served::new();
    served.entries[0]["frontmatter"]["description"] = "\r\u{85}\u{202e}red".into();
    served.entries[0]["resources"][0]["size"] = content.len().into();
    served.entries[0]["resources"][0]["digest"] = json!(Digest::compute(content.as_bytes()));
    served.skill = text(SKILL, &content);
    served
        .entries
        .push(json!({"uri": format!("skill://docs/{evil}/SKILL.md")}));
    let mut refused = entry();
    refused["frontmatter"]["description"] = "\u{1b}[2J".into();
    served.entries.push(refused);
    for words in [
        &["skill", "list"][..],
        &["skill", "list", "-o", "json"],
        &["skill", "read", SKILL],
        &["skill", "read", SKILL, "-o", "json"],
        &["skill", "read", SKILL, evil],
        &["skill", "verify"],
        &["skill", "verify", "-o", "ndjson"],
    ] {
        let run = served.run(words);
        for shown in [&run.out, &run.err] {
            let is_bad = |char: char| (char.is_control() && char != '\n') || char == '\u{202e}';
            assert!(!shown.contains(is_bad), "{words:?}: {run:#?}");
        }
    }
}

#[test]
fn uris_and_files_of_skills_complete_a_word() {
    let scratch = Scratch::new();
    let command =
        json!({"command": "sh", "args": [scratch.file("server.sh", &Served::new().script())]});
    scratch.file(
        ".mcp.json",
        &json!({"mcpServers": {"docs": command}}).to_string(),
    );
    let home = scratch.name("home");
    let env = ["HOME", "XDG_DATA_HOME", "LOCALAPPDATA"].map(|name| (name, &*home));
    let directory = scratch.path().to_str().expect("it is UTF-8");
    let mut at = TerminalSession::start_in(&["skill", "list", "docs"], &env, directory);
    at.expect("Use it? [y/N]", "y\n");
    assert_eq!(at.end().1, Some(0));
    for (words, expected) in [
        (&["skill", "read", "do"][..], &["docs"][..]),
        (&["skill", "read", "docs", "skill:"], &[SKILL]),
        (&["skill", "verify", "docs", "skill:"], &[SKILL]),
        (
            &["skill", "read", "docs", SKILL, "ref"],
            &["references/FORMS.md"],
        ),
        (&["skill", "list", "docs", "x"], &[]),
    ] {
        assert_eq!(complete(&scratch, words), expected, "{words:?}");
    }
}

#[test]
fn a_folder_of_skills_is_served_and_verified() {
    let folder = Scratch::new();
    folder.file("docs/pdf/SKILL.md", SKILL_TEXT);
    folder.file("docs/pdf/references/FORMS.md", FORMS_TEXT);
    folder.file("bad/SKILL.md", "no frontmatter");
    let dir = folder.path().to_str().unwrap();
    let server = [
        "--",
        crate::support::TOOL,
        "serve",
        "skills",
        dir,
        "--stdio",
    ];
    let verified = run(&[&["skill", "verify"][..], &server].concat()).ends(0);
    assert!(
        verified
            .out
            .starts_with(&format!("verified  {SKILL}  2 files, ")),
        "{verified:#?}"
    );
    assert_eq!(verified.out.lines().count(), 1, "{verified:#?}");
    let none = run(&["serve", "skills", &format!("{dir}/none"), "--stdio"]).ends(2);
    assert!(none.err.contains("/none: "), "{none:#?}");
}

#[test]
fn the_skills_of_the_demo_are_what_it_says() {
    let verified = crate::support::demo(&["skill", "verify", "--output", "json"]);
    assert!(!verified.out.contains("failed"), "{verified:#?}");
    let listed = crate::support::demo(&["skill", "list"]).ends(0);
    for name in ["pdf-processing", "billing", "refunds", "daily"] {
        assert!(listed.out.contains(name), "{listed:#?}");
    }
}
