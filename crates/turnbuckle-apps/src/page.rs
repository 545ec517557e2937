//! Pages: HTML resources, and what they may do in a client's sandbox.
//!
//! Specification: MCP Apps, "UI Resource Format" (2026-01-26).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use turnbuckle_server::{IntoItem, Resource};
use turnbuckle_types::{Json, Meta, ResourceContents, TextResourceContents};

use crate::error::PageError;
use crate::origin::{self, Purpose};

/// The media type of a page.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The `_meta` key under which pages and tools say what concerns the extension.
pub(crate) const META: &str = "ui";

const SCHEME: &str = "ui://";

/// The longest URI of a page, in bytes: what a server can register.
const MAX_URI: usize = 2048;

/// A page that a client shows: a checked HTML document under a `ui://` URI. Cheap to clone.
///
/// A server is given it as a resource, and the tools that are shown in it refer to it with
/// [`Ui::ui`](crate::Ui::ui). It is the same for every call: what differs comes with the tool's
/// results.
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
    /// Begins a page at this URI, which begins with `ui://`; its name is what clients list.
    pub fn builder(uri: impl Into<String>, name: impl Into<String>) -> PageBuilder {
        PageBuilder {
            uri: uri.into(),
            name: name.into(),
            origins: BTreeSet::new(),
            view: View::default(),
        }
    }

    /// Its URI.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.0.uri
    }

    /// Its resource, to say more of it: a title, a description, for how long it may be kept.
    ///
    /// What the page asks of its client stands in the list, to be reviewed before it is read, and
    /// beside its text, where it is read.
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

/// A page that has no document yet; see [`Page::builder`].
///
/// By default a page reaches nothing outside of itself and has no permission. What is asked for
/// here a client may grant or not.
#[derive(Debug, Clone)]
#[must_use]
pub struct PageBuilder {
    uri: String,
    name: String,
    origins: BTreeSet<(Purpose, String)>,
    view: View,
}

impl PageBuilder {
    /// An origin that its scripts may send requests to, such as `https://api.example.com` or
    /// `wss://live.example.com`.
    pub fn connect_domain(self, origin: impl Into<String>) -> Self {
        self.domain_for(Purpose::Connect, origin.into())
    }

    /// An origin that it may load scripts, styles, images, fonts and media from, such as
    /// `https://cdn.example.com`, or all subdomains of one: `https://*.example.com`.
    pub fn resource_domain(self, origin: impl Into<String>) -> Self {
        self.domain_for(Purpose::Resource, origin.into())
    }

    /// An origin that it may have frames of.
    pub fn frame_domain(self, origin: impl Into<String>) -> Self {
        self.domain_for(Purpose::Frame, origin.into())
    }

    /// An origin that the base URI of its document may have.
    pub fn base_uri_domain(self, origin: impl Into<String>) -> Self {
        self.domain_for(Purpose::BaseUri, origin.into())
    }

    fn domain_for(mut self, purpose: Purpose, origin: String) -> Self {
        self.origins.insert((purpose, origin));
        self
    }

    /// Asks for something that a browser lets a page do only with permission.
    pub fn permission(mut self, permission: Permission) -> Self {
        self.view.permissions.insert(permission, Nothing {});
        self
    }

    /// Asks for an origin of its own, where others have to know it (OAuth callbacks, CORS). Each
    /// client has a form of its own for it, which its documentation tells.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.view.domain = Some(domain.into());
        self
    }

    /// Whether the client is to draw a border and a background around it. Clients differ where it
    /// is not said.
    pub fn prefers_border(mut self, border: bool) -> Self {
        self.view.prefers_border = Some(border);
        self
    }

    /// The page, with this document: a whole one, beginning with `<!doctype html>`.
    ///
    /// # Errors
    /// When the URI is none of a page, a domain is no origin, or the text is no HTML document.
    pub fn html(self, html: impl Into<String>) -> Result<Page, PageError> {
        let Self {
            uri,
            name,
            origins,
            mut view,
        } = self;
        let html = html.into();
        let fail = |reason: &str| PageError::new(&uri, reason);
        check_uri(&uri).map_err(fail)?;
        for (purpose, origin) in origins {
            origin::check(&origin, purpose)
                .map_err(|reason| PageError::new(&uri, format!("{origin:?}: {reason}")))?;
            view.csp.list(purpose).push(origin);
        }
        if view.domain.as_deref().is_some_and(|it| !is_domain(it)) {
            return Err(fail("its domain is no name"));
        }
        if !is_document(&html) {
            return Err(fail("its text does not begin with `<!doctype html>`"));
        }
        let mut meta = Meta::new();
        if !view.is_empty() {
            let view = Json::of(&view).map_err(|error| PageError::new(&uri, error))?;
            meta.insert_unchecked(META, view);
        }
        Ok(Page(Arc::new(Inner {
            uri,
            name,
            html,
            meta,
        })))
    }
}

/// What a browser lets a page do only with permission. A page has to do without where its client
/// does not grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Permission {
    /// Seeing through the camera.
    Camera,
    /// Hearing through the microphone.
    Microphone,
    /// Knowing where the user is.
    Geolocation,
    /// Writing to the clipboard.
    ClipboardWrite,
}

/// What is said of a page.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    #[serde(skip_serializing_if = "Csp::is_empty")]
    csp: Csp,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    permissions: BTreeMap<Permission, Nothing>,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefers_border: Option<bool>,
}

impl View {
    fn is_empty(&self) -> bool {
        self.csp.is_empty()
            && self.permissions.is_empty()
            && self.domain.is_none()
            && self.prefers_border.is_none()
    }
}

/// The origins that a content security policy is made of.
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

    fn list(&mut self, purpose: Purpose) -> &mut Vec<String> {
        match purpose {
            Purpose::Connect => &mut self.connect_domains,
            Purpose::Resource => &mut self.resource_domains,
            Purpose::Frame => &mut self.frame_domains,
            Purpose::BaseUri => &mut self.base_uri_domains,
        }
    }
}

/// An empty object.
#[derive(Debug, Clone, Serialize)]
struct Nothing {}

/// Checks a URI here and not only when it is registered: a tool may say it before.
fn check_uri(uri: &str) -> Result<(), &'static str> {
    let Some(rest) = uri.strip_prefix(SCHEME) else {
        return Err("its URI does not begin with `ui://`");
    };
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    if rest.is_empty() {
        Err("its URI names nothing")
    } else if uri.len() > MAX_URI {
        Err("its URI is longer than 2048 bytes")
    } else if !rest.bytes().all(allowed) {
        Err("its URI has a character that no URI has")
    } else {
        Ok(())
    }
}

/// The rest is for each client to judge.
fn is_domain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text begins as every HTML document has to.
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
