//! What each side is and can do.

use turnbuckle_types::{
    ClientCapabilities, DiscoverResult, ElicitationCapability, Implementation, InitializeParams,
    InitializeResult, RootsCapability, SamplingCapability, ServerCapabilities,
};

use super::{Project, members};
use crate::revision::{Features, Method, Party};

members! {
    Implementation {
        title since titles, description since icons, website_url since icons, icons since icons,
    }
    ServerCapabilities { completions since completions_capability, extensions since extensions }
    InitializeResult { capabilities within, server_info within, meta within, extra within }
    InitializeParams { capabilities within, client_info within, meta within }
    DiscoverResult {
        capabilities within, ttl_ms cached, cache_scope cached, meta within, extra within,
    }
    SamplingCapability { tools since sampling_tools, context since sampling_tools }
    ElicitationCapability { form since elicitation_url, url since elicitation_url }
}

/// Whether a client may say that its roots changed.
fn tells_of_roots(features: &Features) -> bool {
    Method::RootsListChanged.reaches(Party::Server, features.revision)
}

impl Project for ClientCapabilities {
    fn fits(&self, features: &Features) -> bool {
        let announces = |roots: &RootsCapability| roots.list_changed.is_some();
        (tells_of_roots(features) || !self.roots.as_ref().is_some_and(announces))
            && (features.elicitation || self.elicitation.is_none())
            && (features.extensions || self.extensions.is_empty())
            && self.elicitation.fits(features)
            && self.sampling.fits(features)
    }

    fn project(&mut self, features: &Features) {
        // Before there were modes, the capability alone promised forms.
        let forms = features.elicitation_url || self.supports_elicitation_form();
        if !features.elicitation || !forms {
            self.elicitation = None;
        }
        if !features.extensions {
            self.extensions = Default::default();
        }
        if let Some(roots) = self.roots.as_mut().filter(|_| !tells_of_roots(features)) {
            roots.list_changed = None;
        }
        self.elicitation.project(features);
        self.sampling.project(features);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::project::tests::told;
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
        let told = |revision| told::<ServerCapabilities>(&all, revision);
        assert_eq!(told(Revision::NEWEST), all);
        assert_eq!(told(Revision::V2025_11_25), without(&["extensions"]));
        assert_eq!(
            told(Revision::V2024_11_05),
            without(&["extensions", "completions"])
        );
    }

    #[test]
    fn a_client_that_only_visits_urls_does_not_promise_forms() {
        let told = |modes: Value, revision| {
            let capabilities = json!({"elicitation": modes, "sampling": {"tools": {}}});
            told::<ClientCapabilities>(&capabilities, revision)
        };
        let plain = json!({"elicitation": {}, "sampling": {}});
        assert_eq!(
            told(json!({"form": {}, "url": {}}), Revision::V2025_06_18),
            plain
        );
        assert_eq!(told(json!({}), Revision::V2025_06_18), plain);
        let neither = json!({"sampling": {}});
        assert_eq!(told(json!({"url": {}}), Revision::V2025_06_18), neither);
        assert_eq!(told(json!({}), Revision::V2025_03_26), neither);
        let modes = json!({"url": {}});
        assert_eq!(
            told(modes.clone(), Revision::V2025_11_25)["elicitation"],
            modes
        );
    }

    #[test]
    fn roots_are_announced_where_that_can_be_heard() {
        let roots = json!({"roots": {"listChanged": true}});
        let told = |revision| told::<ClientCapabilities>(&roots, revision);
        assert_eq!(told(Revision::NEWEST_LEGACY), roots);
        assert_eq!(told(Revision::NEWEST), json!({"roots": {}}));
    }

    #[test]
    fn implementations_are_named_as_the_reader_knows() {
        let full = json!({"name": "n", "version": "1", "title": "N", "description": "d",
            "websiteUrl": "https://example.com", "icons": [{"src": "https://example.com/i"}]});
        let told = |revision| told::<Implementation>(&full, revision);
        assert_eq!(told(Revision::V2025_11_25), full);
        assert_eq!(
            told(Revision::V2025_06_18),
            json!({"name": "n", "version": "1", "title": "N"})
        );
        assert_eq!(
            told(Revision::V2025_03_26),
            json!({"name": "n", "version": "1"})
        );
    }
}
