//! The table of methods: one row per method of the core protocol, with every fact about it. Its name
//! on the wire comes from its type in [`turnbuckle_types::method`].
//!
//! A revision that lacks a method has no bit in the method's row, so that both directions answer
//! it with "method not found". Code that depends on a fact of a method reads the fact here; it does
//! not compare method names.

#[cfg(feature = "definitions")]
use turnbuckle_types::describe::{Describe, Shape};
use turnbuckle_types::method;

use super::Revision;
use super::capability::Capability;

/// One end of a connection, as the receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Party {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// A member of a request's `params` that the `Mcp-Name` header mirrors.
///
/// Specification: basic/transports/streamable-http, "Standard Request Headers" (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MirroredParam {
    /// `name`: of a tool or prompt.
    Name,
    /// `uri`: of a resource.
    Uri,
}

/// The part of a method in the life of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MethodRole {
    /// Opens a legacy session. It names no revision but negotiates one, and is never cancelled.
    Handshake,
    /// Asks a modern server about itself before any other request, and is never cancelled.
    Discovery,
    /// Asks whether the peer is there. It is answered at any time, even before a handshake is over.
    Liveness,
    /// Opens a stream that lasts until one side ends it.
    Subscription,
    /// Has no part in it.
    Ordinary,
}

/// The rate of an owner that a request counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestRate {
    /// The rate of calls.
    Calls,
    /// The rate of completions, which users cause while they type.
    Completions,
    /// None: the request shows that the peer is there, or ends something.
    Exempt,
}

super::facts! {
    /// The facts of one method, with those of a request whose row says nothing else.
    #[derive(Debug, Clone, Copy)]
    struct MethodFacts, REQUEST {
        /// The name on the wire.
        name: &'static str = "",
        /// `true` for a notification: it has no id and no answer.
        is_notification: bool = false,
        /// The part that the method has in the life of a connection.
        role: MethodRole = MethodRole::Ordinary,
        /// The rate that bounds the requests of one owner.
        rate: RequestRate = RequestRate::Calls,
        /// The revisions in which a server receives it, as bits.
        to_server: u8 = 0,
        /// The revisions in which a client receives it, as bits.
        to_client: u8 = 0,
        /// The capability that the receiver must have declared.
        capability: Option<Capability> = None,
        /// `true` if the request may be sent again when its outcome is unknown.
        is_safe_to_resend: bool = true,
        /// `true` if the result states for how long it may be cached.
        is_cacheable: bool = false,
        /// The notification that makes a kept result outdated.
        invalidated_by: Option<Method> = None,
        /// The member of `params` that the `Mcp-Name` header mirrors.
        mirrored_param: Option<MirroredParam> = None,
        /// `true` if headers may mirror single arguments, as the tool's input schema asks for.
        mirrors_arguments: bool = false,
        /// `true` if the answer may be `input_required`.
        can_require_input: bool = false,
        /// `true` if a result may report the failure of what was called.
        can_report_errors: bool = false,
        /// `true` if the request usually runs long, so that a client asks for progress.
        reports_progress: bool = false,
        /// `true` if the answer comes when a task ends, so that no timeout of its own holds.
        waits_for_task: bool = false,
    }
}

/// The facts of a notification unless its row says otherwise.
const NOTIFICATION: MethodFacts = MethodFacts {
    is_notification: true,
    ..REQUEST
};

const R24: u8 = Revision::V2024_11_05.bit();
const R25_03: u8 = Revision::V2025_03_26.bit();
const R25_06: u8 = Revision::V2025_06_18.bit();
const R25_11: u8 = Revision::V2025_11_25.bit();
const MODERN: u8 = Revision::V2026_07_28.bit();
const LEGACY: u8 = R24 | R25_03 | R25_06 | R25_11;
const ALL: u8 = LEGACY | MODERN;

macro_rules! methods {
    (@defaults Request) => { REQUEST };
    (@defaults Notification) => { NOTIFICATION };
    (@result Request $variant:ident) => {
        Some(<<method::$variant as method::Request>::Result as Describe>::shape())
    };
    (@result Notification $variant:ident) => { None };
    ($(
        $(#[$doc:meta])*
        $variant:ident: $Kind:ident { $($fact:ident: $value:expr),* $(,)? }
    )*) => {
        /// A method of the core protocol.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Method {
            $($(#[$doc])* $variant,)*
        }

        impl Method {
            /// Every method of the core protocol.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn facts(self) -> &'static MethodFacts {
                match self {
                    $(Self::$variant => &const {
                        MethodFacts {
                            name: <method::$variant as method::$Kind>::METHOD,
                            $($fact: $value,)*
                            ..methods!(@defaults $Kind)
                        }
                    },)*
                }
            }

            /// Returns the core method with this name on the wire.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                match text {
                    $(<method::$variant as method::$Kind>::METHOD => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        #[cfg(feature = "definitions")]
        impl Method {
            /// Returns the form of the parameters.
            pub(crate) fn params_shape(self) -> Shape {
                match self {
                    $(Self::$variant => {
                        <<method::$variant as method::$Kind>::Params as Describe>::shape()
                    })*
                }
            }

            /// Returns the form of the result of a request.
            pub(crate) fn result_shape(self) -> Option<Shape> {
                match self {
                    $(Self::$variant => methods!(@result $Kind $variant),)*
                }
            }
        }
    };
}

methods! {
    /// Opens a legacy session.
    Initialize: Request {
        role: MethodRole::Handshake,
        rate: RequestRate::Exempt,
        to_server: LEGACY,
        is_safe_to_resend: false,
    }
    /// Asks whether the peer is there.
    Ping: Request {
        role: MethodRole::Liveness,
        rate: RequestRate::Exempt,
        to_server: LEGACY,
        to_client: LEGACY,
    }
    /// Asks a modern server what it is and can do.
    Discover: Request {
        role: MethodRole::Discovery,
        to_server: MODERN,
        is_cacheable: true,
    }
    /// Lists tools.
    ListTools: Request {
        to_server: ALL,
        capability: Some(Capability::Tools),
        is_cacheable: true,
        invalidated_by: Some(Method::ToolListChanged),
    }
    /// Calls a tool.
    CallTool: Request {
        to_server: ALL,
        capability: Some(Capability::Tools),
        is_safe_to_resend: false,
        mirrored_param: Some(MirroredParam::Name),
        mirrors_arguments: true,
        can_require_input: true,
        can_report_errors: true,
        reports_progress: true,
    }
    /// Lists resources.
    ListResources: Request {
        to_server: ALL,
        capability: Some(Capability::Resources),
        is_cacheable: true,
        invalidated_by: Some(Method::ResourceListChanged),
    }
    /// Lists resource templates.
    ListResourceTemplates: Request {
        to_server: ALL,
        capability: Some(Capability::Resources),
        is_cacheable: true,
        invalidated_by: Some(Method::ResourceListChanged),
    }
    /// Reads a resource.
    ReadResource: Request {
        to_server: ALL,
        capability: Some(Capability::Resources),
        is_cacheable: true,
        invalidated_by: Some(Method::ResourceUpdated),
        mirrored_param: Some(MirroredParam::Uri),
        can_require_input: true,
    }
    /// Subscribes to updates of a resource.
    Subscribe: Request {
        to_server: LEGACY,
        capability: Some(Capability::ResourceSubscriptions),
    }
    /// Ends a subscription to updates of a resource.
    Unsubscribe: Request {
        rate: RequestRate::Exempt,
        to_server: LEGACY,
        capability: Some(Capability::ResourceSubscriptions),
    }
    /// Lists prompts.
    ListPrompts: Request {
        to_server: ALL,
        capability: Some(Capability::Prompts),
        is_cacheable: true,
        invalidated_by: Some(Method::PromptListChanged),
    }
    /// Gets a prompt's messages.
    GetPrompt: Request {
        to_server: ALL,
        capability: Some(Capability::Prompts),
        mirrored_param: Some(MirroredParam::Name),
        can_require_input: true,
    }
    /// Completes an argument.
    Complete: Request {
        rate: RequestRate::Completions,
        to_server: ALL,
        capability: Some(Capability::Completions),
    }
    /// Sets the log level of a session.
    SetLevel: Request {
        to_server: LEGACY,
        capability: Some(Capability::Logging),
    }
    /// Opens a stream of change notifications.
    SubscriptionsListen: Request {
        role: MethodRole::Subscription,
        to_server: MODERN,
    }
    /// Asks the client's model; in the modern era only inside a result.
    CreateMessage: Request {
        to_client: LEGACY,
        capability: Some(Capability::Sampling),
        is_safe_to_resend: false,
    }
    /// Asks the client for its roots; in the modern era only inside a result.
    ListRoots: Request {
        to_client: LEGACY,
        capability: Some(Capability::Roots),
        invalidated_by: Some(Method::RootsListChanged),
    }
    /// Asks the user for input; in the modern era only inside a result.
    Elicit: Request {
        to_client: R25_06 | R25_11,
        capability: Some(Capability::Elicitation),
        is_safe_to_resend: false,
    }
    /// Asks for the state of a task.
    LegacyGetTask: Request {
        to_server: R25_11,
        to_client: R25_11,
        capability: Some(Capability::Tasks),
    }
    /// Waits for the result of a task.
    TaskResult: Request {
        to_server: R25_11,
        to_client: R25_11,
        capability: Some(Capability::Tasks),
        can_report_errors: true,
        waits_for_task: true,
    }
    /// Lists tasks.
    ListTasks: Request {
        to_server: R25_11,
        to_client: R25_11,
        capability: Some(Capability::TaskList),
    }
    /// Cancels a task.
    LegacyCancelTask: Request {
        to_server: R25_11,
        to_client: R25_11,
        capability: Some(Capability::TaskCancel),
    }
    /// Ends the handshake.
    Initialized: Notification { to_server: LEGACY }
    /// Cancels a request.
    Cancelled: Notification { to_server: ALL, to_client: ALL }
    /// Reports the progress of a request.
    Progress: Notification { to_server: LEGACY, to_client: ALL }
    /// Carries a log message.
    LoggingMessage: Notification { to_client: ALL }
    /// Reports that the list of tools changed.
    ToolListChanged: Notification { to_client: ALL }
    /// Reports that the list of prompts changed.
    PromptListChanged: Notification { to_client: ALL }
    /// Reports that the list of resources changed.
    ResourceListChanged: Notification { to_client: ALL }
    /// Reports that a resource changed.
    ResourceUpdated: Notification { to_client: ALL }
    /// Reports that the client's roots changed.
    RootsListChanged: Notification { to_server: LEGACY }
    /// Reports that a stream of change notifications is open.
    SubscriptionsAcknowledged: Notification {
        to_client: MODERN,
    }
    /// Reports that the user finished at a URL.
    ElicitationComplete: Notification { to_client: R25_11 }
    /// Reports that the state of a task changed.
    TaskStatusNotification: Notification { to_server: R25_11, to_client: R25_11 }
}

// A row names its type, so that as many rows as types are one row for each type.
const _: () = assert!(
    Method::ALL.len() == method::REQUESTS.len() + method::NOTIFICATIONS.len(),
    "a method of turnbuckle-types has no row in `methods!`"
);

impl Method {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.facts().name
    }

    /// Returns the role of the method with this name on the wire. Methods that are not of the core
    /// protocol have none.
    #[must_use]
    pub fn role_of(name: &str) -> MethodRole {
        Self::parse(name).map_or(MethodRole::Ordinary, Self::role)
    }

    /// Returns whether `receiver` receives the method in `revision`.
    #[must_use]
    pub const fn is_received_by(self, receiver: Party, revision: Revision) -> bool {
        let revisions = match receiver {
            Party::Client => self.facts().to_client,
            Party::Server => self.facts().to_server,
        };
        revisions & revision.bit() != 0
    }

    /// Returns whether an extension may define a method of the same name: no revision that has
    /// extensions has the method in its core, and it has no part in the life of a connection.
    #[must_use]
    pub fn is_free_for_extensions(self) -> bool {
        let facts = self.facts();
        let is_core = |revision: &Revision| {
            revision.features().extensions
                && (facts.to_server | facts.to_client) & revision.bit() != 0
        };
        facts.role == MethodRole::Ordinary && !Revision::ALL.iter().any(is_core)
    }
}

/// Writes the methods that return one fact each.
macro_rules! fact_getters {
    ($($(#[$doc:meta])* $fact:ident: $Type:ty;)+) => {
        impl Method {
            $(
                $(#[$doc])*
                #[must_use]
                pub const fn $fact(self) -> $Type {
                    self.facts().$fact
                }
            )+
        }
    };
}

fact_getters! {
    /// Returns whether the method is a notification: sent without an id and never answered.
    is_notification: bool;

    /// Returns the part of the method in the life of a connection.
    role: MethodRole;

    /// Returns the rate of an owner that the request counts for.
    rate: RequestRate;

    /// Returns the capability that the receiver of the request must have declared.
    capability: Option<Capability>;

    /// Returns whether the request may be sent again when it is unknown whether the receiver acted
    /// upon it.
    is_safe_to_resend: bool;

    /// Returns whether the result of the request says for how long it may be cached.
    ///
    /// Specification: server/utilities/caching (2026-07-28).
    is_cacheable: bool;

    /// Returns the notification that makes a kept result of the request outdated.
    invalidated_by: Option<Method>;

    /// Returns the member of the request's `params` that the `Mcp-Name` header mirrors.
    mirrored_param: Option<MirroredParam>;

    /// Returns whether headers may mirror single arguments of the request: those that the tool's
    /// input schema marks with `x-mcp-header`.
    mirrors_arguments: bool;

    /// Returns whether the answer may ask the client for input first (`input_required`).
    ///
    /// Specification: basic/patterns/mrtr, "Supported Requests" (2026-07-28).
    can_require_input: bool;

    /// Returns whether a result may report the failure of what was called (`isError`).
    can_report_errors: bool;

    /// Returns whether the request usually runs long, so that a client asks for progress, which
    /// keeps the request alive.
    reports_progress: bool;

    /// Returns whether the answer of the request comes when a task ends, so that neither the timeout of
    /// handlers nor the default timeout of requests holds for it.
    ///
    /// Specification: basic/utilities/tasks, "Result Retrieval" (2025-11-25).
    waits_for_task: bool;
}

#[cfg(test)]
mod tests;
