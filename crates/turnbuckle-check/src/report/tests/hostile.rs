use turnbuckle_types::base::text::is_hidden;

use super::*;

/// Text that would do harm where it is not escaped: at a terminal, in markup, in tables and links.
const HOSTILE: &str = "\u{1b}]0;t\u{7}\u{1b}[2J\r\n|x|<script>alert(1)</script>]]>&\"'--><!--`@user` \
    [a](javascript:1) https://evil.example www.evil.example #1 \u{202e}\u{fffe}\u{0}";

/// Returns a report in which every string that can come from the checked side is hostile.
fn hostile() -> Report {
    let mut report = report();
    report.target = HOSTILE.into();
    report.notes = vec![HOSTILE.into()];
    for case in &mut report.cases {
        case.server = Some(json!({"name": HOSTILE, "version": HOSTILE}));
        case.stopped = Some(HOSTILE.into());
        for check in &mut case.checks {
            check.reason = check.reason.as_ref().map(|_| HOSTILE.into());
            for finding in &mut check.findings {
                finding.sentence = HOSTILE.into();
                finding.item = Some(HOSTILE.into());
                finding.repeat = HOSTILE.into();
                finding.messages = vec![message("→", HOSTILE)];
            }
        }
    }
    report
}

#[test]
fn no_form_has_a_hidden_character() {
    for (name, form) in FORMS {
        let text = write(form, &hostile());
        let found = text
            .chars()
            .find(|char| is_hidden(*char) && !matches!(char, '\n' | '\u{fe0f}'));
        assert_eq!(found, None, "{name}");
    }
}

#[test]
fn markup_stays_text() {
    for (name, form) in FORMS {
        let text = write(form, &hostile());
        match name {
            "html" | "junit" | "badge.svg" => {
                assert!(!text.contains("<script"), "{name}");
                assert!(!text.contains("<!--") && !text.contains("]]>"), "{name}");
                assert!(!text.contains('\u{fffe}'), "{name}");
                assert_well_formed(name, &text);
            }
            "markdown" => {
                for raw in [
                    "<script",
                    "https://evil",
                    "www.evil",
                    "[a](",
                    "`@user`",
                    " #1",
                    "|x|",
                ] {
                    assert!(!text.contains(raw), "{raw}: {text}");
                }
                for line in text.lines().filter(|line| line.starts_with("| ")) {
                    let bars = line.replace("\\|", "").matches('|').count();
                    assert_eq!(bars, 5, "{line}");
                }
            }
            // No text of the checked side begins a line, apart from the target and the note.
            "terminal" => assert_eq!(text.matches("\n|x|").count(), 1, "{text}"),
            _ => _ = parse(&text),
        }
    }
}

/// Checks that elements are closed in their order, and that attributes are quoted.
fn assert_well_formed(name: &str, text: &str) {
    const VOID: [&str; 4] = ["meta", "br", "rect", "!doctype"];
    let mut open = Vec::new();
    let style = text.find("<style>").zip(text.find("</style>"));
    let text = match style {
        Some((start, end)) => [&text[..start], &text[end + 8..]].concat(),
        None => text.to_owned(),
    };
    for tag in text.split('<').skip(1) {
        let (tag, after) = tag.split_once('>').unwrap();
        assert!(!after.contains('>'), "{name}: {after}");
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: {tag}");
        let element = tag.split([' ', '/']).find(|part| !part.is_empty()).unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(element), "{name}");
        } else if !tag.ends_with('/') && !tag.starts_with('?') && !VOID.contains(&element) {
            open.push(element);
        }
    }
    assert_eq!(open, [""; 0], "{name}");
}

#[test]
fn links_of_another_scheme_are_not_links() {
    let mut report = report();
    for case in &mut report.cases {
        let requirement = &mut case.checks[0].findings[0].requirement;
        requirement.as_mut().unwrap().link = "javascript:alert(1)".into();
    }
    for (name, form) in FORMS {
        if ["html", "markdown", "sarif"].contains(&name) {
            assert!(
                !write(form, &report).contains("javascript:alert(1)"),
                "{name}"
            );
        }
    }
}

#[test]
fn a_million_findings_and_endless_strings_stay_within_the_bounds_of_each_form() {
    let mut report = report();
    let sample = Finding {
        messages: vec![message("←", &"m".repeat(1_000_000)); 3],
        ..finding(&"<".repeat(1_000_000), Some(&"&".repeat(1_000_000)))
    };
    report.cases[0].checks[0].findings.push(sample.clone());
    for at in 0..1_000_000 {
        let finding = finding(&format!("number {at}"), None);
        report.cases[1].checks[1].findings.push(finding);
    }
    report.notes = vec!["n".repeat(10_000); 10_000];
    report.bound();
    assert_eq!(report.cases[1].checks[1].findings.len(), MAX_FINDINGS);
    assert_eq!(report.notes.len(), MAX_NOTES);
    let bound = |name| match name {
        "html" => 300_000,
        "badge.svg" | "badge.json" => 2_000,
        _ => 250_000,
    };
    for (name, form) in FORMS {
        let text = write(form, &report);
        assert!(text.len() <= bound(name), "{name}: {}", text.len());
    }
}

#[test]
fn findings_and_messages_have_a_bound_in_sum() {
    let mut report = report();
    let sample = Finding {
        messages: vec![message("←", &"m".repeat(3000)); 30],
        ..finding("it is wrong", None)
    };
    for at in 0..300 {
        let mut check = check(&format!("tools.rule-{at}"), "the rule is kept", Level::Must);
        check.findings = match at {
            0..10 => vec![sample.clone(); 51],
            _ => vec![finding("it is wrong", None); 51],
        };
        report.cases[0].checks.push(check);
    }
    report.bound();
    let findings = || {
        report
            .cases
            .iter()
            .flat_map(|case| &case.checks)
            .flat_map(|check| &check.findings)
    };
    assert_eq!(findings().count(), MAX_ALL_FINDINGS);
    let messages = findings().flat_map(|finding| &finding.messages);
    let bytes: usize = messages.map(|message| message.text.len()).sum();
    assert!(
        (MAX_ALL_MESSAGE_BYTES - 50_000..=MAX_ALL_MESSAGE_BYTES).contains(&bytes),
        "{bytes}"
    );
    assert_eq!(
        report.notes[0],
        "the messages of further findings are left out"
    );
    assert_eq!(
        report.notes[1],
        "tools.rule-0 has 1 more findings in 2025-06-18 over http"
    );
}

#[test]
fn html_with_every_check_failing_everywhere_fits_and_says_what_is_left_out() {
    let mut report = report();
    report.cases = (0..40)
        .map(|at| {
            let checks = (0..200).map(|number| CheckReport {
                findings: vec![Finding {
                    messages: vec![message("←", &"m".repeat(1000)); 10],
                    ..finding(&"word ".repeat(40), Some("tool x"))
                }],
                ..check(
                    &format!("topic{}.rule-{number}", number % 7),
                    "the rule is kept",
                    Level::Must,
                )
            });
            case(&format!("2025-11-{at}"), "http", checks.collect())
        })
        .collect();
    let text = write(html::write, &report);
    assert!(text.len() <= 300_000, "{}", text.len());
    assert!(text.contains("more checks do not fit here"));
    assert!(text.contains("16 more cases have no column"));
    assert_well_formed("html", &text);
}
