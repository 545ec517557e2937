//! Resources, and the hints that they share with content.

use turnbuckle_types::{
    Annotations, BlobResourceContents, ReadResourceParams, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, SubscribeParams, TextResourceContents, UnsubscribeParams,
};

use super::{Project, members};
use crate::revision::Features;

members! {
    Resource {
        title since titles, icons since icons, annotations within, meta since titles,
    }
    ResourceTemplate {
        title since titles, icons since icons, annotations within, meta since titles,
    }
    Annotations { last_modified since titles }
    TextResourceContents { meta since titles }
    BlobResourceContents { meta since titles }
    ReadResourceResult {
        contents within, ttl_ms cached, cache_scope cached, meta within, extra within,
    }
    ReadResourceParams {
        input_responses since result_envelope, request_state since result_envelope, meta within,
    }
    SubscribeParams { meta within }
    UnsubscribeParams { meta within }
}

impl Project for ResourceContents {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Text(contents) => contents.fits(features),
            Self::Blob(contents) => contents.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        match self {
            Self::Text(contents) => contents.project(features),
            Self::Blob(contents) => contents.project(features),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::told;
    use crate::revision::Revision;

    #[test]
    fn a_resource_keeps_what_its_reader_knows() {
        let full = json!({"uri": "file:///a", "name": "a", "title": "A", "size": 7,
            "icons": [{"src": "https://example.com/i"}], "_meta": {"a": 1},
            "annotations": {"priority": 0.50, "lastModified": "2025-01-01"}});
        let mut older = full.clone();
        assert_eq!(told::<Resource>(&full, Revision::V2025_11_25), full);
        older.as_object_mut().unwrap().remove("icons");
        assert_eq!(told::<Resource>(&full, Revision::V2025_06_18), older);
        let oldest = json!({"uri": "file:///a", "name": "a", "size": 7,
            "annotations": {"priority": 0.50}});
        assert_eq!(told::<Resource>(&full, Revision::V2024_11_05), oldest);
    }

    #[test]
    fn contents_are_kept_and_their_hints_are_not() {
        let read = json!({"contents": [
            {"uri": "file:///a", "text": "t", "_meta": {"a": 1}},
            {"uri": "file:///b", "blob": "AA==", "_meta": {"a": 1}},
            {"uri": "file:///c", "stream": "later"}
        ]});
        let older = json!({"contents": [
            {"uri": "file:///a", "text": "t"},
            {"uri": "file:///b", "blob": "AA=="},
            {"uri": "file:///c", "stream": "later"}
        ]});
        assert_eq!(
            told::<ReadResourceResult>(&read, Revision::V2025_06_18),
            read
        );
        assert_eq!(
            told::<ReadResourceResult>(&read, Revision::V2025_03_26),
            older
        );
    }
}
