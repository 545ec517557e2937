//! Media types.

/// Returns whether a media type is JSON, or a range that has JSON.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = essence(media_type);
    matches!(
        &*essence,
        "application/json" | "application/*" | "*/*" | "text/json"
    ) || essence.ends_with("+json")
}

/// Returns a media type without its parameters, in lower case.
pub(super) fn essence(media_type: &str) -> String {
    let essence = media_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}
