//! Needs of checks: what a server must declare or have, and the reasons why a check ends early.

use crate::probe::ProbeError;

/// Something that a server declares or has, without which a check cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// A capability, by its path: `tools`, `resources.subscribe`.
    Capability(&'static str),
    /// A capability that is not declared, by its path.
    Undeclared(&'static str),
    /// At least one tool.
    Tool,
    /// A tool that says that it changes nothing, or that the user allows to call.
    CallableTool,
    /// A tool of that name, as the official conformance suite has it.
    Fixture(&'static str),
    /// At least one resource.
    Resource,
    /// At least one resource template.
    Template,
    /// At least one prompt.
    Prompt,
    /// A prompt of that name, as the official conformance suite has it.
    FixturePrompt(&'static str),
    /// A resource of that URI, as the official conformance suite has it.
    FixtureResource(&'static str),
    /// An extension, by its identifier.
    Extension(&'static str),
    /// A child process, rather than a connection in memory or over the network.
    Process,
}

/// Reason why a check ends before it has looked.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The server gives no occasion to look.
    Skip(String),
    /// The conversation broke; for the check that is a finding.
    Broken(ProbeError),
}

impl From<ProbeError> for Stop {
    fn from(error: ProbeError) -> Self {
        Self::Broken(error)
    }
}
