//! The vocabulary of the Model Context Protocol, without knowing a revision, a transport or a runtime.
//!
//! Every message and data type of all revisions stands here once, in a form that has the fields of
//! them all: one file per page of the specification. Which fields a revision has, what surrounds a
//! message on the wire and which number an error gets are decided elsewhere.
//!
//! - **Nothing is lost.** Members that a type has no name for stay in its `extra`, as raw JSON and in
//!   their order; numbers keep their text; unions keep what they do not recognise.
//! - **Nothing is guessed.** A union is told apart by the member that names it; a method ties its
//!   parameters and result together ([`Request`]), so that an answer is decoded by what was asked.
//! - **Construction is plain.** `Type::new(required, …)` and a setter for each optional field:
//!
//! ```
//! use turnbuckle_types::{Schema, Tool, ToolAnnotations};
//!
//! let tool = Tool::new("clock", Schema::object())
//!     .title("Clock")
//!     .annotations(ToolAnnotations::new().read_only_hint(true));
//! assert_eq!(
//!     serde_json::to_string(&tool)?,
//!     r#"{"name":"clock","inputSchema":{"type":"object"},"title":"Clock","annotations":{"readOnlyHint":true}}"#
//! );
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! Decoding takes time and space in proportion to its input, whose size the transport bounds; nesting
//! is bounded by serde_json's limit wherever a value is looked into.

mod annotations;
mod cache;
mod cancellation;
mod capability;
mod completion;
mod content;
mod discovery;
mod elicitation;
mod error;
mod handshake;
mod icon;
mod id;
mod input;
mod json;
mod logging;
mod map;
mod number;
mod object;
mod pagination;
mod principal;
mod progress;
mod prompt;
mod resource;
mod role;
mod roots;
mod sampling;
mod schema;
mod subscription;
mod tagged;
mod tool;
mod without;
mod words;

pub mod meta;
pub mod method;

pub use annotations::Annotations;
pub use cache::CacheScope;
pub use cancellation::CancelledParams;
pub use capability::{
    ClientCapabilities, ElicitationCapability, ListCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, Settings,
};
pub use completion::{
    CompleteParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    PromptReference, Reference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, MessageRole, ResourceLink,
    TextContent,
};
pub use discovery::DiscoverResult;
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, ElicitationSchema, FieldValue, FormMode, InvalidContent,
    LegacyEnumSchema, MultiSelectItems, MultiSelectSchema, NumberKind, NumberSchema,
    PrimitiveSchema, Problem, SingleSelectSchema, StringFormat, StringSchema, TitledChoice,
};
pub use error::{
    Error, ErrorKind, ErrorObject, MissingCapabilityData, ResourceNotFoundData,
    UnsupportedVersionData, UrlElicitationData,
};
pub use handshake::{Implementation, InitializeParams, InitializeResult};
pub use icon::{Icon, IconTheme};
pub use id::{BigId, ProgressToken, RequestId};
pub use input::{InputRequest, InputRequests, InputRequired, InputResponses};
pub use json::{Json, RawJson, RawObject, undecoded};
pub use logging::{LogLevel, LogParams, SetLevelParams};
pub use map::{Extra, Map};
pub use meta::{Meta, MetaKeyError};
pub use method::{Notification, Outcome, Request};
pub use number::{NotFinite, Number};
pub use pagination::{EmptyResult, NotificationParams, PaginatedParams, RequestParams};
pub use principal::{Principal, ScopeNeeded};
pub use progress::ProgressParams;
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate, ResourceUpdatedParams,
    SubscribeParams, TextResourceContents, UnsubscribeParams,
};
pub use role::{Client, ReceivedBy, Role, Server};
pub use roots::{ListRootsResult, Root, RootError};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, PairingFault, SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode,
    ToolResultContent, ToolUseContent, ToolUsePairingError, check_tool_use_pairing,
};
pub use schema::{NotAnObject, Schema};
pub use subscription::{
    ListenParams, ListenResult, SubscriptionFilter, SubscriptionsAcknowledgedParams,
};
pub use tool::{CallToolParams, CallToolResult, ListToolsResult, Tool, ToolAnnotations};
