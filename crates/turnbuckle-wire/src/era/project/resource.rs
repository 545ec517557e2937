//! Resources, and the annotations and icons that they share with content.

use turnbuckle_types::{
    Annotations, BlobResourceContents, Icon, ReadResourceRequestParams, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate, SubscribeRequestParams, TextResourceContents,
    UnsubscribeRequestParams,
};

use super::rules::{project_objects, project_unions};
use super::{message_meta, result_extra};

project_objects! {
    Resource {
        uri, name, title since titles, description, mime_type, size, icons since icons, annotations,
        meta since titles, extra,
    }
    ResourceTemplate {
        uri_template, name, title since titles, description, mime_type, icons since icons,
        annotations, meta since titles, extra,
    }
    Annotations { audience, priority, last_modified since titles, extra }
    Icon { src, mime_type, sizes, theme, extra }
    TextResourceContents { uri, text, mime_type, meta since titles, extra }
    BlobResourceContents { uri, blob, mime_type, meta since titles, extra }
    ReadResourceResult {
        contents, ttl_ms cached, cache_scope cached, meta by message_meta, extra by result_extra,
    }
    ReadResourceRequestParams {
        uri, input_responses since result_envelope, request_state since result_envelope,
        meta by message_meta, extra,
    }
    SubscribeRequestParams { uri, meta by message_meta, extra }
    UnsubscribeRequestParams { uri, meta by message_meta, extra }
}

project_unions! {
    ResourceContents { Text, Blob }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::era::project::tests::project_json;
    use crate::revision::Revision;

    #[test]
    fn a_resource_keeps_the_fields_of_its_revision() {
        let full = json!({"uri": "file:///a", "name": "a", "title": "A", "size": 7,
            "icons": [{"src": "https://example.com/i"}], "_meta": {"a": 1},
            "annotations": {"priority": 0.50, "lastModified": "2025-01-01"}});
        let mut older = full.clone();
        assert_eq!(project_json::<Resource>(&full, Revision::V2025_11_25), full);
        older.as_object_mut().unwrap().remove("icons");
        assert_eq!(
            project_json::<Resource>(&full, Revision::V2025_06_18),
            older
        );
        let oldest = json!({"uri": "file:///a", "name": "a", "size": 7,
            "annotations": {"priority": 0.50}});
        assert_eq!(
            project_json::<Resource>(&full, Revision::V2024_11_05),
            oldest
        );
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
            project_json::<ReadResourceResult>(&read, Revision::V2025_06_18),
            read
        );
        assert_eq!(
            project_json::<ReadResourceResult>(&read, Revision::V2025_03_26),
            older
        );
    }
}
