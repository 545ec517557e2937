//! The membership table: which method stands in which revision, and who receives it.
//!
//! A method that a revision lacks is not in its row, so method-not-found follows in both
//! directions with nothing to forget.

use super::Revision;

/// One end of a connection, as the receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Party {
    const fn bit(self) -> u8 {
        match self {
            Self::Client => 1,
            Self::Server => 2,
        }
    }
}

const CLIENT: u8 = Party::Client.bit();
const SERVER: u8 = Party::Server.bit();
const BOTH: u8 = CLIENT | SERVER;

const R24: u8 = Revision::V2024_11_05.bit();
const R25_03: u8 = Revision::V2025_03_26.bit();
const R25_06: u8 = Revision::V2025_06_18.bit();
const R25_11: u8 = Revision::V2025_11_25.bit();
const MODERN: u8 = Revision::V2026_07_28.bit();
const LEGACY: u8 = R24 | R25_03 | R25_06 | R25_11;
const ALL: u8 = LEGACY | MODERN;

macro_rules! methods {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $kind:ident, [$($revisions:expr => $receivers:expr),+];)*) => {
        /// A method of the core protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
        }

        impl Method {
            /// Every method of the core protocol.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The method as it is spelled on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The core method of that spelling, if there is one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($name => Some(Self::$variant),)* _ => None }
            }

            /// Whether it is sent without an id and never answered.
            #[must_use]
            pub const fn is_notification(self) -> bool {
                match self { $(Self::$variant => methods!(@kind $kind),)* }
            }

            /// Whether `revision` has it as a message that `receiver` gets.
            #[must_use]
            pub const fn reaches(self, receiver: Party, revision: Revision) -> bool {
                match self {
                    $(Self::$variant => {
                        $((($revisions) & revision.bit() != 0 && ($receivers) & receiver.bit() != 0))||+
                    })*
                }
            }
        }
    };
    (@kind request) => { false };
    (@kind notification) => { true };
}

methods! {
    /// Opens a legacy session.
    Initialize = "initialize", request, [LEGACY => SERVER];
    /// Asks whether the peer is there.
    Ping = "ping", request, [LEGACY => BOTH];
    /// Asks a modern server what it is.
    Discover = "server/discover", request, [MODERN => SERVER];
    /// Lists tools.
    ListTools = "tools/list", request, [ALL => SERVER];
    /// Calls a tool.
    CallTool = "tools/call", request, [ALL => SERVER];
    /// Lists resources.
    ListResources = "resources/list", request, [ALL => SERVER];
    /// Lists resource templates.
    ListResourceTemplates = "resources/templates/list", request, [ALL => SERVER];
    /// Reads a resource.
    ReadResource = "resources/read", request, [ALL => SERVER];
    /// Asks for notices of a resource's changes.
    Subscribe = "resources/subscribe", request, [LEGACY => SERVER];
    /// Ends such notices.
    Unsubscribe = "resources/unsubscribe", request, [LEGACY => SERVER];
    /// Lists prompts.
    ListPrompts = "prompts/list", request, [ALL => SERVER];
    /// Fills in a prompt.
    GetPrompt = "prompts/get", request, [ALL => SERVER];
    /// Completes an argument.
    Complete = "completion/complete", request, [ALL => SERVER];
    /// Sets a session's log level.
    SetLevel = "logging/setLevel", request, [LEGACY => SERVER];
    /// Opens a stream of change notices.
    Listen = "subscriptions/listen", request, [MODERN => SERVER];
    /// Asks the client for a model's answer; in the modern era only inside a result.
    CreateMessage = "sampling/createMessage", request, [LEGACY => CLIENT];
    /// Asks the client for its roots; in the modern era only inside a result.
    ListRoots = "roots/list", request, [LEGACY => CLIENT];
    /// Asks the user for input; in the modern era only inside a result.
    Elicit = "elicitation/create", request, [R25_06 | R25_11 => CLIENT];
    /// The handshake is over.
    Initialized = "notifications/initialized", notification, [LEGACY => SERVER];
    /// A request is no longer wanted.
    Cancelled = "notifications/cancelled", notification, [ALL => BOTH];
    /// A request is getting on.
    Progress = "notifications/progress", notification, [LEGACY => BOTH, MODERN => CLIENT];
    /// A log message.
    Log = "notifications/message", notification, [ALL => CLIENT];
    /// The list of tools changed.
    ToolListChanged = "notifications/tools/list_changed", notification, [ALL => CLIENT];
    /// The list of prompts changed.
    PromptListChanged = "notifications/prompts/list_changed", notification, [ALL => CLIENT];
    /// The list of resources changed.
    ResourceListChanged = "notifications/resources/list_changed", notification, [ALL => CLIENT];
    /// A resource changed.
    ResourceUpdated = "notifications/resources/updated", notification, [ALL => CLIENT];
    /// The client's roots changed.
    RootsListChanged = "notifications/roots/list_changed", notification, [LEGACY => SERVER];
    /// A stream of change notices is open.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged", notification, [MODERN => CLIENT];
    /// The user finished at a URL.
    ElicitationComplete = "notifications/elicitation/complete", notification, [R25_11 => CLIENT];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spelling_and_parsing_agree() {
        for &method in Method::ALL {
            assert_eq!(Method::parse(method.as_str()), Some(method));
            assert_eq!(
                method.is_notification(),
                method.as_str().starts_with("notifications/")
            );
        }
        assert_eq!(Method::parse("tools/Call"), None);
    }

    #[test]
    fn what_a_revision_lacks_reaches_nobody() {
        let modern = Revision::NEWEST;
        for gone in [
            Method::Initialize,
            Method::Ping,
            Method::SetLevel,
            Method::Subscribe,
        ] {
            assert!(!gone.reaches(Party::Server, modern), "{gone:?}");
        }
        assert!(!Method::Elicit.reaches(Party::Client, Revision::V2025_03_26));
        assert!(Method::Elicit.reaches(Party::Client, Revision::V2025_06_18));
        assert!(!Method::CallTool.reaches(Party::Client, Revision::V2025_06_18));
    }
}
