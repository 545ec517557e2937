//! Icons, and the rule for which of them may be shown.

use crate::object::object;
use crate::words::words;

words! {
    /// The background that an icon is drawn for.
    pub open enum IconTheme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

object! {
    /// A picture for a tool, resource, prompt or implementation.
    ///
    /// Specification: basic/index, `icons` (2026-07-28).
    pub struct Icon {
        /// The source of the picture: an `https:` URL or a `data:` URI. Check it with
        /// [`Icon::is_safe_for`] before showing it.
        req src: String = "src" is uri,
        /// The picture's media type, if its source would not say so itself.
        opt mime_type: String = "mimeType",
        /// The sizes it is good for, such as `48x48`, or `any`.
        opt sizes: Vec<String> = "sizes",
        /// The background it is drawn for.
        opt theme: IconTheme = "theme",
    }
}

impl Icon {
    /// Returns whether the icon may be loaded on behalf of the server at `server` (its URL or origin; `None`
    /// where it has none, as over stdio).
    ///
    /// True for a Base64 `data:` URI of an image, and for an `https:` URL of the server's own origin
    /// that every URL parser reads alike. The bytes are as untrusted as before: load them without
    /// credentials or redirects, and check what they are.
    #[must_use]
    pub fn is_safe_for(&self, server: Option<&str>) -> bool {
        if let Some(data) = strip_scheme(&self.src, "data:") {
            let Some((media_type, _)) = data.split_once(',') else {
                return false;
            };
            let media_type = media_type.to_ascii_lowercase();
            return media_type.starts_with("image/") && media_type.ends_with(";base64");
        }
        match (https_origin(&self.src), server.and_then(https_origin)) {
            (Some(icon), Some(server)) => icon == server,
            _ => false,
        }
    }
}

fn strip_scheme<'a>(uri: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, rest) = uri.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Returns the host (in lower case) and port of an `https:` URL; `None` for anything that parsers
/// disagree about.
fn https_origin(url: &str) -> Option<(String, u16)> {
    let rest = strip_scheme(url, "https://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    // The colon of a port, not one inside an IPv6 address.
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (authority, ""),
    };
    let port = match port {
        "" => 443,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        _ => return None,
    };
    // Everything that parsers read in different ways (`\`, `@`, `%`, space, other scripts) is refused.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]:".contains(&byte);
    if host.is_empty() || !host.bytes().all(plain) {
        return None;
    }
    Some((host.to_ascii_lowercase(), port))
}
