//! The names of definitions, and the types that have none because the official schemas write them out
//! where they are used.

use std::borrow::Cow;

use crate::revision::Features;

/// Types that the vocabulary names otherwise than the official schemas.
const RENAMED: [(&str, &str); 5] = [
    ("CreateLegacyTaskResult", "CreateTaskResult"),
    ("ElicitRequestUrlParams", "ElicitRequestURLParams"),
    ("ErrorObject", "Error"),
    ("LegacyTask", "Task"),
    ("RelatedTask", "RelatedTaskMetadata"),
];

/// Types that no official schema names.
const UNNAMED: [&str; 13] = [
    "CacheScope",
    "Completion",
    "CompletionArgument",
    "CompletionContext",
    "CompletionReference",
    "ElicitAction",
    "ElicitationSchema",
    "IconTheme",
    "IncludeContext",
    "MultiSelectItems",
    "NumberKind",
    // The official schemas give the name to what both kinds of contents have in common.
    "ResourceContents",
    "StringFormat",
];

/// Types without a name of their own by the end of their Rust name.
const UNNAMED_ENDS: [&str; 4] = ["Capability", "Choice", "ChoiceMode", "SupportLevel"];

/// Parameters without a name in the one revision that names other parameters and has these.
const UNNAMED_TASK_PARAMS: [&str; 4] = [
    "CancelTaskRequestParams",
    "ElicitationCompleteNotificationParams",
    "GetTaskRequestParams",
    "TaskResultRequestParams",
];

/// Returns whether the official schema of a revision is written in draft 7. Those schemas have neither
/// names for parameters nor frames around typed messages.
pub(super) fn is_draft_07(features: &Features) -> bool {
    !features.icons
}

/// Returns the name of the definition of a Rust type; `None` if it is written out where it is used.
pub(super) fn definition_name(
    name: &'static str,
    features: &Features,
) -> Option<Cow<'static, str>> {
    let is_unnamed = match name {
        "ToolChoice" => false,
        "Annotations" => !features.tool_annotations,
        "ContentBlock" => !features.resource_links,
        "SamplingMessageContentBlock" => !features.sampling_tools,
        _ if name.ends_with("Params") => {
            is_draft_07(features) || UNNAMED_TASK_PARAMS.contains(&name)
        }
        _ => {
            UNNAMED.contains(&name)
                || UNNAMED_ENDS.iter().any(|end| name.ends_with(end))
                || name.ends_with("Data")
        }
    };
    if is_unnamed {
        return None;
    }
    Some(match name {
        "ResourceTemplateReference" if !features.titles => "ResourceReference".into(),
        "LegacyTitledEnumSchema" if !features.elicitation_url => "EnumSchema".into(),
        _ => {
            let renamed = RENAMED.iter().find(|(rust, _)| *rust == name);
            renamed.map_or(name, |(_, official)| official).into()
        }
    })
}
