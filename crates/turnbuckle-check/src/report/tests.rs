//! Reports for tests, and the tests of all forms.

use serde_json::{Value, json};

use super::*;

mod forms;
mod hostile;

/// Returns a report with two cases: a MUST that both break, and a SHOULD that two items of the second
/// break.
pub(crate) fn report() -> Report {
    let origin = |sentence: &str| CheckReport {
        findings: vec![Finding {
            requirement: Some(citation()),
            messages: vec![
                message("→", "POST /mcp, Origin: http://evil.example"),
                message("←", "200 OK"),
            ],
            repeat: "turnbuckle check http://localhost:1/mcp --only http.origin-403".into(),
            ..finding(sentence, None)
        }],
        ..check(
            "http.origin-403",
            "a request with a foreign Origin is refused with 403",
            Level::Must,
        )
    };
    let unique = check("tools.unique", "names are unique", Level::Must);
    let names = CheckReport {
        findings: vec![
            finding("the name has a space", Some("tool a b")),
            finding("the name is \"c\"", Some("tool c")),
        ],
        ..check(
            "tools.names",
            "names are those that the specification allows",
            Level::Should,
        )
    };
    let prompts = CheckReport {
        verdict: Verdict::Skip,
        reason: Some("the server declares no prompts".into()),
        ..check(
            "prompts.get",
            "a prompt that is listed can be fetched",
            Level::Must,
        )
    };
    let cases = [
        (
            "2025-06-18",
            vec![origin("it answered 200"), unique, prompts.clone()],
        ),
        (
            "2025-11-25",
            vec![origin("it answered 200"), names, prompts],
        ),
    ];
    Report {
        turnbuckle: "0.1.0".into(),
        target: "http://localhost:1/mcp".into(),
        kind: Kind::Server,
        cases: cases
            .map(|(revision, checks)| case(revision, "http", checks))
            .into(),
        notes: Vec::new(),
        millis: 2345,
    }
}

/// Returns a finding without evidence.
pub(crate) fn finding(sentence: &str, item: Option<&str>) -> Finding {
    Finding {
        sentence: sentence.into(),
        item: item.map(str::to_owned),
        requirement: None,
        messages: Vec::new(),
        fix: "compare Origin with a list".into(),
        repeat: String::new(),
        known: false,
    }
}

fn citation() -> Citation {
    Citation {
        id: "924320a8df96".into(),
        gist: "a bad Origin is 403".into(),
        level: "MUST".into(),
        revision: "2025-11-25".into(),
        page: "basic/transports.mdx".into(),
        line: 79,
        link: "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports".into(),
    }
}

fn message(direction: &str, text: &str) -> MessageLine {
    MessageLine {
        direction: direction.into(),
        text: text.into(),
    }
}

fn check(id: &str, title: &str, level: Level) -> CheckReport {
    CheckReport {
        id: id.into(),
        title: title.into(),
        level,
        verdict: Verdict::Pass,
        reason: None,
        requirement: None,
        findings: Vec::new(),
        millis: 12,
    }
}

fn case(revision: &str, transport: &str, checks: Vec<CheckReport>) -> CaseReport {
    let with_verdict = |mut check: CheckReport| {
        if !check.findings.is_empty() {
            check.verdict = check.level.verdict();
        }
        check
    };
    CaseReport {
        revision: revision.into(),
        transport: transport.into(),
        server: Some(json!({"name": "demo", "version": "1.0"})),
        stopped: None,
        checks: checks.into_iter().map(with_verdict).collect(),
        interface: None,
    }
}

/// A form of the report.
type Form = fn(&Report, &mut dyn std::io::Write) -> std::io::Result<()>;

/// Every form, by name.
const FORMS: [(&str, Form); 8] = [
    ("terminal", |report, out| {
        terminal::write(report, &terminal::Options::plain(), out)
    }),
    ("json", json::write),
    ("junit", junit::write),
    ("sarif", sarif::write),
    ("html", html::write),
    ("markdown", markdown::write),
    ("badge.svg", badge::write_svg),
    ("badge.json", badge::write_json),
];

/// Returns the report in a form.
fn write(form: Form, report: &Report) -> String {
    let mut out = Vec::new();
    form(report, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
