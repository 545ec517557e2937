//! Content of tool results and prompts.

use turnbuckle_types::{
    AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent, ResourceLink,
    TextContent,
};

use super::{Project, members};
use crate::revision::Features;

members! {
    TextContent { annotations within, meta since titles }
    ImageContent { annotations within, meta since titles }
    AudioContent { annotations within, meta since titles }
    ResourceLink {
        title since titles, icons since icons, annotations within, meta since titles,
    }
    EmbeddedResource { resource within, annotations within, meta since titles }
}

impl Project for ContentBlock {
    fn fits(&self, features: &Features) -> bool {
        match self {
            Self::Text(text) => text.fits(features),
            Self::Image(image) => image.fits(features),
            Self::Audio(audio) => features.audio && audio.fits(features),
            Self::ResourceLink(link) => features.resource_links && link.fits(features),
            Self::Resource(resource) => resource.fits(features),
            _ => true,
        }
    }

    fn project(&mut self, features: &Features) {
        match self {
            Self::Audio(audio) if !features.audio => *self = embedded(audio).into(),
            Self::ResourceLink(link) if !features.resource_links => *self = told(link).into(),
            _ => {}
        }
        match self {
            Self::Text(text) => text.project(features),
            Self::Image(image) => image.project(features),
            Self::Audio(audio) => audio.project(features),
            Self::ResourceLink(link) => link.project(features),
            Self::Resource(resource) => resource.project(features),
            _ => {}
        }
    }
}

/// Audio as a resource that is its own contents.
fn embedded(audio: &mut AudioContent) -> EmbeddedResource {
    let uri = format!("embedded:audio/{:016x}", hash(audio.data.as_bytes()));
    let data = std::mem::take(&mut audio.data);
    let mut contents = BlobResourceContents::new(uri, data);
    contents.mime_type = Some(std::mem::take(&mut audio.mime_type));
    let mut resource = EmbeddedResource::new(contents);
    resource.annotations = audio.annotations.take();
    resource
}

/// FNV-1a: tells pieces of content apart, nothing more.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A link as the text that says where it leads.
fn told(link: &mut ResourceLink) -> TextContent {
    let name = link.title.as_deref().unwrap_or(&link.name);
    let mut text = format!("{name}: {}", link.uri);
    if let Some(mime_type) = &link.mime_type {
        text.extend([" (", mime_type, ")"]);
    }
    if let Some(description) = &link.description {
        text.extend(["\n", description]);
    }
    let mut told = TextContent::new(text);
    told.annotations = link.annotations.take();
    told
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::project::tests::told;
    use crate::revision::Revision;

    fn audio(data: &str) -> Value {
        json!({"type": "audio", "data": data, "mimeType": "audio/wav",
            "annotations": {"priority": 1}})
    }

    #[test]
    fn audio_becomes_a_resource_that_holds_it() {
        let older = told::<ContentBlock>(&audio("AQ=="), Revision::V2024_11_05);
        let uri = older["resource"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("embedded:audio/"), "{uri}");
        assert_eq!(
            older,
            json!({"type": "resource", "annotations": {"priority": 1},
                "resource": {"uri": uri, "mimeType": "audio/wav", "blob": "AQ=="}})
        );
        let other = told::<ContentBlock>(&audio("Ag=="), Revision::V2024_11_05);
        assert_ne!(other["resource"]["uri"], uri);
        assert_eq!(
            told::<ContentBlock>(&audio("AQ=="), Revision::V2025_03_26),
            audio("AQ==")
        );
    }

    #[test]
    fn a_link_becomes_a_text_that_says_where_it_leads() {
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A",
            "mimeType": "text/plain", "description": "all of it", "annotations": {"priority": 1}});
        let older = told::<ContentBlock>(&link, Revision::V2025_03_26);
        assert_eq!(
            older,
            json!({"type": "text", "text": "A: file:///a (text/plain)\nall of it",
                "annotations": {"priority": 1}})
        );
        assert_eq!(told::<ContentBlock>(&link, Revision::V2025_06_18), link);
        let bare = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        assert_eq!(
            told::<ContentBlock>(&bare, Revision::V2024_11_05)["text"],
            "a: file:///a"
        );
    }

    #[test]
    fn hints_are_removed_where_nobody_knows_them_and_unknown_things_pass() {
        let text = json!({"type": "text", "text": "t", "_meta": {"a": 1}, "x": 2,
            "annotations": {"lastModified": "2025-01-01", "audience": ["user"]}});
        let older = json!({"type": "text", "text": "t", "x": 2,
            "annotations": {"audience": ["user"]}});
        assert_eq!(told::<ContentBlock>(&text, Revision::V2025_06_18), text);
        assert_eq!(told::<ContentBlock>(&text, Revision::V2025_03_26), older);
        let unknown = json!({"type": "com.example/video", "data": "AA=="});
        assert_eq!(
            told::<ContentBlock>(&unknown, Revision::V2024_11_05),
            unknown
        );
    }

    #[test]
    fn icons_of_a_link_go_before_the_link_does() {
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a",
            "icons": [{"src": "https://example.com/i.png"}]});
        let older = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        assert_eq!(told::<ContentBlock>(&link, Revision::V2025_11_25), link);
        assert_eq!(told::<ContentBlock>(&link, Revision::V2025_06_18), older);
    }
}
