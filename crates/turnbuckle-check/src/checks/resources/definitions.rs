//! The definitions of resources and of resource templates.

use std::collections::HashSet;

use serde_json::Value;
use turnbuckle_wire::revision::Revision;

use super::super::formats::{template_parts, time_fault, uri_fault};
use crate::check::{Check, Need, Stop};
use crate::context::CheckContext;
use crate::report::Level;

/// Revisions that say that URIs obey RFC 3986.
const SINCE_2025_06_18: &[Revision] = &[
    Revision::V2025_06_18,
    Revision::V2025_11_25,
    Revision::V2026_07_28,
];

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "resources.uris",
        Level::Must,
        "the URI of a resource obeys RFC 3986",
        |cx| Box::pin(uris(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::Resource])
    .requires(&["dc2c9c6aa9c4"])
    .fix("give each resource a URI with a scheme, and escape spaces and characters beyond ASCII"),
    Check::new(
        "resources.unique",
        Level::Note,
        "a URI stands once in the list of resources",
        |cx| Box::pin(unique(cx)),
    )
    .needs(&[Need::Resource])
    .fix("list each resource once: its URI identifies it"),
    Check::new(
        "resources.templates-valid",
        Level::Note,
        "a resource template obeys RFC 6570",
        |cx| Box::pin(templates_valid(cx)),
    )
    .needs(&[Need::Template])
    .fix("write variables as `{name}`; without any, list a resource instead of a template"),
    Check::new(
        "resources.last-modified",
        Level::Note,
        "`lastModified` of a resource is a time of ISO 8601",
        |cx| Box::pin(last_modified(cx)),
    )
    .revisions(SINCE_2025_06_18)
    .needs(&[Need::Capability("resources")])
    .fix("write the time as in 1999-12-31T23:59:59Z"),
];

fn uri_of(resource: &Value) -> &str {
    resource["uri"].as_str().unwrap_or_default()
}

async fn uris(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for resource in &cx.survey().resources {
        let uri = uri_of(resource);
        if let Some(fault) = uri_fault(uri) {
            cx.fault_at(uri, format!("the URI {fault}"));
        }
    }
    Ok(())
}

async fn unique(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let mut seen = HashSet::new();
    let mut repeated = HashSet::new();
    for resource in &cx.survey().resources {
        let uri = uri_of(resource);
        if !seen.insert(uri) && repeated.insert(uri) {
            cx.fault_at(uri, "the URI stands more than once in the list");
        }
    }
    Ok(())
}

async fn templates_valid(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    for template in &cx.survey().templates {
        let text = template["uriTemplate"].as_str().unwrap_or_default();
        match template_parts(text) {
            Ok(parts) if parts.iter().all(|part| part.names().is_empty()) => {
                cx.fault_at(text, "the template has no variable");
            }
            Ok(_) => {}
            Err(fault) => cx.fault_at(text, format!("the template {fault}")),
        }
    }
    Ok(())
}

async fn last_modified(cx: &mut CheckContext<'_>) -> Result<(), Stop> {
    let survey = cx.survey();
    let items = survey.resources.iter().chain(&survey.templates);
    let with_time =
        items.filter_map(|item| Some((item, item["annotations"]["lastModified"].as_str()?)));
    let with_time: Vec<_> = with_time.collect();
    if with_time.is_empty() {
        return Err(Stop::Skip("no resource has `lastModified`".into()));
    }
    for (item, time) in with_time {
        if let Some(fault) = time_fault(time) {
            let name = item["uri"].as_str().or(item["uriTemplate"].as_str());
            cx.fault_at(name.unwrap_or_default(), format!("`lastModified` {fault}"));
        }
    }
    Ok(())
}
