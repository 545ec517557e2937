//! One harness for every object: unknown members, exact numbers, presence, null, duplicates.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::*;

use crate::canonical::{canonical, decode, survives};

/// Holds an object type to the house's rules, given JSON with every field that it names. The members
/// in `needed` must be there; those in `any` take `null` as a value.
fn check<T>(sample: &str, needed: &[&str], any: &[&str])
where
    T: DeserializeOwned + Serialize + Debug + PartialEq,
{
    let full: T = survives(sample);
    assert!(
        format!("{full:?}").ends_with("extra: Map { entries: [] } }"),
        "a member of the sample is not a field: {full:?}"
    );
    let members: Vec<(String, Json)> = decode::<Map<Json>>(sample)
        .iter()
        .map(|(k, v)| (k.to_owned(), v.clone()))
        .collect();
    for name in needed.iter().chain(any) {
        assert!(
            members.iter().any(|(member, _)| member == name),
            "`{name}` is not in the sample"
        );
    }

    // Unknown members come through anywhere, in their order and as their text.
    let unknown = r#""zz": 1.10, "aa": {"k" : [1e3, -0, 123456789012345678901234567890]}"#;
    let inner = sample
        .trim()
        .strip_prefix('{')
        .unwrap()
        .strip_suffix('}')
        .unwrap();
    let comma = if members.is_empty() { "" } else { "," };
    for text in [
        format!("{{{unknown}{comma}{inner}}}"),
        format!("{{{inner}{comma}{unknown}}}"),
    ] {
        survives::<T>(&text);
        let written = serde_json::to_string(&decode::<T>(&text)).unwrap();
        let (zz, aa) = (
            written.find("\"zz\":1.10").unwrap(),
            written.find("\"aa\":").unwrap(),
        );
        assert!(zz < aa, "order lost: {written}");
        assert!(
            written.contains("[1e3, -0, 123456789012345678901234567890]"),
            "{written}"
        );
    }

    for (name, value) in &members {
        let without: Vec<_> = members
            .iter()
            .filter(|(member, _)| member != name)
            .collect();
        let without = format!(
            "{{{}}}",
            without
                .iter()
                .map(|(k, v)| format!("{k:?}:{v}"))
                .collect::<Vec<_>>()
                .join(",")
        );
        let others = without.strip_suffix('}').unwrap();
        let comma = if members.len() == 1 { "" } else { "," };

        let twice = format!("{others}{comma}{name:?}:{value},{name:?}:{value}}}");
        let error = serde_json::from_str::<T>(&twice).unwrap_err().to_string();
        assert!(error.contains("duplicate"), "`{name}` twice: {error}");

        let null = format!("{others}{comma}{name:?}:null}}");
        if needed.contains(&name.as_str()) {
            let error = serde_json::from_str::<T>(&without).unwrap_err().to_string();
            assert!(
                error.contains("missing") && error.contains(name.as_str()),
                "{error}"
            );
        } else if any.contains(&name.as_str()) {
            assert_ne!(decode::<T>(&null), decode::<T>(&without));
            survives::<T>(&null);
        } else {
            assert_eq!(decode::<T>(&null), decode::<T>(&without), "`{name}`: null");
        }
    }

    for wrong in ["null", "[]", "1", "\"\"", "true"] {
        assert!(serde_json::from_str::<T>(wrong).is_err(), "decoded {wrong}");
    }
    // From a reader nothing can be borrowed; the result is the same.
    assert_eq!(
        serde_json::from_reader::<_, T>(sample.as_bytes()).unwrap(),
        full
    );
    assert_eq!(
        canonical(sample),
        canonical(&serde_json::to_string(&full).unwrap())
    );
}

macro_rules! objects {
    ($( $test:ident: $Type:ty, $sample:literal, needs [$($needed:literal),*] $(, any [$($any:literal),*])?; )+) => { $(
        #[test]
        fn $test() {
            check::<$Type>($sample, &[$($needed),*], &[$($($any),*)?]);
        }
    )+ };
}

objects! {
    annotations: Annotations,
        r#"{"audience":["user"],"priority":0.70,"lastModified":"t"}"#, needs [];
    text_content: TextContent,
        r#"{"type":"text","text":"\u00e9","annotations":{},"_meta":{"k":1.0}}"#, needs ["type", "text"];
    image_content: ImageContent,
        r#"{"type":"image","data":"AA==","mimeType":"m","annotations":{},"_meta":{"k":1}}"#,
        needs ["type", "data", "mimeType"];
    audio_content: AudioContent,
        r#"{"type":"audio","data":"AA==","mimeType":"m","annotations":{},"_meta":{"k":1}}"#,
        needs ["type", "data", "mimeType"];
    resource_link: ResourceLink,
        r#"{"type":"resource_link","uri":"u","name":"n","title":"t","description":"d","mimeType":"m",
            "size":1e3,"icons":[],"annotations":{},"_meta":{"k":1}}"#,
        needs ["type", "uri", "name"];
    embedded_resource: EmbeddedResource,
        r#"{"type":"resource","resource":{"uri":"u","text":""},"annotations":{},"_meta":{"k":1}}"#,
        needs ["type", "resource"];
    icon: Icon,
        r#"{"src":"s","mimeType":"m","sizes":["any"],"theme":"sepia"}"#, needs ["src"];

    tool: Tool,
        r#"{"name":"n","inputSchema":{"type" : "object","x":1.0},"title":"t","description":"d",
            "outputSchema":{},"annotations":{},"icons":[],"_meta":{"k":1}}"#,
        needs ["name", "inputSchema"];
    tool_annotations: ToolAnnotations,
        r#"{"title":"t","readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,
            "openWorldHint":false}"#,
        needs [];
    call_tool_params: CallToolRequestParams,
        r#"{"name":"n","arguments":{"x":1.10},"inputResponses":{"k":{}},"requestState":"s","_meta":{"k":1}}"#,
        needs ["name"];
    call_tool_result: CallToolResult,
        r#"{"content":[{"type":"text","text":""}],"structuredContent":{"x":1.0},"isError":true,
            "_meta":{"k":1}}"#,
        needs [], any ["structuredContent"];
    list_tools_result: ListToolsResult,
        r#"{"tools":[],"nextCursor":"","ttlMs":5,"cacheScope":"shared","_meta":{"k":1}}"#,
        needs ["tools"];

    resource: Resource,
        r#"{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":9007199254740993,
            "icons":[],"annotations":{},"_meta":{"k":1}}"#,
        needs ["uri", "name"];
    resource_template: ResourceTemplate,
        r#"{"uriTemplate":"u","name":"n","title":"t","description":"d","mimeType":"m","icons":[],
            "annotations":{},"_meta":{"k":1}}"#,
        needs ["uriTemplate", "name"];
    text_resource_contents: TextResourceContents,
        r#"{"uri":"u","text":"","mimeType":"m","_meta":{"k":1}}"#, needs ["uri", "text"];
    blob_resource_contents: BlobResourceContents,
        r#"{"uri":"u","blob":"","mimeType":"m","_meta":{"k":1}}"#, needs ["uri", "blob"];
    read_resource_params: ReadResourceRequestParams,
        r#"{"uri":"u","inputResponses":{"k":null},"requestState":"s","_meta":{"k":1}}"#, needs ["uri"];
    read_resource_result: ReadResourceResult,
        r#"{"contents":[],"ttlMs":5,"cacheScope":"public","_meta":{"k":1}}"#, needs ["contents"];
    list_resources_result: ListResourcesResult,
        r#"{"resources":[],"nextCursor":"c","ttlMs":0,"cacheScope":"private","_meta":{"k":1}}"#,
        needs ["resources"];
    list_resource_templates_result: ListResourceTemplatesResult,
        r#"{"resourceTemplates":[],"nextCursor":"c","ttlMs":0,"cacheScope":"private","_meta":{"k":1}}"#,
        needs ["resourceTemplates"];
    subscribe_params: SubscribeRequestParams, r#"{"uri":"u","_meta":{"k":1}}"#, needs ["uri"];
    unsubscribe_params: UnsubscribeRequestParams, r#"{"uri":"u","_meta":{"k":1}}"#, needs ["uri"];
    resource_updated_params: ResourceUpdatedNotificationParams, r#"{"uri":"u","_meta":{"k":1}}"#, needs ["uri"];

    prompt: Prompt,
        r#"{"name":"n","title":"t","description":"d","arguments":[],"icons":[],"_meta":{"k":1}}"#,
        needs ["name"];
    prompt_argument: PromptArgument,
        r#"{"name":"n","title":"t","description":"d","required":false}"#, needs ["name"];
    prompt_message: PromptMessage,
        r#"{"role":"user","content":{"type":"text","text":""}}"#, needs ["role", "content"];
    get_prompt_params: GetPromptRequestParams,
        r#"{"name":"n","arguments":{"a":"b"},"inputResponses":{"k":[]},"requestState":"s","_meta":{"k":1}}"#,
        needs ["name"];
    get_prompt_result: GetPromptResult,
        r#"{"messages":[],"description":"d","_meta":{"k":1}}"#, needs ["messages"];
    list_prompts_result: ListPromptsResult,
        r#"{"prompts":[],"nextCursor":"c","ttlMs":0,"cacheScope":"private","_meta":{"k":1}}"#,
        needs ["prompts"];

    complete_params: CompleteRequestParams,
        r#"{"ref":{"type":"ref/prompt","name":"n"},"argument":{"name":"a","value":""},"context":{},
            "_meta":{"k":1}}"#,
        needs ["ref", "argument"];
    prompt_reference: PromptReference,
        r#"{"type":"ref/prompt","name":"n","title":"t"}"#, needs ["type", "name"];
    resource_template_reference: ResourceTemplateReference,
        r#"{"type":"ref/resource","uri":"u"}"#, needs ["type", "uri"];
    completion_argument: CompletionArgument, r#"{"name":"n","value":"v"}"#, needs ["name", "value"];
    completion_context: CompletionContext, r#"{"arguments":{"a":"b"}}"#, needs [];
    completion: Completion, r#"{"values":[],"total":1.0,"hasMore":true}"#, needs ["values"];
    complete_result: CompleteResult,
        r#"{"completion":{"values":[]},"_meta":{"k":1}}"#, needs ["completion"];

    elicit_form_params: ElicitRequestFormParams,
        r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{}},"_meta":{"k":1}}"#,
        needs ["message", "requestedSchema"];
    elicit_url_params: ElicitRequestUrlParams,
        r#"{"mode":"url","message":"m","url":"u","elicitationId":"e","_meta":{"k":1}}"#,
        needs ["mode", "message", "url"];
    elicit_result: ElicitResult,
        r#"{"action":"accept","content":{"a":1.50,"b":[],"c":[1],"d":null},"_meta":{"k":1}}"#,
        needs ["action"];
    elicitation_complete_params: ElicitationCompleteNotificationParams,
        r#"{"elicitationId":"e","_meta":{"k":1}}"#, needs ["elicitationId"];
    elicitation_schema: ElicitationSchema,
        r#"{"$schema":"s","type":"object","properties":{"z":{"type":"boolean"},"a":{}},"required":["z"]}"#,
        needs ["type"];
    string_schema: StringSchema,
        r#"{"type":"string","title":"t","description":"d","minLength":1.0,"maxLength":2,"format":"ipv4",
            "default":"x"}"#,
        needs ["type"];
    number_schema: NumberSchema,
        r#"{"type":"integer","title":"t","description":"d","minimum":-0,"maximum":1e2,"default":1.0}"#,
        needs ["type"];
    boolean_schema: BooleanSchema,
        r#"{"type":"boolean","title":"t","description":"d","default":false}"#, needs ["type"];
    titled_choice: TitledChoice, r#"{"const":"c","title":"t"}"#, needs ["const", "title"];
    single_select_schema: SingleSelectEnumSchema,
        r#"{"type":"string","title":"t","description":"d","enum":[],"oneOf":[],"default":"x"}"#,
        needs ["type"];
    multi_select_schema: MultiSelectEnumSchema,
        r#"{"type":"array","items":{},"title":"t","description":"d","minItems":0,"maxItems":1,"default":[]}"#,
        needs ["type", "items"];
    multi_select_items: MultiSelectItems,
        r#"{"type":"string","enum":[],"anyOf":[]}"#, needs [];
    legacy_enum_schema: LegacyTitledEnumSchema,
        r#"{"type":"string","enum":[],"enumNames":[],"title":"t","description":"d","default":"x"}"#,
        needs ["type", "enum"];

    sampling_message: SamplingMessage,
        r#"{"role":"assistant","content":[],"_meta":{"k":1}}"#, needs ["role", "content"];
    tool_use_content: ToolUseContent,
        r#"{"type":"tool_use","id":"i","name":"n","input":{"x":1.0},"_meta":{"k":1}}"#,
        needs ["type", "id", "name", "input"];
    tool_result_content: ToolResultContent,
        r#"{"type":"tool_result","toolUseId":"i","content":[{"type":"text","text":""}],
            "structuredContent":[1.0],"isError":true,"_meta":{"k":1}}"#,
        needs ["type", "toolUseId"], any ["structuredContent"];
    model_preferences: ModelPreferences,
        r#"{"hints":[],"costPriority":0.10,"speedPriority":1,"intelligencePriority":0}"#, needs [];
    model_hint: ModelHint, r#"{"name":"n"}"#, needs [];
    tool_choice: ToolChoice, r#"{"mode":"always"}"#, needs [];
    create_message_params: CreateMessageRequestParams,
        r#"{"messages":[],"maxTokens":1e2,"modelPreferences":{},"systemPrompt":"s",
            "includeContext":"thisServer","temperature":0.70,"stopSequences":[],"metadata":{"x":1.0},
            "tools":[],"toolChoice":{},"_meta":{"k":1}}"#,
        needs ["messages", "maxTokens"];
    create_message_result: CreateMessageResult,
        r#"{"role":"assistant","content":{"type":"text","text":""},"model":"m","stopReason":"own",
            "_meta":{"k":1}}"#,
        needs ["role", "content", "model"];

    root: Root, r#"{"uri":"file:///","name":"n","_meta":{"k":1}}"#, needs ["uri"];
    list_roots_result: ListRootsResult, r#"{"roots":[],"_meta":{"k":1}}"#, needs ["roots"];
    set_level_params: SetLevelRequestParams, r#"{"level":"alert","_meta":{"k":1}}"#, needs ["level"];
    progress_params: ProgressNotificationParams,
        r#"{"progressToken":1,"progress":0.10,"total":1e1,"message":"m","_meta":{"k":1}}"#,
        needs ["progressToken", "progress"];
    cancelled_params: CancelledNotificationParams,
        r#"{"requestId":"1","reason":"r","_meta":{"k":1}}"#, needs [];
    subscription_filter: SubscriptionFilter,
        r#"{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,
            "resourceSubscriptions":[]}"#,
        needs [];
    listen_params: SubscriptionsListenRequestParams,
        r#"{"notifications":{},"_meta":{"k":1}}"#, needs ["notifications"];
    listen_result: SubscriptionsListenResult, r#"{"_meta":{"k":1}}"#, needs [];
    subscriptions_acknowledged_params: SubscriptionsAcknowledgedNotificationParams,
        r#"{"notifications":{},"_meta":{"k":1}}"#, needs ["notifications"];

    implementation: Implementation,
        r#"{"name":"n","version":"v","title":"t","description":"d","websiteUrl":"w","icons":[]}"#,
        needs ["name", "version"];
    initialize_params: InitializeRequestParams,
        r#"{"protocolVersion":"p","capabilities":{},"clientInfo":{"name":"n","version":"v"},"_meta":{"k":1}}"#,
        needs ["protocolVersion", "capabilities", "clientInfo"];
    initialize_result: InitializeResult,
        r#"{"protocolVersion":"p","capabilities":{},"serverInfo":{"name":"n","version":"v"},
            "instructions":"i","_meta":{"k":1}}"#,
        needs ["protocolVersion", "capabilities", "serverInfo"];
    discover_result: DiscoverResult,
        r#"{"supportedVersions":[],"capabilities":{},"instructions":"i","ttlMs":1,"cacheScope":"public",
            "_meta":{"k":1}}"#,
        needs ["supportedVersions", "capabilities"];
    paginated_params: PaginatedRequestParams, r#"{"cursor":"","_meta":{"k":1}}"#, needs [];
    request_params: RequestParams, r#"{"_meta":{"k":1}}"#, needs [];
    notification_params: NotificationParams, r#"{"_meta":{"k":1}}"#, needs [];
    empty_result: EmptyResult, r#"{"_meta":{"k":1}}"#, needs [];
    input_required: InputRequiredResult,
        r#"{"inputRequests":{"k":{"method":"roots/list"}},"requestState":"s","_meta":{"k":1}}"#, needs [];

    client_capabilities: ClientCapabilities,
        r#"{"roots":{},"sampling":{},"elicitation":{},"extensions":{"a/b":{}},"experimental":{"x":1}}"#,
        needs [];
    roots_capability: RootsCapability, r#"{"listChanged":true}"#, needs [];
    sampling_capability: SamplingCapability, r#"{"tools":{"x":1.0},"context":{}}"#, needs [];
    elicitation_capability: ElicitationCapability, r#"{"form":{},"url":{}}"#, needs [];
    server_capabilities: ServerCapabilities,
        r#"{"tools":{},"resources":{},"prompts":{},"completions":{},"logging":{},
            "extensions":{"a/b":{}},"experimental":{"x":1}}"#,
        needs [];
    list_capability: ListCapability, r#"{"listChanged":false}"#, needs [];
    resources_capability: ResourcesCapability, r#"{"subscribe":true,"listChanged":true}"#, needs [];
    settings: Settings, "{}", needs [];

    log_params: LoggingMessageNotificationParams,
        r#"{"level":"debug","data":{"x":1.0},"logger":"l","_meta":{"k":1}}"#, needs ["level", "data"];
    error_object: ErrorObject,
        r#"{"code":-1,"message":"m","data":{"x":1.0}}"#, needs ["code", "message"], any ["data"];
    unsupported_version_data: UnsupportedProtocolVersionData,
        r#"{"supported":[],"requested":"r"}"#, needs ["supported", "requested"];
    missing_capability_data: MissingRequiredClientCapabilityData,
        r#"{"requiredCapabilities":{}}"#, needs ["requiredCapabilities"];
    url_elicitation_data: UrlElicitationRequiredData, r#"{"elicitations":[]}"#, needs ["elicitations"];
    resource_not_found_data: ResourceNotFoundData, r#"{"uri":"u"}"#, needs ["uri"];
}

/// The three objects with a member that is written even if it did not arrive.
#[test]
fn a_member_that_is_always_written_may_be_absent_on_arrival() {
    let written = |value: &dyn Fn() -> String| canonical(&value());
    assert_eq!(
        written(&|| serde_json::to_string(&decode::<CallToolResult>("{}")).unwrap()),
        r#"{"content":[]}"#
    );
    assert_eq!(
        written(&|| {
            let text = r#"{"type":"tool_result","toolUseId":"i"}"#;
            serde_json::to_string(&decode::<ToolResultContent>(text)).unwrap()
        }),
        r#"{"content":[],"toolUseId":"i","type":"tool_result"}"#
    );
    assert_eq!(
        written(&|| {
            serde_json::to_string(&decode::<ElicitationSchema>(r#"{"type":"object"}"#)).unwrap()
        }),
        r#"{"properties":{},"type":"object"}"#
    );
}

#[test]
fn structured_content_may_be_null() {
    let null: CallToolResult = survives(r#"{"content":[],"structuredContent":null}"#);
    assert!(null.structured_content.is_some_and(|value| value.is_null()));
    let absent: CallToolResult = survives(r#"{"content":[]}"#);
    assert!(absent.structured_content.is_none());
    let kept: CallToolResult = survives(
        r#"{"content":[],"structuredContent":[1.10, 1e400],"isError":false,"_meta":{"a":1}}"#,
    );
    assert_eq!(kept.structured_content.unwrap().as_str(), "[1.10, 1e400]");
}

#[test]
fn a_tag_must_have_its_value() {
    let error = serde_json::from_str::<TextContent>(r#"{"type":"image","text":""}"#).unwrap_err();
    assert!(
        error.to_string().contains("`type` must be \"text\""),
        "{error}"
    );
}

#[test]
fn a_time_to_live_is_never_negative() {
    let ttl =
        |text: &str| decode::<ListToolsResult>(&format!(r#"{{"tools":[],"ttlMs":{text}}}"#)).ttl_ms;
    assert_eq!(ttl("-5"), Some(0));
    assert_eq!(ttl("-1e400"), Some(0));
    assert_eq!(ttl("1.9"), Some(1));
    assert_eq!(ttl("6e4"), Some(60_000));
    assert_eq!(ttl("1e400"), Some(u64::MAX));
    assert!(serde_json::from_str::<ListToolsResult>(r#"{"tools":[],"ttlMs":"5"}"#).is_err());
}

#[test]
fn an_unnamed_result_type_survives() {
    let result: CallToolResult = survives(r#"{"resultType":"complete","content":[]}"#);
    assert_eq!(
        result.extra.get("resultType").unwrap().as_str(),
        "\"complete\""
    );
}

#[test]
fn members_are_matched_by_their_decoded_name() {
    let tool: Tool = decode(r#"{"na\u006de":"n","inputSchema":{}}"#);
    assert_eq!(tool.name, "n");
    let twice = r#"{"na\u006de":"n","name":"m","inputSchema":{}}"#;
    assert!(
        serde_json::from_str::<Tool>(twice)
            .unwrap_err()
            .to_string()
            .contains("duplicate")
    );
}

#[test]
fn deep_nesting_neither_overflows_nor_passes_a_typed_member() {
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let text = format!(r#"{{"content":[],"x":{}}}"#, deep(100_000));
    assert_eq!(decode::<CallToolResult>(&text).extra.len(), 1);
    let text = format!(r#"{{"content":{}}}"#, deep(100_000));
    assert!(serde_json::from_str::<CallToolResult>(&text).is_err());
}
