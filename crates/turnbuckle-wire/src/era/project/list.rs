//! Lists in pages.

use turnbuckle_types::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, Root,
};

use super::rules::project_objects;
use super::{message_meta, result_extra};

project_objects! {
    ListToolsResult {
        tools, next_cursor, ttl_ms cached, cache_scope cached, meta by message_meta,
        extra by result_extra,
    }
    ListResourcesResult {
        resources, next_cursor, ttl_ms cached, cache_scope cached, meta by message_meta,
        extra by result_extra,
    }
    ListResourceTemplatesResult {
        resource_templates, next_cursor, ttl_ms cached, cache_scope cached, meta by message_meta,
        extra by result_extra,
    }
    ListPromptsResult {
        prompts, next_cursor, ttl_ms cached, cache_scope cached, meta by message_meta,
        extra by result_extra,
    }
    ListRootsResult { roots, meta by message_meta, extra by result_extra }
    Root { uri, name, meta since titles, extra }
}
