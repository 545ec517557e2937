//! The types of the specification: every message and data type of all revisions, in one form.
//!
//! See the crate [`turnbuckle_types`].

pub use turnbuckle_types::{
    Annotations, Audio, AudioContent, Audit, AuditOutcome, AuditRecord, AuthorizationFailure,
    BigId, BlobResourceContents, BooleanSchema, CacheScope, CallToolRequestParams, CallToolResult,
    CancelledNotificationParams, Client, ClientCapabilities, CompleteRequestParams, CompleteResult,
    Completion, CompletionArgument, CompletionContext, CompletionReference, ContentBlock,
    CreateMessageRequestParams, CreateMessageResult, DiscoverResult, ElicitAction,
    ElicitRequestFormParams, ElicitRequestParams, ElicitRequestUrlParams, ElicitResult,
    ElicitationCapability, ElicitationCompleteNotificationParams, ElicitationSchema,
    EmbeddedResource, EmptyResult, ErrorKind, ErrorObject, ExtensionNotification, ExtensionRequest,
    Extra, FieldProblem, FieldValue, FormMode, GetPromptRequestParams, GetPromptResult, Icon,
    IconTheme, Image, ImageContent, Implementation, IncludeContext, InitializeRequestParams,
    InitializeResult, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    InvalidContent, Json, LegacyTitledEnumSchema, ListCapability, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListToolsResult,
    LoggingLevel, LoggingMessageNotificationParams, Map, MediaError, Meta, MetaKeyError,
    MissingRequiredClientCapabilityData, ModelHint, ModelPreferences, MultiSelectEnumSchema,
    MultiSelectItems, NotAnObject, NotBase64, NotFinite, Notification, NotificationParams, Number,
    NumberKind, NumberSchema, OneOrMany, Outcome, PaginatedRequestParams, PairingFault,
    Participant, PeerAddress, PrimitiveSchemaDefinition, Principal, ProgressNotificationParams,
    ProgressToken, Prompt, PromptArgument, PromptMessage, PromptReference, ProtocolError, RawJson,
    RawObject, ReadResourceRequestParams, ReadResourceResult, ReceivedBy, Request, RequestId,
    RequestParams, RequiredScopes, Resource, ResourceContents, ResourceLink, ResourceNotFoundData,
    ResourceTemplate, ResourceTemplateReference, ResourceUpdatedNotificationParams,
    ResourcesCapability, Role, Root, RootError, RootsCapability, SamplingCapability,
    SamplingMessage, SamplingMessageContentBlock, Schema, Server, ServerCapabilities,
    SetLevelRequestParams, Settings, SingleSelectEnumSchema, StringFormat, StringSchema,
    StructuredContentError, SubscribeRequestParams, SubscriptionFilter,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, TextContent, TextResourceContents, TitledChoice, Tool,
    ToolAnnotations, ToolChoice, ToolChoiceMode, ToolResultContent, ToolUseContent,
    ToolUsePairingError, UnsubscribeRequestParams, UnsupportedProtocolVersionData,
    UrlElicitationRequiredData, UserWait, UserWaitGuard, check_tool_use_pairing,
    describe_decode_error,
};
pub use turnbuckle_types::{meta, method};
