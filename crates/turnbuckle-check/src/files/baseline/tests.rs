use super::*;
use crate::report::tests::{finding, report};

const IDS: &[&str] = &["http.origin-403", "tools.names"];

fn list_known(report: &Report) -> Vec<bool> {
    let checks = report.cases.iter().flat_map(|case| &case.checks);
    let findings = checks.flat_map(|check| &check.findings);
    findings.map(|finding| finding.known).collect()
}

#[test]
fn an_entry_covers_its_check_in_the_cases_and_for_the_item_that_it_names() {
    // Findings: origin in both cases, names of "a b" and "c" in the second case.
    for (text, covered) in [
        ("check = 'http.origin-403'", [true, true, false, false]),
        (
            "check = 'http.origin-403'\nrevision = '2025-06-18'",
            [true, false, false, false],
        ),
        (
            "check = 'http.origin-403'\nrevision = '2025-11-25'\ntransport = 'stdio'",
            [false; 4],
        ),
        (
            "check = 'tools.names'\nitem = 'tool c'",
            [false, false, false, true],
        ),
        (
            "check = 'tools.names'\nreason = 'later'",
            [false, false, true, true],
        ),
    ] {
        let baseline = Baseline::parse(&format!("[[known]]\n{text}\n"), IDS).unwrap();
        let mut report = report();
        baseline.apply(&mut report);
        assert_eq!(list_known(&report), covered, "{text}");
    }
}

#[test]
fn known_findings_do_not_fail_and_new_ones_do() {
    let mut report = report();
    let text =
        "[[known]]\ncheck = 'http.origin-403'\n[[known]]\ncheck = 'tools.names'\nitem = 'tool c'\n";
    let baseline = Baseline::parse(text, IDS).unwrap();
    baseline.apply(&mut report);
    assert!(report.is_clean(crate::report::Level::Must));
    assert!(!report.is_clean(crate::report::Level::Should));
    report.cases[0].checks[0]
        .findings
        .push(finding("another", Some("route /x")));
    let baseline = Baseline::parse(
        "[[known]]\ncheck = 'http.origin-403'\nitem = 'route /y'\n",
        IDS,
    )
    .unwrap();
    for check in report.cases.iter_mut().flat_map(|case| &mut case.checks) {
        check
            .findings
            .iter_mut()
            .for_each(|finding| finding.known = false);
    }
    baseline.apply(&mut report);
    assert!(!report.is_clean(crate::report::Level::Must));
}

#[test]
fn an_entry_that_no_longer_applies_is_noted_with_its_line_if_its_check_ran() {
    let ids = &[
        "http.origin-403",
        "tools.names",
        "tools.unique",
        "prompts.get",
    ];
    let text =
        "# a comment\n\n[[known]]\ncheck = 'tools.unique'\n[[known]]\ncheck = 'prompts.get'\n";
    let mut report = report();
    Baseline::parse(text, ids).unwrap().apply(&mut report);
    // prompts.get is skipped in the report.
    assert_eq!(
        report.notes,
        ["line 3 of the baseline: tools.unique is no longer found; remove the entry"]
    );
}

#[test]
fn a_broken_baseline_is_an_error_with_its_line() {
    for (text, message) in [
        (
            "[[known]]\ncheck = 'http.origin403'\n",
            "line 1: there is no check \"http.origin403\": did you mean \"http.origin-403\"?",
        ),
        (
            "[[known]]\ncheck = 'tools.names'\nversion = 1\n",
            "line 3: unknown field `version`",
        ),
        (
            "\n[[known]]\nrevision = 'x'\n",
            "line 2: missing field `check`",
        ),
        ("x = \n", "line 1: "),
        ("[[known]]\ncheck = 7", "line 2: invalid type"),
    ] {
        let error = Baseline::parse(text, IDS).unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
    }
    let long = "#".repeat(MAX_BASELINE_BYTES + 1);
    let error = Baseline::parse(&long, IDS).unwrap_err();
    assert_eq!(error.to_string(), "a baseline has at most 4194304 bytes");
}

#[test]
fn a_written_baseline_covers_all_findings_and_keeps_reasons() {
    let mut before = report();
    before.cases[1].checks[1].findings[0].item = Some("tool \"\u{1b}[2J\n[[known]]".to_owned());
    let text = Baseline::default().renew(&before);
    let written = Baseline::parse(&text, IDS).unwrap();
    let mut after = before.clone();
    written.apply(&mut after);
    assert_eq!(list_known(&after), [true; 4], "{text}");
    assert!(after.notes.is_empty());
    // Found in every case that ran the check: no revision is named.
    assert!(!text.contains("revision = "), "{text}");
    assert!(
        text.contains("# names are those that the specification allows\n"),
        "{text}"
    );

    let text = text.replace(
        "check = \"http.origin-403\"\n",
        "check = \"http.origin-403\"\nreason = \"a proxy does it\"\n",
    );
    let explained = Baseline::parse(&text, IDS).unwrap();
    assert!(
        explained
            .renew(&before)
            .contains("reason = \"a proxy does it\"")
    );

    before.cases[0].checks[0].findings.clear();
    let narrow = explained.renew(&before);
    assert!(
        narrow.contains("revision = \"2025-11-25\"\ntransport = \"http\""),
        "{narrow}"
    );
    assert!(!narrow.contains("reason ="), "{narrow}");
}

#[test]
fn the_expected_failures_of_the_official_suite_cover_their_counterparts() {
    let text = "# known\nserver:\n  - dns-rebinding-protection\n  - tools-list:tools-list-names\n  - tools-call-image\nclient:\n  - initialize\n";
    let baseline = Baseline::parse_expected_failures(text, Kind::Server).unwrap();
    let mut report = report();
    baseline.apply(&mut report);
    assert_eq!(list_known(&report), [true; 4]);
    assert_eq!(
        report.notes,
        ["line 5 of the baseline: no check is the counterpart of the scenario tools-call-image"]
    );
    for empty in ["", "# nothing\n", "server:\nclient: []\n"] {
        Baseline::parse_expected_failures(empty, Kind::Server).unwrap();
    }
}

#[test]
fn a_broken_file_of_the_official_suite_is_an_error_with_its_line() {
    for (text, message) in [
        (
            "server:\n  - a\nserve:\n  - b\n",
            "line 3: \"serve\" is neither server nor client",
        ),
        (
            "server:\n  - a\n  - tools-list: x\n",
            "line 3: an entry is a mapping",
        ),
        ("- a\n", "line 1: expected the lists"),
        ("server: a\n", "line 1: expected the lists"),
        ("server:\n  - ':x'\n", "line 2: an entry without"),
        ("server:\n  - [a\n", "line 2: expected the lists"),
        ("server: {\n", "line 1: "),
        ("server: &a\n  - *a\n", "line 2: "),
    ] {
        let error = Baseline::parse_expected_failures(text, Kind::Server).unwrap_err();
        assert!(error.to_string().starts_with(message), "{text}: {error}");
    }
    let many = format!("server:\n{}", "  - a\n".repeat(1001));
    let error = Baseline::parse_expected_failures(&many, Kind::Server).unwrap_err();
    assert_eq!(error.to_string(), "line 1002: more than 1000 scenarios");
}
