//! Keys of `_meta`.
//!
//! Specification: basic/index, "_meta".

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::formats::meta_key_fault;
use crate::check::{Check, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Revisions that say how keys are formed.
const SINCE_2025_06_18: &[Revision] = &[
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

pub(super) const CHECKS: &[Check] = &[Check::new(
    "meta.keys",
    Level::Must,
    "keys of `_meta` have an optional prefix of dotted labels, and a name",
    |cx| Box::pin(keys(cx)),
)
.revisions(SINCE_2025_06_18)
.requires(&["f48e7cf1e8f8", "5f390c3474ee", "c392c7f80276"])
.fix("write keys as `com.example/name`: letters, digits and hyphens in the labels, dots between them")];

async fn keys(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let mut found = vec![(String::new(), &survey.handshake["_meta"])];
    for items in [
        &survey.tools,
        &survey.resources,
        &survey.templates,
        &survey.prompts,
    ] {
        found.extend(items.iter().map(|item| (name_of(item), &item["_meta"])));
    }
    let has_tools = survey.callable_tools().next().is_some();
    let calls = if has_tools { cx.calls().await? } else { &[] };
    for call in calls {
        let result = &call.answer["result"];
        let blocks = result["content"].as_array().into_iter().flatten();
        let metas = blocks.map(|block| &block["_meta"]);
        let metas = metas.chain([&result["_meta"]]);
        found.extend(metas.map(|meta| (call.item().to_owned(), meta)));
    }
    for (item, meta) in found {
        for key in meta.as_object().into_iter().flatten().map(|(key, _)| key) {
            if let Some(fault) = meta_key_fault(key) {
                cx.fault_at(&item, format!("the key {key:?} of `_meta` {fault}"));
            }
        }
    }
    Ok(())
}

/// Returns the name or URI of an item.
fn name_of(item: &Value) -> String {
    let keys = ["uri", "uriTemplate", "name"];
    let mut names = keys.into_iter().filter_map(|it| item[it].as_str());
    names.next().unwrap_or_default().to_owned()
}
