//! URIs in results, which become those of the merged view.

use turnbuckle_types::{
    CallToolResult, CompleteResult, ContentBlock, GetPromptResult, Json, Map, Meta,
    ReadResourceResult, ResourceContents, meta,
};

use crate::view::names::Prefix;

/// A result whose URIs can become those of the merged view. The trait is sealed.
pub trait MergedUris: sealed::Rewrite {}

impl<T: sealed::Rewrite> MergedUris for T {}

pub(crate) mod sealed {
    use crate::view::names::Prefix;

    /// A result with URIs.
    pub trait Rewrite {
        /// Replaces the server's own URIs by those of the merged view.
        #[expect(private_interfaces, reason = "nobody outside can call it")]
        fn to_merged(&mut self, prefix: &Prefix);

        /// Removes the members that a server of the modern era adds to each result.
        fn remove_envelope(&mut self);
    }
}

/// The `_meta` member of a tool whose object names the page of an app.
const UI: &str = "ui";
/// The member of that object with the URI of the page.
const RESOURCE_URI: &str = "resourceUri";
/// The `_meta` member with the same URI, in the first versions of the extension.
const UI_RESOURCE_URI: &str = "ui/resourceUri";

/// The member of modern results with their type.
const RESULT_TYPE: &str = "resultType";

/// Replaces the URI of the page of an app in metadata.
pub(crate) fn rewrite_meta(meta: &mut Meta, prefix: &Prefix) {
    if prefix.is_empty() {
        return;
    }
    if let Some(uri) = meta.get::<String>(UI_RESOURCE_URI)
        && let Ok(uri) = Json::encode(&prefix.uri(&uri))
    {
        meta.insert_unchecked(UI_RESOURCE_URI, uri);
    }
    let Some(mut ui) = meta.get::<Map<Json>>(UI) else {
        return;
    };
    let own: Option<String> = ui.get(RESOURCE_URI).and_then(|uri| uri.decode().ok());
    if let Some(own) = own
        && let Ok(uri) = Json::encode(&prefix.uri(&own))
    {
        ui.insert(RESOURCE_URI, uri);
        if let Ok(ui) = Json::encode(&ui) {
            meta.insert_unchecked(UI, ui);
        }
    }
}

/// Replaces the URIs in content.
fn rewrite_content<'a>(content: impl Iterator<Item = &'a mut ContentBlock>, prefix: &Prefix) {
    if prefix.is_empty() {
        return;
    }
    for block in content {
        match block {
            ContentBlock::ResourceLink(link) => link.uri = prefix.uri(&link.uri),
            ContentBlock::Resource(embedded) => rewrite_contents(&mut embedded.resource, prefix),
            _ => {}
        }
    }
}

fn rewrite_contents(contents: &mut ResourceContents, prefix: &Prefix) {
    match contents {
        ResourceContents::Text(text) => text.uri = prefix.uri(&text.uri),
        ResourceContents::Blob(blob) => blob.uri = prefix.uri(&blob.uri),
        _ => {}
    }
}

macro_rules! rewritten {
    ($($Result:ty: |$result:ident, $prefix:ident| $rewrite:expr;)+) => {$(
        impl sealed::Rewrite for $Result {
            #[expect(private_interfaces, reason = "nobody outside can call it")]
            fn to_merged(&mut self, $prefix: &Prefix) {
                let $result = self;
                $rewrite
            }

            fn remove_envelope(&mut self) {
                self.meta.remove(meta::SERVER_INFO);
                self.extra.remove(RESULT_TYPE);
            }
        }
    )+};
}

rewritten! {
    CallToolResult: |result, prefix| {
        rewrite_content(result.content.iter_mut(), prefix);
        rewrite_meta(&mut result.meta, prefix);
    };
    GetPromptResult: |result, prefix| {
        let messages = result.messages.iter_mut();
        rewrite_content(messages.map(|message| &mut message.content), prefix);
    };
    ReadResourceResult: |result, prefix| {
        for contents in result.contents.iter_mut().filter(|_| !prefix.is_empty()) {
            rewrite_contents(contents, prefix);
        }
    };
    CompleteResult: |_result, _prefix| ();
}
