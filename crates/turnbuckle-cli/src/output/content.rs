//! Content of tools, prompts and resources as text for people.

use turnbuckle::types::{ContentBlock, NotBase64, ResourceContents};

use super::console::Console;
use super::save::Saver;
use super::style::{Style, format_bytes};
use crate::error::CliError;
use turnbuckle_types::base::terminal::{sanitize, sanitize_line};

/// Renders content blocks as text. Binary data is saved if `--out` is given, and otherwise only
/// summarized.
pub(crate) fn render_blocks(
    console: &Console,
    content: &[ContentBlock],
) -> Result<String, CliError> {
    let mut saver = Saver::new(
        console,
        content.iter().filter(|block| has_data(block)).count(),
    )?;
    let shown: Result<Vec<_>, _> = content
        .iter()
        .map(|block| render_block(console, &mut saver, block))
        .collect();
    Ok(shown?.join("\n"))
}

/// Renders the contents of a resource as text.
pub(crate) fn render_contents(
    console: &Console,
    contents: &[ResourceContents],
) -> Result<String, CliError> {
    let mut saver = Saver::new(console, contents.len())?;
    let shown: Result<Vec<_>, _> = contents
        .iter()
        .map(|contents| render_resource(console, &mut saver, contents, true))
        .collect();
    Ok(shown?.join("\n"))
}

/// Returns whether a block can hold data that `--out` saves.
fn has_data(block: &ContentBlock) -> bool {
    matches!(
        block,
        ContentBlock::Image(_) | ContentBlock::Audio(_) | ContentBlock::Resource(_)
    )
}

fn render_block(
    console: &Console,
    saver: &mut Saver,
    block: &ContentBlock,
) -> Result<String, CliError> {
    Ok(match block {
        ContentBlock::Text(text) => sanitize(&text.text),
        ContentBlock::Image(image) => render_data(
            console,
            saver,
            "image",
            Some(&image.mime_type),
            image.bytes(),
            None,
        )?,
        ContentBlock::Audio(audio) => render_data(
            console,
            saver,
            "audio",
            Some(&audio.mime_type),
            audio.bytes(),
            None,
        )?,
        ContentBlock::ResourceLink(link) => {
            let name = link.title.as_deref().unwrap_or(&link.name);
            let name = console.style(Style::Strong, &sanitize_line(name, 80));
            let mut shown = format!("[resource {name}: {}]", sanitize_line(&link.uri, 500));
            if let Some(description) = &link.description {
                shown = format!(
                    "{shown}\n  {}",
                    console.style(Style::Dim, &sanitize_line(description, 200))
                );
            }
            shown
        }
        ContentBlock::Resource(embedded) => {
            render_resource(console, saver, &embedded.resource, false)?
        }
        other => {
            let json = serde_json::to_string(other).unwrap_or_default();
            format!(
                "[content of an unknown kind: {}]",
                sanitize_line(&json, 200)
            )
        }
    })
}

/// Renders one resource. With `alone` false, which means embedded in other content, the URI
/// precedes the text.
fn render_resource(
    console: &Console,
    saver: &mut Saver,
    contents: &ResourceContents,
    alone: bool,
) -> Result<String, CliError> {
    Ok(match contents {
        ResourceContents::Text(text) if alone && !saver.is_enabled() => sanitize(&text.text),
        ResourceContents::Text(text) if alone => {
            let bytes = text.text.as_bytes();
            let mime = text.mime_type.as_deref();
            match saver.save(bytes, mime.or(Some("text/plain")), Some(&text.uri))? {
                Some(place) => summarize_data(
                    console,
                    "text",
                    mime,
                    bytes.len(),
                    Some(&text.uri),
                    Some(&place),
                ),
                None => sanitize(&text.text),
            }
        }
        ResourceContents::Text(text) => {
            let head = format!("[{}]", sanitize_line(&text.uri, 500));
            format!(
                "{}\n{}",
                console.style(Style::Dim, &head),
                sanitize(&text.text)
            )
        }
        ResourceContents::Blob(blob) => {
            let mime = blob.mime_type.as_deref();
            render_data(console, saver, "data", mime, blob.bytes(), Some(&blob.uri))?
        }
        other => {
            let json = serde_json::to_string(other).unwrap_or_default();
            format!(
                "[contents of an unknown kind: {}]",
                sanitize_line(&json, 200)
            )
        }
    })
}

/// Saves data if wanted, and returns a one-line summary. Data that could not be decoded makes the
/// result incomplete.
fn render_data(
    console: &Console,
    saver: &mut Saver,
    what: &str,
    mime: Option<&str>,
    bytes: Result<Vec<u8>, NotBase64>,
    uri: Option<&str>,
) -> Result<String, CliError> {
    let Ok(bytes) = bytes else {
        console.set_incomplete();
        let mime = mime.unwrap_or("no media type");
        return Ok(format!(
            "[{what} {}: its Base64 is not valid]",
            sanitize_line(mime, 80)
        ));
    };
    let place = saver.save(&bytes, mime, uri)?;
    Ok(summarize_data(
        console,
        what,
        mime,
        bytes.len(),
        uri,
        place.as_deref(),
    ))
}

/// Returns a one-line summary of data: kind, media type, size, URI, and the file that it was
/// written to.
fn summarize_data(
    console: &Console,
    what: &str,
    mime: Option<&str>,
    bytes: usize,
    uri: Option<&str>,
    place: Option<&str>,
) -> String {
    let mut parts = vec![format!(
        "{what} {}",
        mime.map_or_else(|| "of unknown type".into(), |mime| sanitize_line(mime, 80))
    )];
    parts.push(format_bytes(bytes as u64));
    parts.extend(uri.map(|uri| sanitize_line(uri, 500)));
    match place {
        Some(place) => parts.push(format!("written to {}", sanitize(place))),
        None => parts.push("--out FILE keeps it".to_owned()),
    }
    console.style(Style::Dim, &format!("[{}]", parts.join(", ")))
}
