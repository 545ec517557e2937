//! The methods: each a type that ties its name, parameters and result together.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::role::{Client, ReceivedBy, Server};
use crate::{
    CallToolParams, CallToolResult, CancelledParams, CompleteParams, CompleteResult,
    CreateMessageParams, CreateMessageResult, DiscoverResult, ElicitParams, ElicitResult,
    ElicitationCompleteParams, EmptyResult, GetPromptParams, GetPromptResult, InitializeParams,
    InitializeResult, InputRequired, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListRootsResult, ListToolsResult, ListenParams, ListenResult, LogParams,
    NotificationParams, PaginatedParams, ProgressParams, ReadResourceParams, ReadResourceResult,
    RequestParams, ResourceUpdatedParams, SetLevelParams, SubscribeParams,
    SubscriptionsAcknowledgedParams, UnsubscribeParams,
};

/// A method that is answered.
pub trait Request: 'static {
    /// The name on the wire.
    const METHOD: &'static str;
    /// What is sent.
    type Params: Serialize + DeserializeOwned + Send + 'static;
    /// What is answered, once it is complete.
    type Result: Serialize + DeserializeOwned + Send + 'static;
}

/// A method that is not answered.
pub trait Notification: 'static {
    /// The name on the wire.
    const METHOD: &'static str;
    /// What is sent.
    type Params: Serialize + DeserializeOwned + Send + 'static;
}

/// How a request came out when it did not fail.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome<T> {
    /// Answered.
    Complete(T),
    /// To be sent again with answers to these questions.
    NeedsInput(InputRequired),
}

impl<T> Outcome<T> {
    /// Changes the answer and leaves questions as they are.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Complete(result) => Outcome::Complete(change(result)),
            Self::NeedsInput(input) => Outcome::NeedsInput(input),
        }
    }
}

impl<T> From<InputRequired> for Outcome<T> {
    fn from(input: InputRequired) -> Self {
        Self::NeedsInput(input)
    }
}

macro_rules! requests {
    ($( $(#[$doc:meta])* $Name:ident = $method:literal: $Params:ty => $Result:ty, to $($Role:ident)+; )+) => { $(
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
    )+ };
}

requests! {
    /// opens a legacy session.
    Initialize = "initialize": InitializeParams => InitializeResult, to Server;
    /// asks whether the other side is there.
    Ping = "ping": RequestParams => EmptyResult, to Client Server;
    /// asks what the server is and can do.
    Discover = "server/discover": RequestParams => DiscoverResult, to Server;
    /// lists tools.
    ListTools = "tools/list": PaginatedParams => ListToolsResult, to Server;
    /// calls a tool.
    CallTool = "tools/call": CallToolParams => CallToolResult, to Server;
    /// lists resources.
    ListResources = "resources/list": PaginatedParams => ListResourcesResult, to Server;
    /// lists resource templates.
    ListResourceTemplates = "resources/templates/list":
        PaginatedParams => ListResourceTemplatesResult, to Server;
    /// reads a resource.
    ReadResource = "resources/read": ReadResourceParams => ReadResourceResult, to Server;
    /// asks for notifications about one resource.
    Subscribe = "resources/subscribe": SubscribeParams => EmptyResult, to Server;
    /// takes that back.
    Unsubscribe = "resources/unsubscribe": UnsubscribeParams => EmptyResult, to Server;
    /// opens a stream of notifications.
    Listen = "subscriptions/listen": ListenParams => ListenResult, to Server;
    /// lists prompts.
    ListPrompts = "prompts/list": PaginatedParams => ListPromptsResult, to Server;
    /// gets a prompt's messages.
    GetPrompt = "prompts/get": GetPromptParams => GetPromptResult, to Server;
    /// asks for suggestions for an argument.
    Complete = "completion/complete": CompleteParams => CompleteResult, to Server;
    /// says which log messages are wanted.
    SetLevel = "logging/setLevel": SetLevelParams => EmptyResult, to Server;
    /// asks the client's model.
    CreateMessage = "sampling/createMessage":
        CreateMessageParams => CreateMessageResult, to Client;
    /// asks the user.
    Elicit = "elicitation/create": ElicitParams => ElicitResult, to Client;
    /// asks for the directories that are open to the server.
    ListRoots = "roots/list": RequestParams => ListRootsResult, to Client;
}

macro_rules! notifications {
    ($( $(#[$doc:meta])* $Name:ident = $method:literal: $Params:ty; )+) => { $(
        #[doc = concat!("`", $method, "`: ")]
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $Name;

        impl Notification for $Name {
            const METHOD: &'static str = $method;
            type Params = $Params;
        }
    )+ };
}

notifications! {
    /// the handshake is done.
    Initialized = "notifications/initialized": NotificationParams;
    /// a request is taken back.
    Cancelled = "notifications/cancelled": CancelledParams;
    /// a request has come further.
    Progress = "notifications/progress": ProgressParams;
    /// a log message.
    Log = "notifications/message": LogParams;
    /// the list of tools changed.
    ToolListChanged = "notifications/tools/list_changed": NotificationParams;
    /// the list of prompts changed.
    PromptListChanged = "notifications/prompts/list_changed": NotificationParams;
    /// the list of resources changed.
    ResourceListChanged = "notifications/resources/list_changed": NotificationParams;
    /// a resource changed.
    ResourceUpdated = "notifications/resources/updated": ResourceUpdatedParams;
    /// the list of roots changed.
    RootsListChanged = "notifications/roots/list_changed": NotificationParams;
    /// a stream of notifications is open.
    SubscriptionsAcknowledged = "notifications/subscriptions/acknowledged":
        SubscriptionsAcknowledgedParams;
    /// what a URL was for is done.
    ElicitationComplete = "notifications/elicitation/complete":
        ElicitationCompleteParams;
}
