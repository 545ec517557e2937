//! The capabilities that requests depend on.

use turnbuckle_types::{ClientCapabilities, ServerCapabilities, TasksCapability};

use super::Features;

/// A capability that a party declares, and without which its peer does not send it some requests.
///
/// Specification: basic/versioning (2026-07-28); basic/lifecycle, "Capability Negotiation"
/// (2025-11-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// The server has tools.
    Tools,
    /// The server has prompts.
    Prompts,
    /// The server has resources.
    Resources,
    /// The server sends updates of single resources.
    ResourceSubscriptions,
    /// The server completes arguments.
    Completions,
    /// The server sends log messages.
    Logging,
    /// The client lists its roots.
    Roots,
    /// The client asks a model.
    Sampling,
    /// The client asks the user.
    Elicitation,
    /// The party runs requests as tasks.
    Tasks,
    /// The party lists tasks.
    TaskList,
    /// The party cancels tasks.
    TaskCancel,
}

impl Capability {
    /// Returns the name that error messages use: the member of the capabilities object, or the
    /// path to it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceSubscriptions => "resources.subscribe",
            Self::Completions => "completions",
            Self::Logging => "logging",
            Self::Roots => "roots",
            Self::Sampling => "sampling",
            Self::Elicitation => "elicitation",
            Self::Tasks => "tasks",
            Self::TaskList => "tasks.list",
            Self::TaskCancel => "tasks.cancel",
        }
    }

    /// Returns whether the revision with these features defines this capability. In a revision that
    /// does not, the requests are sent without a declaration by the peer.
    #[must_use]
    pub const fn exists_in(self, features: &Features) -> bool {
        match self {
            Self::Completions => features.completions_capability,
            Self::Elicitation => features.elicitation,
            Self::Tasks | Self::TaskList | Self::TaskCancel => features.core_tasks,
            Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::ResourceSubscriptions
            | Self::Logging
            | Self::Roots
            | Self::Sampling => true,
        }
    }

    /// Returns whether a server with these capabilities declares this one.
    #[must_use]
    pub fn is_declared_by_server(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Tools => capabilities.tools.is_some(),
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources => capabilities.resources.is_some(),
            Self::ResourceSubscriptions => capabilities
                .resources
                .as_ref()
                .is_some_and(|resources| resources.subscribe == Some(true)),
            Self::Completions => capabilities.completions.is_some(),
            Self::Logging => capabilities.logging.is_some(),
            Self::Tasks | Self::TaskList | Self::TaskCancel => {
                self.is_declared_in(capabilities.tasks.as_deref())
            }
            Self::Roots | Self::Sampling | Self::Elicitation => false,
        }
    }

    /// Returns whether a client with these capabilities declares this one.
    #[must_use]
    pub fn is_declared_by_client(self, capabilities: &ClientCapabilities) -> bool {
        match self {
            Self::Roots => capabilities.roots.is_some(),
            Self::Sampling => capabilities.sampling.is_some(),
            Self::Elicitation => capabilities.elicitation.is_some(),
            Self::Tasks | Self::TaskList | Self::TaskCancel => {
                self.is_declared_in(capabilities.tasks.as_deref())
            }
            Self::Tools
            | Self::Prompts
            | Self::Resources
            | Self::ResourceSubscriptions
            | Self::Completions
            | Self::Logging => false,
        }
    }

    /// Returns whether a party with this capability for tasks declares this part of it.
    fn is_declared_in(self, tasks: Option<&TasksCapability>) -> bool {
        tasks.is_some_and(|tasks| match self {
            Self::TaskList => tasks.list.is_some(),
            Self::TaskCancel => tasks.cancel.is_some(),
            _ => true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::revision::Revision;

    #[test]
    fn capabilities_are_read_from_the_declaration_of_a_peer() {
        let server = |json: &str| serde_json::from_str::<ServerCapabilities>(json).unwrap();
        let client = |json: &str| serde_json::from_str::<ClientCapabilities>(json).unwrap();
        let subscribe = Capability::ResourceSubscriptions;
        assert!(!subscribe.is_declared_by_server(&server(r#"{"resources":{}}"#)));
        assert!(subscribe.is_declared_by_server(&server(r#"{"resources":{"subscribe":true}}"#)));
        for (capability, json) in [
            (Capability::Tools, r#"{"tools":{}}"#),
            (Capability::Prompts, r#"{"prompts":{}}"#),
            (Capability::Resources, r#"{"resources":{}}"#),
            (Capability::Completions, r#"{"completions":{}}"#),
            (Capability::Logging, r#"{"logging":{}}"#),
        ] {
            assert!(capability.is_declared_by_server(&server(json)), "{json}");
            assert!(!capability.is_declared_by_server(&server("{}")), "{json}");
            assert!(!capability.is_declared_by_client(&client(json)), "{json}");
        }
        for (capability, json) in [
            (Capability::Roots, r#"{"roots":{}}"#),
            (Capability::Sampling, r#"{"sampling":{}}"#),
            (Capability::Elicitation, r#"{"elicitation":{}}"#),
        ] {
            assert!(capability.is_declared_by_client(&client(json)), "{json}");
            assert!(!capability.is_declared_by_client(&client("{}")), "{json}");
            assert!(!capability.is_declared_by_server(&server(json)), "{json}");
        }
        for (capability, json) in [
            (Capability::Tasks, r#"{"tasks":{}}"#),
            (Capability::TaskList, r#"{"tasks":{"list":{}}}"#),
            (Capability::TaskCancel, r#"{"tasks":{"cancel":{}}}"#),
        ] {
            let none = ["{}", r#"{"tasks":{}}"#].into_iter();
            for none in none.filter(|none| *none != json) {
                assert!(!capability.is_declared_by_server(&server(none)), "{json}");
                assert!(!capability.is_declared_by_client(&client(none)), "{json}");
            }
            assert!(capability.is_declared_by_server(&server(json)), "{json}");
            assert!(capability.is_declared_by_client(&client(json)), "{json}");
            let defining = Revision::ALL
                .into_iter()
                .filter(|it| capability.exists_in(it.features()));
            assert_eq!(defining.collect::<Vec<_>>(), [Revision::V2025_11_25]);
        }
        let oldest = Revision::V2024_11_05.features();
        assert!(!Capability::Completions.exists_in(oldest));
        assert!(Capability::Tools.exists_in(oldest));
    }
}
