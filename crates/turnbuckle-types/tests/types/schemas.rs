//! Every property that an official schema of any revision names has a field here.

use std::collections::BTreeSet;
use std::fs;

use serde::de::DeserializeOwned;
use serde_json::Value;
use turnbuckle_types::*;

use crate::spec;

const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

/// A check that a type has a field for a member. Unknown members may repeat; fields are refused twice,
/// or earlier, because `null` is not their type.
type HasField = fn(&str) -> bool;

fn field<T: DeserializeOwned>(name: &str) -> bool {
    let twice = format!("{{{name:?}:null,{name:?}:null}}");
    match serde_json::from_str::<T>(&twice) {
        Ok(_) => false,
        Err(error) => !error.to_string().starts_with("missing field"),
    }
}

/// Definitions by their names in the schemas. A name that ends in `Request` or `Notification` stands
/// for the parameters, which the older schemas write out in place.
const DEFINITIONS: &[(&str, HasField)] = &[
    ("Annotations", field::<Annotations>),
    ("AudioContent", field::<AudioContent>),
    ("BlobResourceContents", field::<BlobResourceContents>),
    ("BooleanSchema", field::<BooleanSchema>),
    ("CallToolRequest", field::<CallToolRequestParams>),
    ("CallToolRequestParams", field::<CallToolRequestParams>),
    ("CallToolResult", field::<CallToolResult>),
    (
        "CancelledNotification",
        field::<CancelledNotificationParams>,
    ),
    (
        "CancelledNotificationParams",
        field::<CancelledNotificationParams>,
    ),
    ("ClientCapabilities", field::<ClientCapabilities>),
    ("CompleteRequest", field::<CompleteRequestParams>),
    ("CompleteRequestParams", field::<CompleteRequestParams>),
    ("CompleteResult", field::<CompleteResult>),
    ("CreateMessageRequest", field::<CreateMessageRequestParams>),
    (
        "CreateMessageRequestParams",
        field::<CreateMessageRequestParams>,
    ),
    ("CreateMessageResult", field::<CreateMessageResult>),
    ("DiscoverResult", field::<DiscoverResult>),
    ("ElicitRequest", field::<ElicitRequestFormParams>),
    ("ElicitRequestFormParams", field::<ElicitRequestFormParams>),
    ("ElicitRequestURLParams", field::<ElicitRequestUrlParams>),
    ("ElicitResult", field::<ElicitResult>),
    (
        "ElicitationCompleteNotification",
        field::<ElicitationCompleteNotificationParams>,
    ),
    ("EmbeddedResource", field::<EmbeddedResource>),
    ("EnumSchema", field::<LegacyTitledEnumSchema>),
    ("Error", field::<ErrorObject>),
    ("GetPromptRequest", field::<GetPromptRequestParams>),
    ("GetPromptRequestParams", field::<GetPromptRequestParams>),
    ("GetPromptResult", field::<GetPromptResult>),
    ("Icon", field::<Icon>),
    ("ImageContent", field::<ImageContent>),
    ("Implementation", field::<Implementation>),
    ("InitializeRequest", field::<InitializeRequestParams>),
    ("InitializeRequestParams", field::<InitializeRequestParams>),
    ("InitializeResult", field::<InitializeResult>),
    ("InitializedNotification", field::<NotificationParams>),
    ("InputRequiredResult", field::<InputRequiredResult>),
    ("LegacyTitledEnumSchema", field::<LegacyTitledEnumSchema>),
    ("ListPromptsRequest", field::<PaginatedRequestParams>),
    ("ListPromptsResult", field::<ListPromptsResult>),
    (
        "ListResourceTemplatesRequest",
        field::<PaginatedRequestParams>,
    ),
    (
        "ListResourceTemplatesResult",
        field::<ListResourceTemplatesResult>,
    ),
    ("ListResourcesRequest", field::<PaginatedRequestParams>),
    ("ListResourcesResult", field::<ListResourcesResult>),
    ("ListRootsRequest", field::<RequestParams>),
    ("ListRootsResult", field::<ListRootsResult>),
    ("ListToolsRequest", field::<PaginatedRequestParams>),
    ("ListToolsResult", field::<ListToolsResult>),
    (
        "LoggingMessageNotification",
        field::<LoggingMessageNotificationParams>,
    ),
    (
        "LoggingMessageNotificationParams",
        field::<LoggingMessageNotificationParams>,
    ),
    ("ModelHint", field::<ModelHint>),
    ("ModelPreferences", field::<ModelPreferences>),
    ("NotificationParams", field::<NotificationParams>),
    ("NumberSchema", field::<NumberSchema>),
    ("PaginatedRequestParams", field::<PaginatedRequestParams>),
    ("PingRequest", field::<RequestParams>),
    ("ProgressNotification", field::<ProgressNotificationParams>),
    (
        "ProgressNotificationParams",
        field::<ProgressNotificationParams>,
    ),
    ("Prompt", field::<Prompt>),
    ("PromptArgument", field::<PromptArgument>),
    ("PromptListChangedNotification", field::<NotificationParams>),
    ("PromptMessage", field::<PromptMessage>),
    ("PromptReference", field::<PromptReference>),
    ("ReadResourceRequest", field::<ReadResourceRequestParams>),
    (
        "ReadResourceRequestParams",
        field::<ReadResourceRequestParams>,
    ),
    ("ReadResourceResult", field::<ReadResourceResult>),
    ("RequestParams", field::<RequestParams>),
    ("Resource", field::<Resource>),
    ("ResourceLink", field::<ResourceLink>),
    (
        "ResourceListChangedNotification",
        field::<NotificationParams>,
    ),
    ("ResourceReference", field::<ResourceTemplateReference>),
    ("ResourceTemplate", field::<ResourceTemplate>),
    (
        "ResourceTemplateReference",
        field::<ResourceTemplateReference>,
    ),
    (
        "ResourceUpdatedNotification",
        field::<ResourceUpdatedNotificationParams>,
    ),
    (
        "ResourceUpdatedNotificationParams",
        field::<ResourceUpdatedNotificationParams>,
    ),
    ("Root", field::<Root>),
    ("RootsListChangedNotification", field::<NotificationParams>),
    ("SamplingMessage", field::<SamplingMessage>),
    ("ServerCapabilities", field::<ServerCapabilities>),
    ("SetLevelRequest", field::<SetLevelRequestParams>),
    ("SetLevelRequestParams", field::<SetLevelRequestParams>),
    ("StringSchema", field::<StringSchema>),
    ("SubscribeRequest", field::<SubscribeRequestParams>),
    ("SubscribeRequestParams", field::<SubscribeRequestParams>),
    ("SubscriptionFilter", field::<SubscriptionFilter>),
    (
        "SubscriptionsAcknowledgedNotificationParams",
        field::<SubscriptionsAcknowledgedNotificationParams>,
    ),
    (
        "SubscriptionsListenRequestParams",
        field::<SubscriptionsListenRequestParams>,
    ),
    (
        "SubscriptionsListenResult",
        field::<SubscriptionsListenResult>,
    ),
    ("TextContent", field::<TextContent>),
    ("TextResourceContents", field::<TextResourceContents>),
    (
        "TitledMultiSelectEnumSchema",
        field::<MultiSelectEnumSchema>,
    ),
    (
        "TitledSingleSelectEnumSchema",
        field::<SingleSelectEnumSchema>,
    ),
    ("Tool", field::<Tool>),
    ("ToolAnnotations", field::<ToolAnnotations>),
    ("ToolChoice", field::<ToolChoice>),
    ("ToolListChangedNotification", field::<NotificationParams>),
    ("ToolResultContent", field::<ToolResultContent>),
    ("ToolUseContent", field::<ToolUseContent>),
    ("UnsubscribeRequest", field::<UnsubscribeRequestParams>),
    (
        "UnsubscribeRequestParams",
        field::<UnsubscribeRequestParams>,
    ),
    (
        "UntitledMultiSelectEnumSchema",
        field::<MultiSelectEnumSchema>,
    ),
    (
        "UntitledSingleSelectEnumSchema",
        field::<SingleSelectEnumSchema>,
    ),
];

/// Definitions without a type of their own here, and why.
const NONE: &[(&str, &[&str])] = &[
    (
        "a union, or the common part of others",
        &[
            "Annotated",
            "BaseMetadata",
            "CacheableResult",
            "ClientNotification",
            "ClientRequest",
            "ClientResult",
            "ContentBlock",
            "ElicitRequestParams",
            "Icons",
            "InputRequest",
            "InputRequests",
            "InputResponse",
            "InputResponseRequestParams",
            "InputResponses",
            "MultiSelectEnumSchema",
            "PaginatedRequest",
            "PaginatedResult",
            "PrimitiveSchemaDefinition",
            "ResourceContents",
            "ResourceRequestParams",
            "SamplingMessageContentBlock",
            "ServerNotification",
            "ServerRequest",
            "ServerResult",
            "SingleSelectEnumSchema",
        ],
    ),
    (
        "a scalar, or JSON of any shape",
        &[
            "Cursor",
            "JSONArray",
            "JSONObject",
            "JSONValue",
            "LoggingLevel",
            "MetaObject",
            "NotificationMetaObject",
            "ProgressToken",
            "RequestId",
            "RequestMetaObject",
            "ResultMetaObject",
            "ResultType",
            "Role",
            "SubscriptionsListenResultMetaObject",
        ],
    ),
    (
        "a frame, whose parts are checked by themselves",
        &[
            "DiscoverRequest",
            "EmptyResult",
            "HeaderMismatchError",
            "InternalError",
            "InvalidParamsError",
            "InvalidRequestError",
            "JSONRPCBatchRequest",
            "JSONRPCBatchResponse",
            "JSONRPCError",
            "JSONRPCErrorResponse",
            "JSONRPCMessage",
            "JSONRPCNotification",
            "JSONRPCRequest",
            "JSONRPCResponse",
            "JSONRPCResultResponse",
            "MethodNotFoundError",
            "MissingRequiredClientCapabilityError",
            "Notification",
            "ParseError",
            "Request",
            "Result",
            "SubscriptionsAcknowledgedNotification",
            "SubscriptionsListenRequest",
            "URLElicitationRequiredError",
            "UnsupportedProtocolVersionError",
        ],
    ),
    (
        "the tasks of one revision, which are an extension",
        &["ToolExecution"],
    ),
];

/// Properties without a field: of the envelope, and of the tasks of one revision.
const ELSEWHERE: [&str; 4] = ["resultType", "task", "tasks", "execution"];

fn definitions(revision: &str) -> Vec<(String, Value)> {
    let text = fs::read_to_string(spec::path(&format!("{revision}/schema.json"))).unwrap();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    let key = if schema.get("$defs").is_some() {
        "$defs"
    } else {
        "definitions"
    };
    let Value::Object(definitions) = schema[key].take() else {
        panic!("{revision}: no {key}")
    };
    definitions.into_iter().collect()
}

/// Returns the names of a definition's properties; of a frame, those of its parameters.
fn properties(name: &str, definition: &Value) -> BTreeSet<String> {
    let frame = name.ends_with("Request") || name.ends_with("Notification");
    let object = if frame {
        &definition["properties"]["params"]
    } else {
        definition
    };
    object["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn every_property_of_every_revision_has_a_field() {
    let mut checked = BTreeSet::new();
    for revision in REVISIONS {
        let definitions = definitions(revision);
        for (name, definition) in &definitions {
            let Some((_, has)) = DEFINITIONS.iter().find(|(known, _)| known == name) else {
                let reason = NONE
                    .iter()
                    .find(|(_, names)| names.contains(&name.as_str()));
                let task = name.contains("Task") || name.ends_with("ResultResponse");
                assert!(reason.is_some() || task, "{revision}: no type for {name}");
                continue;
            };
            for property in properties(name, definition) {
                let known = ELSEWHERE.contains(&property.as_str()) || has(&property);
                assert!(known, "{revision}: {name} has no field for `{property}`");
                checked.insert((name.clone(), property));
            }
        }
    }
    assert!(
        checked.len() > 350,
        "only {} properties were found",
        checked.len()
    );
    let unused: Vec<_> = DEFINITIONS
        .iter()
        .filter(|(name, _)| {
            !REVISIONS
                .iter()
                .any(|revision| definitions(revision).iter().any(|(known, _)| known == name))
        })
        .map(|(name, _)| name)
        .collect();
    assert!(unused.is_empty(), "no revision defines {unused:?}");
}

#[test]
fn an_unknown_field_name_is_not_found() {
    assert!(field::<Tool>("name") && field::<Tool>("title") && field::<TextContent>("type"));
    assert!(!field::<Tool>("nickname") && !field::<Settings>("x"));
    assert!(field::<LoggingMessageNotificationParams>("data") && field::<ErrorObject>("data"));
}
