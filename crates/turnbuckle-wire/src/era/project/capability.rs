//! Implementations and capabilities.

use turnbuckle_types::{
    ClientCapabilities, DiscoverResult, ElicitationCapability, Implementation,
    InitializeRequestParams, InitializeResult, ListCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, Settings,
};

use super::rules::{Fate, project_objects};
use super::{message_meta, result_extra};
use crate::revision::{Features, Method, Party};

project_objects! {
    Implementation {
        name, version, title since titles, description since icons, website_url since icons,
        icons since icons, extra,
    }
    ServerCapabilities {
        tools, resources, prompts, completions since completions_capability, logging,
        tasks since core_tasks, extensions since extensions, experimental, extra,
    }
    ListCapability { list_changed, extra }
    ResourcesCapability { subscribe, list_changed, extra }
    ClientCapabilities {
        roots, sampling, elicitation by elicitation_capability + listed elicitation,
        tasks since core_tasks, extensions since extensions,
        experimental, extra,
    }
    RootsCapability { list_changed by roots_list_changed + listed server_requests, extra }
    SamplingCapability { tools since sampling_tools, context since sampling_tools, extra }
    ElicitationCapability { form since elicitation_url, url since elicitation_url, extra }
    Settings { extra }
    InitializeRequestParams {
        protocol_version, capabilities, client_info, meta by message_meta, extra,
    }
    InitializeResult {
        protocol_version, capabilities, server_info, instructions, meta by message_meta,
        extra by result_extra,
    }
    DiscoverResult {
        supported_versions, capabilities, instructions, ttl_ms cached, cache_scope cached,
        meta by message_meta, extra by result_extra,
    }
}

/// Removes the capability where nobody can be asked. Before there were modes, the capability alone
/// promised forms, so that a client that only visits URLs cannot declare it.
fn elicitation_capability(
    elicitation: &Option<ElicitationCapability>,
    features: &Features,
) -> Fate<Option<ElicitationCapability>> {
    match elicitation {
        Some(_) if !features.elicitation => Fate::Replace(None),
        Some(modes) if !features.elicitation_url && modes.form.is_none() && modes.url.is_some() => {
            Fate::Replace(None)
        }
        _ => Fate::Keep,
    }
}

/// Removes the announcement of changed roots where the revision lacks the notification.
fn roots_list_changed(announced: &Option<bool>, features: &Features) -> Fate<Option<bool>> {
    let exists = Method::RootsListChanged.is_received_by(Party::Server, features.revision);
    match announced {
        Some(_) if !exists => Fate::Replace(None),
        _ => Fate::Keep,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::project::tests::project_json;
    use crate::revision::Revision;

    #[test]
    fn a_capability_is_only_claimed_where_it_exists() {
        let all = json!({"tools": {"listChanged": true}, "completions": {},
            "extensions": {"com.example/e": {}}, "experimental": {"x": 1}, "y": 2});
        let without = |names: &[&str]| {
            let mut some = all.clone();
            some.as_object_mut()
                .unwrap()
                .retain(|name, _| !names.contains(&name.as_str()));
            some
        };
        let projected = |revision| project_json::<ServerCapabilities>(&all, revision);
        assert_eq!(projected(Revision::NEWEST), all);
        assert_eq!(projected(Revision::V2025_11_25), without(&["extensions"]));
        assert_eq!(
            projected(Revision::V2024_11_05),
            without(&["extensions", "completions"])
        );
    }

    #[test]
    fn a_client_that_only_visits_urls_does_not_promise_forms() {
        let projected = |modes: Value, revision| {
            let capabilities = json!({"elicitation": modes, "sampling": {"tools": {}}});
            project_json::<ClientCapabilities>(&capabilities, revision)
        };
        let plain = json!({"elicitation": {}, "sampling": {}});
        assert_eq!(
            projected(json!({"form": {}, "url": {}}), Revision::V2025_06_18),
            plain
        );
        assert_eq!(projected(json!({}), Revision::V2025_06_18), plain);
        let neither = json!({"sampling": {}});
        assert_eq!(
            projected(json!({"url": {}}), Revision::V2025_06_18),
            neither
        );
        assert_eq!(projected(json!({}), Revision::V2025_03_26), neither);
        let modes = json!({"url": {}});
        assert_eq!(
            projected(modes.clone(), Revision::V2025_11_25)["elicitation"],
            modes
        );
    }

    #[test]
    fn roots_are_announced_where_that_can_be_heard() {
        let roots = json!({"roots": {"listChanged": true}});
        let projected = |revision| project_json::<ClientCapabilities>(&roots, revision);
        assert_eq!(projected(Revision::NEWEST_LEGACY), roots);
        assert_eq!(projected(Revision::NEWEST), json!({"roots": {}}));
    }

    #[test]
    fn implementations_are_named_as_the_reader_knows() {
        let full = json!({"name": "n", "version": "1", "title": "N", "description": "d",
            "websiteUrl": "https://example.com", "icons": [{"src": "https://example.com/i"}]});
        let projected = |revision| project_json::<Implementation>(&full, revision);
        assert_eq!(projected(Revision::V2025_11_25), full);
        assert_eq!(
            projected(Revision::V2025_06_18),
            json!({"name": "n", "version": "1", "title": "N"})
        );
        assert_eq!(
            projected(Revision::V2025_03_26),
            json!({"name": "n", "version": "1"})
        );
    }
}
