//! The list of all checks.

use serde::Serialize;
use turnbuckle::Revision;
use turnbuckle_check::{Checker, Citation, ClientChecker, Requirement};

use super::args::CheckArgs;
use crate::args::CommonArgs;
use crate::connection::check_error;
use crate::error::CliError;
use crate::output::{Console, Style};

#[derive(Serialize)]
struct ListedCheck {
    id: &'static str,
    level: &'static str,
    title: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    requirement: Option<Citation>,
}

/// Prints each chosen check with its level, its rule and its page in the newest revision that has one.
pub(super) fn print(common: &CommonArgs, args: &CheckArgs) -> Result<(), CliError> {
    let console = Console::new(&common.output);
    let mut checks = ClientChecker::checks();
    if !args.client {
        checks.splice(..0, Checker::checks());
    }
    let chosen = args.selection().select(checks);
    let chosen = chosen.map_err(|error| check_error(&error))?;
    let checks = chosen.into_iter().map(|check| ListedCheck {
        id: check.id,
        level: check.level.as_str(),
        title: check.title,
        requirement: Requirement::cite(check.requirements, Revision::NEWEST),
    });
    let checks: Vec<_> = checks.collect();
    if !console.is_text() {
        return console.print_json(&serde_json::to_string(&checks)?);
    }
    let widest = checks.iter().map(|check| check.id.len()).max();
    let lines = checks.iter().map(|check| {
        let id = format!("{:1$}", check.id, widest.unwrap_or_default());
        let page = check.requirement.as_ref().map(|place| &*place.link);
        let page = console.style(Style::Dim, page.unwrap_or_default());
        let id = console.style(Style::Strong, &id);
        format!("{id}  {:6}  {}  {page}", check.level, check.title)
    });
    console.print(&lines.collect::<Vec<_>>().join("\n"))
}
