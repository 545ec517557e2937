//! The `agent-help` command: prints the skill that teaches a coding agent this command.

use crate::error::CliError;
use crate::output::write_stdout;

/// The skill, as agents read it from a folder.
const SKILL: &str = include_str!("../../skills/turnbuckle/SKILL.md");

/// Runs the command.
pub(crate) fn run() -> Result<(), CliError> {
    write_stdout(SKILL.as_bytes())
}
