//! The methods: each a type that ties its name, parameters and result together.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::role::{Client, Participant, Server};
use crate::{
    CallToolRequestParams, CallToolResult, CancelTaskRequestParams, CancelledNotificationParams,
    CompleteRequestParams, CompleteResult, CreateMessageRequestParams, CreateMessageResult,
    DetailedTask, DiscoverResult, ElicitRequestParams, ElicitResult,
    ElicitationCompleteNotificationParams, EmptyResult, GetPromptRequestParams, GetPromptResult,
    GetTaskRequestParams, InitializeRequestParams, InitializeResult, InputRequiredResult,
    LegacyTask, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListRootsResult, ListTasksResult, ListToolsResult, LoggingMessageNotificationParams,
    NotificationParams, PaginatedRequestParams, ProgressNotificationParams, RawObject,
    ReadResourceRequestParams, ReadResourceResult, RequestParams,
    ResourceUpdatedNotificationParams, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, TASKS_EXTENSION, TaskResultRequestParams, UnsubscribeRequestParams,
    UpdateTaskRequestParams,
};

/// A method that is answered.
pub trait Request: 'static {
    /// The name on the wire.
    const METHOD: &'static str;
    /// The parameters.
    type Params: Serialize + DeserializeOwned + Send + 'static;
    /// The result, once it is complete.
    type Result: Serialize + DeserializeOwned + Send + 'static;
}

/// A method that is not answered.
pub trait Notification: 'static {
    /// The name on the wire.
    const METHOD: &'static str;
    /// The parameters.
    type Params: Serialize + DeserializeOwned + Send + 'static;
}

/// A request that the side `R` can be sent, in one revision at least.
pub trait ReceivedBy<R: Participant>: Request {}

/// A request of an extension.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
pub trait ExtensionRequest: Request {
    /// The id of the extension.
    const EXTENSION: &'static str;
    /// The member of the parameters, a string, that the HTTP header `Mcp-Name` mirrors. Without one the
    /// request has no such header.
    ///
    /// Specification: basic/transports/streamable-http, "Standard Request Headers" (2026-07-28).
    const MIRRORED_PARAM: Option<&'static str> = None;
    /// True if a client may send the request again after a lost connection, when the server may have
    /// acted on it already.
    const IS_SAFE_TO_RESEND: bool = false;
}

/// A notification of an extension.
///
/// Specification: basic/versioning, "Extension Negotiation" (2026-07-28).
pub trait ExtensionNotification: Notification {
    /// The id of the extension.
    const EXTENSION: &'static str;
}

/// The outcome of a request that did not fail.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// The result.
    Complete(T),
    /// Questions that have to be answered before the request is sent again.
    InputRequired(InputRequiredResult),
}

impl<T> Outcome<T> {
    /// Applies a function to the result, and leaves questions as they are.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Complete(result) => Outcome::Complete(change(result)),
            Self::InputRequired(input) => Outcome::InputRequired(input),
        }
    }
}

impl<T> From<InputRequiredResult> for Outcome<T> {
    fn from(input: InputRequiredResult) -> Self {
        Self::InputRequired(input)
    }
}

macro_rules! requests {
    ($( $(#[$doc:meta])* $Name:ident = $method:literal: $Params:ty => $Result:ty, to $($Role:ident)+; )+) => {
        /// The names of all requests of the core protocol.
        pub const REQUESTS: &[&str] = &[$($method),+];

        $(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $Name;

        impl Request for $Name {
            const METHOD: &'static str = $method;
            type Params = $Params;
            type Result = $Result;
        }

        $( impl ReceivedBy<$Role> for $Name {} )+
        )+
    };
}

requests! {
    /// opens a legacy session.
    Initialize = "initialize": InitializeRequestParams => InitializeResult, to Server;
    /// asks whether the other side is there.
    Ping = "ping": RequestParams => EmptyResult, to Client Server;
    /// asks what the server is and can do.
    Discover = "server/discover": RequestParams => DiscoverResult, to Server;
    /// lists tools.
    ListTools = "tools/list": PaginatedRequestParams => ListToolsResult, to Server;
    /// calls a tool.
    CallTool = "tools/call": CallToolRequestParams => CallToolResult, to Server;
    /// lists resources.
    ListResources = "resources/list": PaginatedRequestParams => ListResourcesResult, to Server;
    /// lists resource templates.
    ListResourceTemplates = "resources/templates/list":
        PaginatedRequestParams => ListResourceTemplatesResult, to Server;
    /// reads a resource.
    ReadResource = "resources/read": ReadResourceRequestParams => ReadResourceResult, to Server;
    /// asks for notifications about one resource.
    Subscribe = "resources/subscribe": SubscribeRequestParams => EmptyResult, to Server;
    /// takes that back.
    Unsubscribe = "resources/unsubscribe": UnsubscribeRequestParams => EmptyResult, to Server;
    /// opens a stream of notifications.
    SubscriptionsListen = "subscriptions/listen": SubscriptionsListenRequestParams => SubscriptionsListenResult, to Server;
    /// lists prompts.
    ListPrompts = "prompts/list": PaginatedRequestParams => ListPromptsResult, to Server;
    /// gets a prompt's messages.
    GetPrompt = "prompts/get": GetPromptRequestParams => GetPromptResult, to Server;
    /// asks for suggestions for an argument.
    Complete = "completion/complete": CompleteRequestParams => CompleteResult, to Server;
    /// says which log messages are wanted.
    SetLevel = "logging/setLevel": SetLevelRequestParams => EmptyResult, to Server;
    /// asks the client's model.
    CreateMessage = "sampling/createMessage":
        CreateMessageRequestParams => CreateMessageResult, to Client;
    /// asks the user.
    Elicit = "elicitation/create": ElicitRequestParams => ElicitResult, to Client;
    /// asks for the directories that are open to the server.
    ListRoots = "roots/list": RequestParams => ListRootsResult, to Client;
    /// asks for the state of a task; only in 2025-11-25. Later revisions have [`GetTask`].
    LegacyGetTask = "tasks/get": GetTaskRequestParams => LegacyTask, to Client Server;
    /// waits for the result of a task: that of the request that the task runs.
    TaskResult = "tasks/result": TaskResultRequestParams => RawObject, to Client Server;
    /// lists tasks.
    ListTasks = "tasks/list": PaginatedRequestParams => ListTasksResult, to Client Server;
    /// cancels a task; only in 2025-11-25. Later revisions have [`CancelTask`].
    LegacyCancelTask = "tasks/cancel": CancelTaskRequestParams => LegacyTask, to Client Server;
}

macro_rules! task_requests {
    ($( $(#[$doc:meta])* $Name:ident = $method:literal: $Params:ty => $Result:ty; )+) => { $(
        #[doc = concat!("`", $method, "` of the extension for tasks: ")]
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $Name;

        impl Request for $Name {
            const METHOD: &'static str = $method;
            type Params = $Params;
            type Result = $Result;
        }

        impl ExtensionRequest for $Name {
            const EXTENSION: &'static str = TASKS_EXTENSION;
            const MIRRORED_PARAM: Option<&'static str> = Some("taskId");
            const IS_SAFE_TO_RESEND: bool = true;
        }
    )+ };
}

task_requests! {
    /// asks for the state of a task.
    GetTask = "tasks/get": GetTaskRequestParams => DetailedTask;
    /// answers questions of a task.
    UpdateTask = "tasks/update": UpdateTaskRequestParams => EmptyResult;
    /// cancels a task.
    CancelTask = "tasks/cancel": CancelTaskRequestParams => EmptyResult;
}

/// `notifications/tasks` of the extension for tasks: the state of a task changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskNotification;

impl Notification for TaskNotification {
    const METHOD: &'static str = "notifications/tasks";
    type Params = DetailedTask;
}

impl ExtensionNotification for TaskNotification {
    const EXTENSION: &'static str = TASKS_EXTENSION;
}

macro_rules! notifications {
    ($( $(#[$doc:meta])* $Name:ident = $method:literal: $Params:ty; )+) => {
        /// The names of all notifications of the core protocol.
        pub const NOTIFICATIONS: &[&str] = &[$($method),+];

        $(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $Name;

        impl Notification for $Name {
            const METHOD: &'static str = $method;
            type Params = $Params;
        }
        )+
    };
}

notifications! {
    /// the handshake is done.
    Initialized = "notifications/initialized": NotificationParams;
    /// a request is taken back.
    Cancelled = "notifications/cancelled": CancelledNotificationParams;
    /// a request has come further.
    Progress = "notifications/progress": ProgressNotificationParams;
    /// a log message.
    LoggingMessage = "notifications/message": LoggingMessageNotificationParams;
    /// the list of tools changed.
    ToolListChanged = "notifications/tools/list_changed": NotificationParams;
    /// the list of prompts changed.
    PromptListChanged = "notifications/prompts/list_changed": NotificationParams;
    /// the list of resources changed.
    ResourceListChanged = "notifications/resources/list_changed": NotificationParams;
    /// a resource changed.
    ResourceUpdated = "notifications/resources/updated": ResourceUpdatedNotificationParams;
    /// the list of roots changed.
    RootsListChanged = "notifications/roots/list_changed": NotificationParams;
    /// a stream of notifications is open.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged":
        SubscriptionsAcknowledgedNotificationParams;
    /// what a URL was for is done.
    ElicitationComplete = "notifications/elicitation/complete":
        ElicitationCompleteNotificationParams;
    /// the state of a task changed; only in 2025-11-25. Later revisions have [`TaskNotification`].
    TaskStatusNotification = "notifications/tasks/status": LegacyTask;
}
