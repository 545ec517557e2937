//! Content of tool results and prompts.

use turnbuckle_types::{
    AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent, ResourceLink,
    TextContent,
};

use super::rules::{project_objects, project_unions};

project_objects! {
    TextContent { text, annotations, meta since titles, extra }
    ImageContent { data, mime_type, annotations, meta since titles, extra }
    AudioContent { data, mime_type, annotations, meta since titles, extra }
    ResourceLink {
        uri, name, title since titles, description, mime_type, size, icons since icons, annotations,
        meta since titles, extra,
    }
    EmbeddedResource { resource, annotations, meta since titles, extra }
}

project_unions! {
    ContentBlock else use_older_block {
        Text, Image, Audio since audio, ResourceLink since resource_links, Resource,
    }
}

/// Puts older content in the place of newer one.
fn use_older_block(block: &mut ContentBlock) {
    match block {
        ContentBlock::Audio(audio) => *block = embedded_audio(audio).into(),
        ContentBlock::ResourceLink(link) => *block = link_text(link).into(),
        _ => {}
    }
}

/// Returns an embedded resource whose contents are the audio.
fn embedded_audio(audio: &mut AudioContent) -> EmbeddedResource {
    let uri = format!("embedded:audio/{:016x}", hash(audio.data.as_bytes()));
    let data = std::mem::take(&mut audio.data);
    let mut contents = BlobResourceContents::new(uri, data);
    contents.mime_type = Some(std::mem::take(&mut audio.mime_type));
    let mut resource = EmbeddedResource::new(contents);
    resource.annotations = audio.annotations.take();
    resource
}

/// Returns the FNV-1a hash of `bytes`, which only tells pieces of content apart.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// Returns a text with the name, URI, type and description of a link.
fn link_text(link: &mut ResourceLink) -> TextContent {
    let name = link.title.as_deref().unwrap_or(&link.name);
    let mut text = format!("{name}: {}", link.uri);
    if let Some(mime_type) = &link.mime_type {
        text.extend([" (", mime_type, ")"]);
    }
    if let Some(description) = &link.description {
        text.extend(["\n", description]);
    }
    let mut content = TextContent::new(text);
    content.annotations = link.annotations.take();
    content
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::era::project::tests::project_json;
    use crate::revision::Revision;

    fn audio(data: &str) -> Value {
        json!({"type": "audio", "data": data, "mimeType": "audio/wav",
            "annotations": {"priority": 1}})
    }

    #[test]
    fn audio_becomes_a_resource_that_holds_it() {
        let older = project_json::<ContentBlock>(&audio("AQ=="), Revision::V2024_11_05);
        let uri = older["resource"]["uri"].as_str().unwrap();
        assert!(uri.starts_with("embedded:audio/"), "{uri}");
        assert_eq!(
            older,
            json!({"type": "resource", "annotations": {"priority": 1},
                "resource": {"uri": uri, "mimeType": "audio/wav", "blob": "AQ=="}})
        );
        let other = project_json::<ContentBlock>(&audio("Ag=="), Revision::V2024_11_05);
        assert_ne!(other["resource"]["uri"], uri);
        assert_eq!(
            project_json::<ContentBlock>(&audio("AQ=="), Revision::V2025_03_26),
            audio("AQ==")
        );
    }

    #[test]
    fn a_link_becomes_a_text_that_says_where_it_leads() {
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a", "title": "A",
            "mimeType": "text/plain", "description": "all of it", "annotations": {"priority": 1}});
        let older = project_json::<ContentBlock>(&link, Revision::V2025_03_26);
        assert_eq!(
            older,
            json!({"type": "text", "text": "A: file:///a (text/plain)\nall of it",
                "annotations": {"priority": 1}})
        );
        assert_eq!(
            project_json::<ContentBlock>(&link, Revision::V2025_06_18),
            link
        );
        let bare = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        assert_eq!(
            project_json::<ContentBlock>(&bare, Revision::V2024_11_05)["text"],
            "a: file:///a"
        );
    }

    #[test]
    fn hints_are_removed_for_older_revisions_and_unknown_members_pass() {
        let text = json!({"type": "text", "text": "t", "_meta": {"a": 1}, "x": 2,
            "annotations": {"lastModified": "2025-01-01", "audience": ["user"]}});
        let older = json!({"type": "text", "text": "t", "x": 2,
            "annotations": {"audience": ["user"]}});
        assert_eq!(
            project_json::<ContentBlock>(&text, Revision::V2025_06_18),
            text
        );
        assert_eq!(
            project_json::<ContentBlock>(&text, Revision::V2025_03_26),
            older
        );
        let unknown = json!({"type": "com.example/video", "data": "AA=="});
        assert_eq!(
            project_json::<ContentBlock>(&unknown, Revision::V2024_11_05),
            unknown
        );
    }

    #[test]
    fn icons_of_a_link_go_before_the_link_does() {
        let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a",
            "icons": [{"src": "https://example.com/i.png"}]});
        let older = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
        assert_eq!(
            project_json::<ContentBlock>(&link, Revision::V2025_11_25),
            link
        );
        assert_eq!(
            project_json::<ContentBlock>(&link, Revision::V2025_06_18),
            older
        );
    }
}
