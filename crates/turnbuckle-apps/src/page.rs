//! Pages: HTML resources with the permissions that they ask for.
//!
//! Specification: MCP Apps, "UI Resource Format" (2026-01-26).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_server::{IntoItem, Resource};
use turnbuckle_types::{Json, Meta, ResourceContents, TextResourceContents};

use crate::error::PageError;
use crate::origin::{self, OriginUse};

/// The media type of a page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The `_meta` key of the extension on pages and tools.
pub(crate) const META_KEY: &str = "ui";

const SCHEME: &str = "ui://";

/// The longest URI of a page that a server can register, in bytes.
const MAX_URI_BYTES: usize = 2048;

/// A checked HTML document under a `ui://` URI, which clients can show. Cheap to clone.
///
/// Register it at the server as a resource, and name it in tools with
/// [`ToolUi::ui`](crate::ToolUi::ui). The document is the same for every call: the data comes with
/// the results of the tool.
#[derive(Debug, Clone)]
pub struct Page(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    uri: String,
    name: String,
    html: String,
    meta: Meta,
}

impl Page {
    /// Starts a page with a URI that begins with `ui://`. The name appears in the list of
    /// resources.
    pub fn builder(uri: impl Into<String>, name: impl Into<String>) -> PageBuilder {
        PageBuilder {
            uri: uri.into(),
            name: name.into(),
            origins: BTreeSet::new(),
            meta: PageMeta::default(),
        }
    }

    /// Returns the URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.0.uri
    }

    /// Returns the page as a resource, to add a title, a description or caching.
    ///
    /// The requested permissions are in the list, where they can be reviewed before the page is
    /// read, and in the contents.
    pub fn resource(&self) -> Resource {
        let page = self.0.clone();
        Resource::builder(self.0.uri.clone(), self.0.name.clone())
            .mime_type(MIME_TYPE)
            .meta(self.0.meta.clone())
            .handler(move || vec![page.contents()])
    }
}

impl Inner {
    fn contents(&self) -> ResourceContents {
        TextResourceContents::new(&*self.uri, &*self.html)
            .mime_type(MIME_TYPE)
            .meta(self.meta.clone())
            .into()
    }
}

impl IntoItem<Resource> for Page {
    fn into_item(self) -> Resource {
        self.resource()
    }
}

/// A page without its document; see [`Page::builder`].
///
/// By default a page accesses nothing outside of itself and has no permissions. Clients may refuse
/// what it asks for.
#[derive(Debug, Clone)]
#[must_use]
pub struct PageBuilder {
    uri: String,
    name: String,
    origins: BTreeSet<(OriginUse, String)>,
    meta: PageMeta,
}

impl PageBuilder {
    /// Allows requests of scripts to an origin, such as `https://api.example.com` or
    /// `wss://live.example.com`.
    pub fn connect_domain(self, origin: impl Into<String>) -> Self {
        self.add_origin(OriginUse::Connect, origin.into())
    }

    /// Allows scripts, styles, images, fonts and media from an origin, such as
    /// `https://cdn.example.com`, or from all subdomains: `https://*.example.com`.
    pub fn resource_domain(self, origin: impl Into<String>) -> Self {
        self.add_origin(OriginUse::Resource, origin.into())
    }

    /// Allows frames of an origin.
    pub fn frame_domain(self, origin: impl Into<String>) -> Self {
        self.add_origin(OriginUse::Frame, origin.into())
    }

    /// Allows an origin for the base URI of the document.
    pub fn base_uri_domain(self, origin: impl Into<String>) -> Self {
        self.add_origin(OriginUse::BaseUri, origin.into())
    }

    fn add_origin(mut self, purpose: OriginUse, origin: String) -> Self {
        self.origins.insert((purpose, origin));
        self
    }

    /// Asks for a permission of the browser.
    pub fn permission(mut self, permission: Permission) -> Self {
        self.meta.permissions.insert(permission, EmptyObject {});
        self
    }

    /// Asks for a dedicated origin, for example for OAuth callbacks or CORS. The format depends on
    /// the client; see its documentation.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.meta.domain = Some(domain.into());
        self
    }

    /// Sets whether the client should draw a border and a background. The default depends on the
    /// client.
    pub fn prefers_border(mut self, border: bool) -> Self {
        self.meta.prefers_border = Some(border);
        self
    }

    /// Builds the page with a complete document, which begins with `<!doctype html>`.
    ///
    /// # Errors
    /// If the URI is not one of a page, a domain is not an origin, or the text is not an HTML
    /// document.
    pub fn html(self, html: impl Into<String>) -> Result<Page, PageError> {
        let Self {
            uri,
            name,
            origins,
            meta: mut view,
        } = self;
        let html = html.into();
        let fail = |reason: &str| PageError::new(&uri, reason);
        check_uri(&uri).map_err(fail)?;
        for (purpose, origin) in origins {
            origin::check_origin(&origin, purpose)
                .map_err(|reason| PageError::new(&uri, format!("{origin:?}: {reason}")))?;
            view.csp.origins_for(purpose).push(origin);
        }
        if view.domain.as_deref().is_some_and(|it| !is_domain(it)) {
            return Err(fail("its domain is no name"));
        }
        if !is_document(&html) {
            return Err(fail("its text does not begin with `<!doctype html>`"));
        }
        let mut meta = Meta::new();
        if !view.is_empty() {
            let view = Json::encode(&view).map_err(|error| PageError::new(&uri, error))?;
            meta.insert_unchecked(META_KEY, view);
        }
        Ok(Page(Arc::new(Inner {
            uri,
            name,
            html,
            meta,
        })))
    }
}

/// A permission of the browser. A page must work without it if the client does not grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Permission {
    /// Use of the camera.
    Camera,
    /// Use of the microphone.
    Microphone,
    /// Access to the location of the user.
    Geolocation,
    /// Writing to the clipboard.
    ClipboardWrite,
}

/// The members of a page's `_meta` that hosts read.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageMeta {
    #[serde(skip_serializing_if = "Csp::is_empty")]
    csp: Csp,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    permissions: BTreeMap<Permission, EmptyObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefers_border: Option<bool>,
}

impl PageMeta {
    fn is_empty(&self) -> bool {
        self.csp.is_empty()
            && self.permissions.is_empty()
            && self.domain.is_none()
            && self.prefers_border.is_none()
    }
}

/// The origins of a content security policy.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Csp {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    connect_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    frame_domains: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    base_uri_domains: Vec<String>,
}

impl Csp {
    fn is_empty(&self) -> bool {
        self.connect_domains.is_empty()
            && self.resource_domains.is_empty()
            && self.frame_domains.is_empty()
            && self.base_uri_domains.is_empty()
    }

    fn origins_for(&mut self, purpose: OriginUse) -> &mut Vec<String> {
        match purpose {
            OriginUse::Connect => &mut self.connect_domains,
            OriginUse::Resource => &mut self.resource_domains,
            OriginUse::Frame => &mut self.frame_domains,
            OriginUse::BaseUri => &mut self.base_uri_domains,
        }
    }
}

/// An empty JSON object.
#[derive(Debug, Clone, Serialize)]
struct EmptyObject {}

/// Checks the URI here, not only at registration, because a tool may refer to it before.
fn check_uri(uri: &str) -> Result<(), &'static str> {
    let Some(rest) = uri.strip_prefix(SCHEME) else {
        return Err("its URI does not begin with `ui://`");
    };
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    if rest.is_empty() {
        Err("its URI names nothing")
    } else if uri.len() > MAX_URI_BYTES {
        Err("its URI is longer than 2048 bytes")
    } else if !rest.bytes().all(allowed) {
        Err("its URI has a character that no URI has")
    } else {
        Ok(())
    }
}

/// Returns whether the text can be a domain. Clients check the rest.
fn is_domain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns whether the text begins like an HTML document.
fn is_document(html: &str) -> bool {
    const DOCTYPE: &str = "<!doctype html";
    let mut rest = html.trim_start_matches('\u{feff}').trim_ascii_start();
    while let Some(comment) = rest.strip_prefix("<!--") {
        let Some((_, after)) = comment.split_once("-->") else {
            return false;
        };
        rest = after.trim_ascii_start();
    }
    let Some((start, end)) = rest.split_at_checked(DOCTYPE.len()) else {
        return false;
    };
    start.eq_ignore_ascii_case(DOCTYPE)
        && end.starts_with(|next: char| next == '>' || next.is_ascii_whitespace())
}

#[cfg(test)]
mod tests;
