//! The checker of the testing kit.

use turnbuckle::check::report::Verdict;
use turnbuckle::prelude::*;
use turnbuckle::testing::Checker;

/// Adds two numbers.
#[tool(read_only)]
fn add(a: i64, b: i64) -> String {
    (a + b).to_string()
}

/// Counts the letters of a text.
#[tool(read_only)]
fn count(text: String) -> u32 {
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

/// Splits a text into its letters.
#[tool(read_only)]
fn letters(text: String) -> Vec<String> {
    text.chars().map(String::from).collect()
}

fn server() -> turnbuckle::ServerBuilder {
    Server::new("calc", "1.0.0").tools(tools![add, count, letters])
}

#[tokio::test]
async fn a_server_is_checked_in_every_revision_over_every_transport() -> turnbuckle::Result {
    let checked = Checker::new(server()).run().await?;
    checked.assert_clean();
    let report = checked.report();
    let over = |transport: &str| {
        let cases = report
            .cases
            .iter()
            .filter(|case| case.transport == transport);
        cases.map(|case| case.revision.as_str()).collect::<Vec<_>>()
    };
    let all = turnbuckle::Revision::ALL.map(turnbuckle::Revision::as_str);
    assert_eq!(over("stdio"), all);
    assert_eq!(over("http"), all[1..]);
    assert_eq!(over("sse"), all[..1]);
    let checks = || report.cases.iter().flat_map(|case| &case.checks);
    let passed = checks().filter(|check| check.verdict == Verdict::Pass);
    assert!(passed.count() > 100);
    Ok(())
}

#[tokio::test]
async fn settings_choose_the_checks_and_wrong_names_are_errors() -> turnbuckle::Result {
    let checked = Checker::new(server())
        .with(|it| it.only("tools.unique"))
        .run()
        .await?;
    let mut checks = checked.report().cases.iter().flat_map(|case| &case.checks);
    assert!(checks.all(|check| check.id == "tools.unique"));
    let error = Checker::new(server())
        .with(|it| it.skip("tols"))
        .run()
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("did you mean \"tools\"?"),
        "{error}"
    );
    let error = checked.baseline("[[known]]\ncheck = 'x'\n").unwrap_err();
    assert!(error.to_string().starts_with("line 1: "), "{error}");
    Ok(())
}
