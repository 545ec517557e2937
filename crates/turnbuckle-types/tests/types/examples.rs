//! Every official example decodes as the type its directory is named after, and encodes back to the
//! same JSON.

use std::collections::BTreeSet;
use std::fs;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::method::{
    CallTool, Cancelled, Complete, CreateMessage, Discover, Elicit, GetPrompt, ListPrompts,
    ListResourceTemplates, ListResources, ListRoots, ListTools, LoggingMessage, Progress,
    PromptListChanged, ReadResource, ResourceListChanged, ResourceUpdated,
    SubscriptionsAcknowledged, SubscriptionsListen, ToolListChanged,
};
use turnbuckle_types::*;

use crate::canonical::{canonical, decode};
use crate::spec;

/// Decodes one example and encodes it again.
type Check = fn(&str) -> String;

fn through<T: Serialize + DeserializeOwned>(text: &str) -> String {
    serde_json::to_string(&decode::<T>(text)).unwrap()
}

/// Decodes and encodes an example of a union, which must recognise it, not merely keep it.
fn recognize<T: Serialize + DeserializeOwned + std::fmt::Debug>(text: &str) -> String {
    let value: T = decode(text);
    assert!(
        !format!("{value:?}").starts_with("Unknown"),
        "not recognised: {value:?}"
    );
    serde_json::to_string(&value).unwrap()
}

/// Sends the member `name` of a frame through a type and leaves the rest of the frame as it is.
fn inside<T: Serialize + DeserializeOwned>(frame: &str, name: &str) -> String {
    let mut frame: Map<Json> = decode(frame);
    if let Some(member) = frame.get(name).map(|member| member.decode::<T>().unwrap()) {
        frame.insert(name, Json::encode(&member).unwrap());
    }
    serde_json::to_string(&frame).unwrap()
}

fn method_of(frame: &str) -> String {
    decode::<Map<Json>>(frame)
        .get("method")
        .unwrap()
        .decode()
        .unwrap()
}

fn request<M: Request>(frame: &str) -> String {
    assert_eq!(method_of(frame), M::METHOD);
    inside::<M::Params>(frame, "params")
}

fn notification<M: Notification>(frame: &str) -> String {
    assert_eq!(method_of(frame), M::METHOD);
    inside::<M::Params>(frame, "params")
}

fn response<M: Request>(frame: &str) -> String {
    inside::<M::Result>(frame, "result")
}

/// Sends an error response through its types; its data must have their own type.
fn error<D: Serialize + DeserializeOwned>(frame: &str) -> String {
    let frame: Map<Json> = decode(frame);
    let error = inside::<D>(frame.get("error").unwrap().as_str(), "data");
    let mut frame = frame.clone();
    frame.insert(
        "error",
        Json::encode(&decode::<ErrorObject>(&error)).unwrap(),
    );
    serde_json::to_string(&frame).unwrap()
}

const TYPES: &[(&str, Check)] = &[
    ("AudioContent", through::<AudioContent>),
    ("BlobResourceContents", through::<BlobResourceContents>),
    ("BooleanSchema", through::<BooleanSchema>),
    ("CallToolRequest", request::<CallTool>),
    ("CallToolRequestParams", through::<CallToolRequestParams>),
    ("CallToolResult", through::<CallToolResult>),
    ("CallToolResultResponse", response::<CallTool>),
    ("CancelledNotification", notification::<Cancelled>),
    (
        "CancelledNotificationParams",
        through::<CancelledNotificationParams>,
    ),
    ("ClientCapabilities", through::<ClientCapabilities>),
    ("CompleteRequest", request::<Complete>),
    ("CompleteRequestParams", through::<CompleteRequestParams>),
    ("CompleteResult", through::<CompleteResult>),
    ("CompleteResultResponse", response::<Complete>),
    ("CreateMessageRequest", request::<CreateMessage>),
    (
        "CreateMessageRequestParams",
        through::<CreateMessageRequestParams>,
    ),
    ("CreateMessageResult", through::<CreateMessageResult>),
    ("DiscoverRequest", request::<Discover>),
    ("DiscoverResult", through::<DiscoverResult>),
    ("DiscoverResultResponse", response::<Discover>),
    ("ElicitRequest", request::<Elicit>),
    (
        "ElicitRequestFormParams",
        through::<ElicitRequestFormParams>,
    ),
    ("ElicitRequestURLParams", through::<ElicitRequestUrlParams>),
    ("ElicitResult", through::<ElicitResult>),
    ("EmbeddedResource", through::<EmbeddedResource>),
    ("GetPromptRequest", request::<GetPrompt>),
    ("GetPromptRequestParams", through::<GetPromptRequestParams>),
    ("GetPromptResult", through::<GetPromptResult>),
    ("GetPromptResultResponse", response::<GetPrompt>),
    ("HeaderMismatchError", error::<Json>),
    ("ImageContent", through::<ImageContent>),
    ("InputRequests", through::<InputRequests>),
    ("InputRequiredResult", through::<InputRequiredResult>),
    ("InputResponses", through::<InputResponses>),
    ("InternalError", through::<ErrorObject>),
    ("InvalidParamsError", through::<ErrorObject>),
    ("ListPromptsRequest", request::<ListPrompts>),
    ("ListPromptsResult", through::<ListPromptsResult>),
    ("ListPromptsResultResponse", response::<ListPrompts>),
    (
        "ListResourceTemplatesRequest",
        request::<ListResourceTemplates>,
    ),
    (
        "ListResourceTemplatesResult",
        through::<ListResourceTemplatesResult>,
    ),
    (
        "ListResourceTemplatesResultResponse",
        response::<ListResourceTemplates>,
    ),
    ("ListResourcesRequest", request::<ListResources>),
    ("ListResourcesResult", through::<ListResourcesResult>),
    ("ListResourcesResultResponse", response::<ListResources>),
    ("ListRootsRequest", request::<ListRoots>),
    ("ListRootsResult", through::<ListRootsResult>),
    ("ListToolsRequest", request::<ListTools>),
    ("ListToolsResult", through::<ListToolsResult>),
    ("ListToolsResultResponse", response::<ListTools>),
    ("LoggingMessageNotification", notification::<LoggingMessage>),
    (
        "LoggingMessageNotificationParams",
        through::<LoggingMessageNotificationParams>,
    ),
    ("MethodNotFoundError", through::<ErrorObject>),
    (
        "MissingRequiredClientCapabilityError",
        error::<MissingRequiredClientCapabilityData>,
    ),
    ("ModelPreferences", through::<ModelPreferences>),
    ("NumberSchema", through::<NumberSchema>),
    ("PaginatedRequestParams", through::<PaginatedRequestParams>),
    ("ParseError", through::<ErrorObject>),
    ("ProgressNotification", notification::<Progress>),
    (
        "ProgressNotificationParams",
        through::<ProgressNotificationParams>,
    ),
    (
        "PromptListChangedNotification",
        notification::<PromptListChanged>,
    ),
    ("ReadResourceRequest", request::<ReadResource>),
    ("ReadResourceResult", through::<ReadResourceResult>),
    ("ReadResourceResultResponse", response::<ReadResource>),
    ("Resource", through::<Resource>),
    ("ResourceLink", through::<ResourceLink>),
    (
        "ResourceListChangedNotification",
        notification::<ResourceListChanged>,
    ),
    (
        "ResourceUpdatedNotification",
        notification::<ResourceUpdated>,
    ),
    (
        "ResourceUpdatedNotificationParams",
        through::<ResourceUpdatedNotificationParams>,
    ),
    ("Root", through::<Root>),
    ("SamplingMessage", through::<SamplingMessage>),
    ("ServerCapabilities", through::<ServerCapabilities>),
    ("StringSchema", through::<StringSchema>),
    (
        "SubscriptionsAcknowledgedNotification",
        notification::<SubscriptionsAcknowledged>,
    ),
    ("SubscriptionsListenRequest", request::<SubscriptionsListen>),
    (
        "SubscriptionsListenResult",
        through::<SubscriptionsListenResult>,
    ),
    (
        "SubscriptionsListenResultResponse",
        response::<SubscriptionsListen>,
    ),
    ("TextContent", through::<TextContent>),
    ("TextResourceContents", through::<TextResourceContents>),
    (
        "TitledMultiSelectEnumSchema",
        through::<MultiSelectEnumSchema>,
    ),
    (
        "TitledSingleSelectEnumSchema",
        through::<SingleSelectEnumSchema>,
    ),
    ("Tool", through::<Tool>),
    (
        "ToolListChangedNotification",
        notification::<ToolListChanged>,
    ),
    ("ToolResultContent", through::<ToolResultContent>),
    ("ToolUseContent", through::<ToolUseContent>),
    (
        "UnsupportedProtocolVersionError",
        error::<UnsupportedProtocolVersionData>,
    ),
    (
        "UntitledMultiSelectEnumSchema",
        through::<MultiSelectEnumSchema>,
    ),
    (
        "UntitledSingleSelectEnumSchema",
        through::<SingleSelectEnumSchema>,
    ),
];

/// The official examples of members of a union, read through the union that they are a part of.
const UNIONS: &[(&str, Check)] = &[
    ("AudioContent", recognize::<ContentBlock>),
    ("BlobResourceContents", recognize::<ResourceContents>),
    ("BooleanSchema", recognize::<PrimitiveSchemaDefinition>),
    ("ElicitRequest", recognize::<InputRequest>),
    ("ElicitRequestFormParams", recognize::<ElicitRequestParams>),
    ("ElicitRequestURLParams", recognize::<ElicitRequestParams>),
    ("EmbeddedResource", recognize::<ContentBlock>),
    ("CreateMessageRequest", recognize::<InputRequest>),
    ("ImageContent", recognize::<SamplingMessageContentBlock>),
    ("NumberSchema", recognize::<PrimitiveSchemaDefinition>),
    ("ResourceLink", recognize::<ContentBlock>),
    ("StringSchema", recognize::<PrimitiveSchemaDefinition>),
    ("TextContent", recognize::<SamplingMessageContentBlock>),
    ("TextResourceContents", recognize::<ResourceContents>),
    (
        "TitledMultiSelectEnumSchema",
        recognize::<PrimitiveSchemaDefinition>,
    ),
    (
        "TitledSingleSelectEnumSchema",
        recognize::<PrimitiveSchemaDefinition>,
    ),
    (
        "ToolResultContent",
        recognize::<SamplingMessageContentBlock>,
    ),
    ("ToolUseContent", recognize::<SamplingMessageContentBlock>),
    (
        "UntitledMultiSelectEnumSchema",
        recognize::<PrimitiveSchemaDefinition>,
    ),
    (
        "UntitledSingleSelectEnumSchema",
        recognize::<PrimitiveSchemaDefinition>,
    ),
];

fn check_all(table: &[(&str, Check)]) -> usize {
    let examples = spec::path("2026-07-28/examples");
    let mut seen = 0;
    for (name, check) in table {
        let directory = examples.join(name);
        for file in fs::read_dir(&directory).unwrap_or_else(|e| panic!("{name}: {e}")) {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(
                canonical(&check(&text)),
                canonical(&text),
                "{}",
                path.display()
            );
            seen += 1;
        }
    }
    seen
}

#[test]
fn every_example_survives_as_its_type() {
    assert!(check_all(TYPES) >= TYPES.len());
}

#[test]
fn every_example_of_a_union_is_recognised() {
    assert!(check_all(UNIONS) >= UNIONS.len());
}

#[test]
fn the_table_names_every_directory() {
    let examples = spec::path("2026-07-28/examples");
    let found: BTreeSet<String> = fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let named: BTreeSet<String> = TYPES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, named);
}
