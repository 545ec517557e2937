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
#![cfg_attr(docsrs, feature(doc_cfg))]

mod annotations;
mod audit;
mod authorization_failure;
mod base64_data;
mod cache;
mod cancellation;
mod capability;
mod client_address;
mod completion;
mod content;
mod discovery;
mod elicitation;
mod error;
mod file;
mod handshake;
mod icon;
mod id;
mod input;
mod input_responses;
mod json;
#[cfg(feature = "keys")]
mod key_ring;
mod legacy_task;
mod logging;
mod map;
mod media;
mod meta_key;
mod number;
mod object;
mod pagination;
mod peer_address;
mod principal;
mod progress;
mod prompt;
mod resource;
mod role;
mod roots;
mod sampling;
#[cfg(feature = "describe")]
mod scalar_shapes;
mod schema;
mod settings;
mod subscription;
mod tagged;
mod task;
mod tool;
mod uri_template;
mod user_wait;
mod without;
mod words;

pub mod base;
#[cfg(feature = "describe")]
// Hidden, since only `turnbuckle-wire` makes schemas of the types.
#[doc(hidden)]
pub mod describe;
pub mod meta;
pub mod method;

pub use annotations::Annotations;
pub use audit::{Audit, AuditOutcome, AuditRecord, UpstreamFailure};
pub use authorization_failure::AuthorizationFailure;
pub use base64_data::NotBase64;
pub use cache::CacheScope;
pub use cancellation::CancelledNotificationParams;
pub use capability::{
    ClientCapabilities, ElicitationCapability, ListCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, Settings,
};
pub use client_address::ClientAddress;
pub use completion::{
    CompleteRequestParams, CompleteResult, Completion, CompletionArgument, CompletionContext,
    CompletionReference, PromptReference, ResourceTemplateReference,
};
pub use content::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceLink, Role, TextContent,
};
pub use discovery::DiscoverResult;
pub use elicitation::{
    BooleanSchema, ElicitAction, ElicitRequestFormParams, ElicitRequestParams,
    ElicitRequestUrlParams, ElicitResult, ElicitationCompleteNotificationParams, ElicitationSchema,
    FieldProblem, FieldValue, FormMode, InvalidContent, LegacyTitledEnumSchema,
    MultiSelectEnumSchema, MultiSelectItems, NumberKind, NumberSchema, PrimitiveSchemaDefinition,
    SingleSelectEnumSchema, StringFormat, StringSchema, TitledChoice,
};
pub use error::{
    ErrorKind, ErrorObject, MissingRequiredClientCapabilityData, ProtocolError,
    ResourceNotFoundData, UnsupportedProtocolVersionData, UrlElicitationRequiredData,
};
pub use file::File;
pub use handshake::{Implementation, InitializeRequestParams, InitializeResult};
pub use icon::{Icon, IconTheme};
pub use id::{BigId, ProgressToken, RequestId};
pub use input::{InputRequest, InputRequests, InputRequiredResult};
pub use input_responses::InputResponses;
pub use json::{Json, RawJson, RawObject, describe_decode_error};
#[cfg(feature = "keys")]
#[cfg_attr(docsrs, doc(cfg(feature = "keys")))]
pub use key_ring::{DerivedKeys, KeyError, KeyLabel, KeyRing, SecretKey};
pub use legacy_task::{
    CreateLegacyTaskResult, LegacyTask, ListTasksResult, RelatedTask, TaskElicitationCapability,
    TaskMetadata, TaskRequestsCapability, TaskResultRequestParams, TaskSamplingCapability,
    TaskToolsCapability, TasksCapability,
};
pub use logging::{LoggingLevel, LoggingMessageNotificationParams, SetLevelRequestParams};
pub use map::{Extra, Map};
pub use media::{Audio, Image, MediaError};
pub use meta::Meta;
pub use meta_key::MetaKeyError;
pub use method::{
    ExtensionNotification, ExtensionRequest, Notification, Outcome, ReceivedBy, Request,
};
pub use number::{NotFinite, Number};
pub use pagination::{EmptyResult, NotificationParams, PaginatedRequestParams, RequestParams};
pub use peer_address::PeerAddress;
pub use principal::{Principal, RequiredScopes};
pub use progress::ProgressNotificationParams;
pub use prompt::{
    GetPromptRequestParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage,
};
pub use resource::{
    BlobResourceContents, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceRequestParams, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedNotificationParams, SubscribeRequestParams, TextResourceContents,
    UnsubscribeRequestParams,
};
pub use role::{Client, Participant, Server};
pub use roots::{ListRootsResult, Root, RootError};
pub use sampling::{
    CreateMessageRequestParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    OneOrMany, PairingFault, SamplingMessage, SamplingMessageContentBlock, ToolChoice,
    ToolChoiceMode, ToolResultContent, ToolUseContent, ToolUsePairingError, check_tool_use_pairing,
};
pub use schema::{NotAnObject, Schema};
pub use subscription::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams, SubscriptionsListenResult,
};
pub use task::{
    CancelTaskRequestParams, CreateTaskResult, DetailedTask, GetTaskRequestParams, TASKS_EXTENSION,
    Task, TaskStatus, UpdateTaskRequestParams,
};
pub use tool::{
    CallToolRequestParams, CallToolResult, ListToolsResult, StructuredContentError,
    TaskSupportLevel, Tool, ToolAnnotations, ToolExecution,
};
pub use uri_template::{DecodedUri, TemplateError, TemplateValue, TemplateVariables, UriTemplate};
pub use user_wait::{UserWait, UserWaitGuard};
