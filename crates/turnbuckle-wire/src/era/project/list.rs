//! Lists in pages.

use turnbuckle_types::{
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListToolsResult, Root,
};

use super::members;

members! {
    ListToolsResult { tools within, ttl_ms cached, cache_scope cached, meta within, extra within }
    ListResourcesResult {
        resources within, ttl_ms cached, cache_scope cached, meta within, extra within,
    }
    ListResourceTemplatesResult {
        resource_templates within, ttl_ms cached, cache_scope cached, meta within, extra within,
    }
    ListPromptsResult {
        prompts within, ttl_ms cached, cache_scope cached, meta within, extra within,
    }
    ListRootsResult { roots within, meta within, extra within }
    Root { meta since titles }
}
