//! The smallest files that are what they say they are, in Base64.

/// One red pixel.
pub(super) const PIXEL_PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAMAAAAoyzS7AAAAA1BMVEX/AAAZ4gk3\
    AAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";

/// Eight samples of silence, at eight kilohertz.
pub(super) const SILENCE_WAV: &str =
    "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// A turnbuckle between two eyes, 48 pixels wide, as a URI.
pub(super) const ICON: &str = "data:image/png;base64,\
    iVBORw0KGgoAAAANSUhEUgAAADAAAAAwAQMAAABtzGvEAAAABlBMVEX///8rX4pRlFHaAAAAAXRSTlMAQObYZgAAAEZJREFU\
    eNpjYKAbYP///wGC4v///wOc4uFnYPhgwGAPov4w1PczMHz8x1D//wH7/38M+SDqG4yCCkKVQDVAtaOaiWYfnQAAMOk1xYlS\
    60oAAAAASUVORK5CYII=";
