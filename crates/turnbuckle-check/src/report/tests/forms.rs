use super::*;

#[test]
fn totals_count_each_check_once() {
    let totals = report().totals();
    let expected = Totals {
        checks: 4,
        passed: 1,
        failed: 1,
        warned: 1,
        skipped: 1,
        ..Totals::default()
    };
    assert_eq!(totals, expected);
    assert_eq!(totals.describe(), "1 fail, 1 warn, 1 pass, 1 skip");
}

#[test]
fn a_report_is_clean_up_to_a_level_unless_a_case_was_stopped() {
    let mut report = report();
    assert!(!report.is_clean(Level::Must));
    report
        .cases
        .iter_mut()
        .for_each(|case| case.checks[0].findings.clear());
    assert!(report.is_clean(Level::Must));
    assert!(!report.is_clean(Level::Should));
    assert_eq!(report.findings(Level::Note).count(), 2);
    report.cases[0].stopped = Some("no answer".into());
    assert!(!report.is_clean(Level::Must));
}

#[test]
fn the_terminal_shows_findings_once_with_their_place_fix_and_command() {
    let text = write(FORMS[0].1, &report());
    let expected = "\
http://localhost:1/mcp (demo 1.0), 2 cases: 2025-06-18, 2025-11-25 over http

http  1 fail
  FAIL  http.origin-403  a request with a foreign Origin is refused with 403  all 2 cases
        it answered 200
        rule   a bad Origin is 403 (MUST)
        page   https://modelcontextprotocol.io/specification/2025-11-25/basic/transports, line 79 of basic/transports.mdx
        fix    compare Origin with a list
        repeat turnbuckle check http://localhost:1/mcp --only http.origin-403

tools  1 warn, 1 pass
  WARN  tools.names  names are those that the specification allows  2025-11-25 over http
        tool a b: the name has a space
        tool c: the name is \"c\"
        fix    compare Origin with a list

4 checks: 1 fail, 1 warn, 1 pass, 1 skip, in 2.3 s
";
    assert_eq!(text, expected);
}

#[test]
fn a_verbose_terminal_shows_messages_and_every_check() {
    let options = terminal::Options {
        verbose: true,
        style: &|tone, text| format!("<{tone:?} {text}>"),
    };
    let mut out = Vec::new();
    terminal::write(&report(), &options, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    for part in [
        "          <Dim ← 200 OK>\n",
        "  <Good pass > <Strong tools.unique>  names are unique",
        "  <Dim skip > <Strong prompts.get>  a prompt that is listed can be fetched  <Dim the server declares no prompts>\n",
        "<Error FAIL >",
        "<Warning WARN >",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn known_findings_are_shown_as_known() {
    let mut report = report();
    for case in &mut report.cases {
        case.checks[0].findings[0].known = true;
    }
    let text = write(FORMS[0].1, &report);
    assert!(!text.contains("http.origin-403"), "{text}");
    assert!(text.contains("1 warn, 1 known, 1 pass"), "{text}");
    let sarif = parse(&write(sarif::write, &report));
    let results = &sarif["runs"][0]["results"];
    assert_eq!(results[0]["suppressions"][0]["kind"], "external");
    assert!(results[1].get("suppressions").is_none());
    let junit = write(junit::write, &report);
    assert!(
        junit.contains("<skipped message=\"known: a request"),
        "{junit}"
    );
    assert!(junit.contains("failures=\"0\""), "{junit}");
    report.cases[0].checks[0]
        .findings
        .push(finding("something new", None));
    assert!(write(junit::write, &report).contains("tests=\"6\" failures=\"1\""));
}

#[test]
fn json_is_the_data_and_reads_back() {
    let mut before = report();
    before.notes.push("a \u{202e}note\n".into());
    let text = write(json::write, &before);
    assert!(
        text.contains("\\u202e") && !text.contains('\u{202e}'),
        "{text}"
    );
    let after: Report = serde_json::from_str(&text).unwrap();
    assert_eq!(after, before);
    let value = parse(&text);
    let check = &value["cases"][0]["checks"][0];
    assert_eq!(check["verdict"], "fail");
    assert_eq!(check["level"], "must");
    assert_eq!(check["findings"][0]["messages"][1]["direction"], "←");
    assert_eq!(check["findings"][0]["requirement"]["line"], 79);
}

#[test]
fn junit_has_a_suite_for_each_case_and_a_test_for_each_check() {
    let mut report = report();
    report.cases[1].stopped = Some("no answer to ping".into());
    let text = write(junit::write, &report);
    for part in [
        "<testsuites name=\"turnbuckle check http://localhost:1/mcp\" tests=\"7\" failures=\"2\" errors=\"1\" skipped=\"2\" time=\"2.345\">",
        "<testsuite name=\"2025-06-18 over http\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0.036\">",
        "<testcase classname=\"2025-06-18 over http\" name=\"tools.unique\" time=\"0.012\"/>",
        "<failure message=\"a request with a foreign Origin is refused with 403\" type=\"must\">\nit answered 200\n",
        "<skipped message=\"the server declares no prompts\"/>",
        "<system-out>should: names are those that the specification allows\ntool a b: the name has a space\n",
        "tool c: the name is &quot;c&quot;\n",
        "<error message=\"no answer to ping\"/>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

/// Checks the members that SARIF 2.1.0 requires, and those that code scanning does.
#[test]
fn sarif_has_a_rule_for_each_check_and_a_result_for_each_finding() {
    let mut report = report();
    report.cases[1].stopped = Some("no answer to ping".into());
    let log = parse(&write(sarif::write, &report));
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "turnbuckle check");
    let rules = driver["rules"].as_array().unwrap();
    let ids: Vec<_> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(
        ids,
        [
            "http.origin-403",
            "tools.unique",
            "tools.names",
            "prompts.get"
        ]
    );
    assert_eq!(
        rules[0]["helpUri"],
        "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports"
    );
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 3);
    for result in results {
        let rule = result["ruleIndex"].as_u64().unwrap();
        assert_eq!(result["ruleId"], ids[usize::try_from(rule).unwrap()]);
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "mcp-server");
        assert_eq!(place["region"]["startLine"], 1);
        assert!(result["message"]["text"].is_string());
    }
    assert_eq!(results[0]["level"], "error");
    assert_eq!(results[1]["level"], "warning");
    let fingerprints = |at: usize| results[at]["partialFingerprints"]["turnbuckleCheck/v1"].clone();
    assert_ne!(fingerprints(1), fingerprints(2));
    let invocation = &run["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(
        invocation["toolExecutionNotifications"][0]["level"],
        "error"
    );
    assert_eq!(
        run["automationDetails"]["id"],
        "turnbuckle-check/http%3A%2F%2Flocalhost%3A1%2Fmcp/"
    );
}

#[test]
fn markdown_has_a_row_for_each_check_with_findings() {
    let text = write(markdown::write, &report());
    for part in [
        "4 checks in 2 cases: **1 fail, 1 warn, 1 pass, 1 skip**",
        "| ❌ fail | [`http.origin-403`](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports) a request",
        "| ⚠️ warn | `tools.names` names are",
        "tool a b: the name has a space<br>tool c: the name is \\\"c\\\"<br>*compare Origin with a list* | 2025\\-11\\-25 over http |",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("tools.unique"));
}

#[test]
fn html_has_the_findings_the_evidence_and_a_cell_for_each_case() {
    let text = write(html::write, &report());
    for part in [
        "<li class=\"fail\"><b>1</b> fail</li>",
        "<article id=\"http.origin-403\" class=\"fail\">",
        "href=\"https://modelcontextprotocol.io/specification/2025-11-25/basic/transports\"",
        "<details><summary>2 messages</summary><pre>→ POST /mcp, Origin: http://evil.example\n← 200 OK\n</pre></details>",
        "<tr><th><a href=\"#http.origin-403\"><code>http.origin-403</code></a> a request with a foreign Origin is refused with 403</th><td class=\"fail\">✗</td><td class=\"fail\">✗</td></tr>",
        "<td class=\"pass\">✓</td><td></td>",
        "<td class=\"skip\" title=\"the server declares no prompts\">–</td>",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("<script"));
    // The most severe stands first, whatever its topic.
    assert!(text.find("id=\"http.origin-403\"") < text.find("id=\"tools.names\""));
}

#[test]
fn a_badge_says_the_worst() {
    let mut report = report();
    let shield = |report: &Report| parse(&write(badge::write_json, report));
    assert_eq!(
        shield(&report),
        json!({"schemaVersion": 1, "label": "MCP check", "message": "1 of 4 fail", "color": "red"})
    );
    assert!(write(badge::write_svg, &report).contains(">1 of 4 fail</text>"));
    report
        .cases
        .iter_mut()
        .for_each(|case| case.checks[0].findings.clear());
    assert_eq!(shield(&report)["message"], "2 pass, 1 warn");
    report.cases[1].checks[1].findings.clear();
    assert_eq!(shield(&report)["color"], "brightgreen");
    report.cases[1].stopped = Some("no answer".into());
    assert_eq!(shield(&report)["message"], "incomplete");
    report.cases.clear();
    assert_eq!(shield(&report)["message"], "incomplete");
}

#[test]
fn what_is_said_of_many_items_is_said_once() {
    let mut report = report();
    let many = (0..20).map(|at| finding("`x` is wrong", Some(&format!("t{at}"))));
    report.cases[1].checks[1].findings = many.collect();
    let text = write(FORMS[0].1, &report);
    assert!(
        text.contains("        t0, t1, t2, t3, t4, t5, t6, t7 and 12 more: `x` is wrong\n"),
        "{text}"
    );
    let text = write(html::write, &report);
    assert!(
        text.contains("<code>t7</code> and 12 more: <code>x</code> is wrong <span"),
        "{text}"
    );
    let text = write(markdown::write, &report);
    assert!(
        text.contains("t6, t7 and 12 more: \\`x\\` is wrong<br>*"),
        "{text}"
    );
    // Code scanning has one result for each item.
    let log = parse(&write(sarif::write, &report));
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 21);
}
