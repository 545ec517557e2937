//! Runs every check against a server in memory.

use turnbuckle_check::Checker;
use turnbuckle_check::report::Verdict;
use turnbuckle_check::script::Sound;

/// Returns the findings about a server: the case, the id of the check, and the sentence.
pub(crate) async fn findings(sound: Sound) -> Vec<String> {
    let report = Checker::new(sound.target()).run().await.unwrap();
    let mut found = Vec::new();
    for case in &report.cases {
        if let Some(reason) = &case.stopped {
            found.push(format!(
                "{} {} stopped: {reason}",
                case.revision, case.transport
            ));
        }
        for check in &case.checks {
            if matches!(check.verdict, Verdict::Pass | Verdict::Skip) {
                continue;
            }
            for finding in &check.findings {
                let item = finding.item.as_deref().unwrap_or_default();
                found.push(format!(
                    "{} {} {} {item}: {}",
                    case.revision, case.transport, check.id, finding.sentence
                ));
            }
        }
    }
    found
}
