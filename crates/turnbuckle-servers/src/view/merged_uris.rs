//! URIs in results, which become those of the merged view.

use turnbuckle_types::{
    CallToolResult, CompleteResult, ContentBlock, GetPromptResult, ReadResourceResult,
    ResourceContents,
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
        }
    )+};
}

rewritten! {
    CallToolResult: |result, prefix| rewrite_content(result.content.iter_mut(), prefix);
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
