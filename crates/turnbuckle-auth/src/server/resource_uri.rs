//! The canonical URI of a protected resource: the audience of its tokens.
//!
//! Specification: basic/authorization (2026-07-28), "Canonical Server URI"; RFC 8707 section 2;
//! RFC 9728 section 3.

use url::Url;

use crate::outbound::is_https_or_loopback;

/// The path under which a host describes its resources.
pub(super) const WELL_KNOWN_PATH: &str = "/.well-known/oauth-protected-resource";

/// The canonical URI of a resource: lower-case scheme and host, no fragment, no trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResourceUri {
    canonical: String,
    origin: String,
    /// The public URL of this server's path `/`, without a trailing slash, if it is known.
    public_base: Option<String>,
}

impl ResourceUri {
    /// Reads a URI and brings it into canonical form.
    ///
    /// # Errors
    /// Returns the reason why the URI cannot name a resource.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        let url =
            Url::parse(text).map_err(|_| "it is not an absolute URI with a scheme and host")?;
        if !is_https_or_loopback(&url) {
            return Err("it is not https, nor http on a loopback host");
        }
        if url.fragment().is_some() {
            return Err("it has a fragment");
        }
        if url.query().is_some() {
            return Err("it has a query");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("it names a user");
        }
        let origin = url.origin().ascii_serialization();
        let path = url.path();
        let canonical = format!("{origin}{}", path.strip_suffix('/').unwrap_or(path));
        Ok(Self {
            canonical,
            origin,
            public_base: None,
        })
    }

    /// Sets the public URL under which clients reach this server's path `/`.
    ///
    /// # Errors
    /// Returns the reason why the URL cannot be that.
    pub(super) fn set_public_base(&mut self, url: &str) -> Result<(), &'static str> {
        let base = Self::parse(url)?;
        if base.origin != self.origin {
            return Err("its scheme, host or port is not that of the resource");
        }
        self.public_base = Some(base.canonical);
        Ok(())
    }

    /// Returns the canonical form.
    pub(super) fn as_str(&self) -> &str {
        &self.canonical
    }

    /// Returns scheme, host and port.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the path, which is empty for a resource at the root.
    pub(super) fn path(&self) -> &str {
        self.canonical.get(self.origin.len()..).unwrap_or_default()
    }

    /// Returns whether an audience names this resource. The case of scheme and host and one trailing
    /// slash do not matter. Nothing else is made equal: a parser would also take `/other/../mcp`, a
    /// backslash or `2130706433` for this resource.
    pub(super) fn is_named_by(&self, audience: &str) -> bool {
        let named = audience.strip_suffix('/').unwrap_or(audience);
        let origin = named.strip_suffix(self.path());
        origin.is_some_and(|origin| origin.eq_ignore_ascii_case(&self.origin))
    }

    /// Returns the path of the metadata document on the resource's host.
    pub(super) fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN_PATH}{}", self.path())
    }

    /// Returns the URL that a client used for a request, as far as this server can know.
    ///
    /// With a public base URL, it is the base and the path. Without one, a router or proxy may have cut
    /// off the beginning of the path: a path that ends the resource's own path means the resource.
    pub(super) fn request_url(&self, path: &str) -> String {
        if let Some(base) = &self.public_base {
            return format!("{base}{path}");
        }
        let is_resource = path == "/"
            || self
                .path()
                .strip_suffix(path.strip_suffix('/').unwrap_or(path))
                .is_some_and(|_| path.starts_with('/'));
        if is_resource {
            self.canonical.clone()
        } else {
            format!("{}{path}", self.origin)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> Result<String, &'static str> {
        ResourceUri::parse(text).map(|uri| uri.as_str().to_owned())
    }

    // requirement: 5a6104914500
    #[test]
    fn the_canonical_uri_has_no_trailing_slash_and_a_lower_case_host() {
        for (text, expected) in [
            ("https://mcp.example.com/mcp", "https://mcp.example.com/mcp"),
            ("https://mcp.example.com", "https://mcp.example.com"),
            ("https://mcp.example.com/", "https://mcp.example.com"),
            (
                "HTTPS://MCP.Example.com/Mcp/",
                "https://mcp.example.com/Mcp",
            ),
            (
                "https://mcp.example.com:8443",
                "https://mcp.example.com:8443",
            ),
            (
                "https://mcp.example.com:443/a/b",
                "https://mcp.example.com/a/b",
            ),
            ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"),
            ("http://[::1]:8080/mcp", "http://[::1]:8080/mcp"),
        ] {
            assert_eq!(canonical(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_uri_that_is_not_canonical_is_refused() {
        for text in [
            "mcp.example.com",
            "/mcp",
            "https://mcp.example.com#fragment",
            "https://mcp.example.com/#",
            "https://mcp.example.com/mcp?x=y",
            "https://user@mcp.example.com/mcp",
            "http://mcp.example.com/mcp",
            "ftp://mcp.example.com",
            "urn:example:mcp",
        ] {
            assert!(canonical(text).is_err(), "{text}");
        }
    }

    // requirement: d4a3005447e4
    #[test]
    fn an_audience_is_compared_in_canonical_form() {
        let uri = ResourceUri::parse("https://mcp.example.com/mcp").unwrap();
        for audience in [
            "https://mcp.example.com/mcp",
            "https://mcp.example.com/mcp/",
            "HTTPS://MCP.EXAMPLE.COM/mcp",
        ] {
            assert!(uri.is_named_by(audience), "{audience}");
        }
        for audience in [
            "",
            "https://mcp.example.com",
            "https://mcp.example.com/mcp/other",
            "https://mcp.example.com/mcp#x",
            "https://mcp.example.com/MCP",
            "https://mcp.example.com.evil.example/mcp",
            "https://mcp.example.com:8443/mcp",
            "https://mcp.example.com:443/mcp",
            "https://mcp.example.com/other/../mcp",
            "https://mcp.example.com/%2e%2e/mcp",
            "https://mcp.example.com\\mcp",
            "https://mcp.example.com/mcp//",
            " https://mcp.example.com/mcp",
            "http://mcp.example.com/mcp",
        ] {
            assert!(!uri.is_named_by(audience), "{audience}");
        }
    }

    #[test]
    fn the_metadata_path_has_the_path_of_the_resource() {
        for (text, path) in [
            ("https://h.example", "/.well-known/oauth-protected-resource"),
            (
                "https://h.example/p/mcp",
                "/.well-known/oauth-protected-resource/p/mcp",
            ),
        ] {
            assert_eq!(ResourceUri::parse(text).unwrap().metadata_path(), path);
        }
    }

    #[test]
    fn a_public_base_url_replaces_the_guess() {
        let mut uri = ResourceUri::parse("https://h.example/p/mcp").unwrap();
        uri.set_public_base("https://h.example/p/").unwrap();
        for (path, url) in [
            ("/mcp", "https://h.example/p/mcp"),
            ("/messages", "https://h.example/p/messages"),
            ("/p/mcp", "https://h.example/p/p/mcp"),
        ] {
            assert_eq!(uri.request_url(path), url);
        }
        for base in ["https://other.example/p", "http://h.example/p", "/p"] {
            assert!(uri.set_public_base(base).is_err(), "{base}");
        }
    }

    #[test]
    fn a_path_that_a_router_cut_means_the_resource() {
        let uri = ResourceUri::parse("https://h.example/p/mcp").unwrap();
        for path in ["/p/mcp", "/mcp", "/mcp/", "/"] {
            assert_eq!(uri.request_url(path), "https://h.example/p/mcp", "{path}");
        }
        for (path, url) in [
            ("/messages", "https://h.example/messages"),
            ("cp", "https://h.examplecp"),
            ("/q/mcp", "https://h.example/q/mcp"),
        ] {
            assert_eq!(uri.request_url(path), url);
        }
    }
}
