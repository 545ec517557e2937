//! What tools, prompts and resources return, for people.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use turnbuckle::types::{ContentBlock, ResourceContents};

use super::paint::{Ink, size};
use super::save::Saver;
use super::screen::Screen;
use super::terminal::{clean, line};
use crate::failure::Failure;

/// Content as text, one block after the other; data is named and sized, and written to where the
/// user said.
pub(crate) fn blocks(screen: &Screen, content: &[ContentBlock]) -> Result<String, Failure> {
    let mut saver = Saver::new(
        screen,
        content.iter().filter(|block| has_data(block)).count(),
    )?;
    let shown: Result<Vec<_>, _> = content
        .iter()
        .map(|block| one(screen, &mut saver, block))
        .collect();
    Ok(shown?.join("\n"))
}

/// The contents of a resource as text.
pub(crate) fn contents(screen: &Screen, contents: &[ResourceContents]) -> Result<String, Failure> {
    let mut saver = Saver::new(screen, contents.len())?;
    let shown: Result<Vec<_>, _> = contents
        .iter()
        .map(|contents| resource(screen, &mut saver, contents, true))
        .collect();
    Ok(shown?.join("\n"))
}

fn has_data(block: &ContentBlock) -> bool {
    matches!(
        block,
        ContentBlock::Image(_) | ContentBlock::Audio(_) | ContentBlock::Resource(_)
    )
}

fn one(screen: &Screen, saver: &mut Saver, block: &ContentBlock) -> Result<String, Failure> {
    Ok(match block {
        ContentBlock::Text(text) => clean(&text.text),
        ContentBlock::Image(image) => data(
            screen,
            saver,
            "image",
            Some(&image.mime_type),
            &image.data,
            None,
        )?,
        ContentBlock::Audio(audio) => data(
            screen,
            saver,
            "audio",
            Some(&audio.mime_type),
            &audio.data,
            None,
        )?,
        ContentBlock::ResourceLink(link) => {
            let name = link.title.as_deref().unwrap_or(&link.name);
            let name = screen.ink(Ink::Strong, &line(name, 80));
            let mut shown = format!("[resource {name}: {}]", line(&link.uri, 500));
            if let Some(description) = &link.description {
                shown = format!(
                    "{shown}\n  {}",
                    screen.ink(Ink::Dim, &line(description, 200))
                );
            }
            shown
        }
        ContentBlock::Resource(embedded) => resource(screen, saver, &embedded.resource, false)?,
        other => {
            let json = serde_json::to_string(other).unwrap_or_default();
            format!(
                "[content of a kind that is not known here: {}]",
                line(&json, 200)
            )
        }
    })
}

/// A resource's contents. Inside other content its text is headed by its URI.
fn resource(
    screen: &Screen,
    saver: &mut Saver,
    contents: &ResourceContents,
    alone: bool,
) -> Result<String, Failure> {
    Ok(match contents {
        ResourceContents::Text(text) if alone && !saver.is_wanted() => clean(&text.text),
        ResourceContents::Text(text) if alone => {
            let bytes = text.text.as_bytes();
            let mime = text.mime_type.as_deref();
            match saver.save(bytes, mime.or(Some("text/plain")), Some(&text.uri))? {
                Some(place) => named(
                    screen,
                    "text",
                    mime,
                    bytes.len(),
                    Some(&text.uri),
                    Some(&place),
                ),
                None => clean(&text.text),
            }
        }
        ResourceContents::Text(text) => {
            let head = format!("[{}]", line(&text.uri, 500));
            format!("{}\n{}", screen.ink(Ink::Dim, &head), clean(&text.text))
        }
        ResourceContents::Blob(blob) => {
            let mime = blob.mime_type.as_deref();
            data(screen, saver, "data", mime, &blob.blob, Some(&blob.uri))?
        }
        other => {
            let json = serde_json::to_string(other).unwrap_or_default();
            format!(
                "[contents of a kind that is not known here: {}]",
                line(&json, 200)
            )
        }
    })
}

fn data(
    screen: &Screen,
    saver: &mut Saver,
    what: &str,
    mime: Option<&str>,
    base64: &str,
    uri: Option<&str>,
) -> Result<String, Failure> {
    let Ok(bytes) = STANDARD.decode(base64) else {
        let told = mime.unwrap_or("no media type");
        return Ok(format!(
            "[{what} {}: its Base64 is not valid]",
            line(told, 80)
        ));
    };
    let place = saver.save(&bytes, mime, uri)?;
    Ok(named(
        screen,
        what,
        mime,
        bytes.len(),
        uri,
        place.as_deref(),
    ))
}

fn named(
    screen: &Screen,
    what: &str,
    mime: Option<&str>,
    bytes: usize,
    uri: Option<&str>,
    place: Option<&str>,
) -> String {
    let mut parts = vec![format!(
        "{what} {}",
        mime.map_or_else(|| "of no type".into(), |mime| line(mime, 80))
    )];
    parts.push(size(bytes as u64));
    parts.extend(uri.map(|uri| line(uri, 500)));
    match place {
        Some(place) => parts.push(format!("written to {}", clean(place))),
        None => parts.push("--out FILE keeps it".to_owned()),
    }
    screen.ink(Ink::Dim, &format!("[{}]", parts.join(", ")))
}
