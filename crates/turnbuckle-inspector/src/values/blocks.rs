//! Blocks of content: what a tool, a prompt or a resource returned.

use base64::Engine as _;

use super::document::{Document, Value};
use super::string::{char_boundary, decode_piece, excerpt};
use crate::api::{Block, BlockKind, Blocks, TextPiece, ValueKind};

/// The most blocks of one answer.
const MAX_BLOCKS: usize = 500;

/// The most bytes of one piece of text.
const MAX_PIECE_BYTES: usize = 64 * 1024;

/// The most bytes of text in the blocks of one answer.
const MAX_BLOCKS_BYTES: usize = 256 * 1024;

/// The most bytes of a description or a URI in a block.
const MAX_WORDS_BYTES: usize = 2_000;

/// The members of results that have blocks: of tools, of prompts, of resources.
const LISTS: [&str; 3] = ["content", "messages", "contents"];

/// The bytes of an image or a sound, with the media type that they have.
pub struct Blob {
    /// The media type by the first bytes; `application/octet-stream` for all but images and sounds.
    pub media_type: &'static str,
    /// The decoded bytes.
    pub bytes: Vec<u8>,
}

impl Document {
    /// Returns the blocks of content of a response from an index on, at most `count` and about 256 kB of
    /// text.
    #[must_use]
    pub fn blocks(&self, from: usize, count: usize) -> Blocks {
        let root = self.root();
        let member = |value: Option<Value<'_>>, name: &str| {
            let children = value?.children().enumerate();
            let with_name = children.filter(|(_, child)| child.key().as_deref() == Some(name));
            let (ordinal, child) = with_name.last()?;
            Some((ordinal.to_string(), child.at))
        };
        let result = member(root, "result").and_then(|(path, at)| Some((path, self.value(at)?)));
        let mut blocks = Blocks {
            total: 0,
            from: from as u64,
            blocks: Vec::new(),
            is_error: false,
            structured: None,
        };
        let Some((result_path, result)) = result else {
            return blocks;
        };
        // A task that has ended has the result of its call.
        let of_task = || {
            result.member("taskId")?;
            let (ordinal, at) = member(Some(result), "result")?;
            Some((format!("{result_path}.{ordinal}"), self.value(at)?))
        };
        let (result_path, result) = of_task().unwrap_or((result_path, result));
        let is_true = |value: Value<'_>| value.as_bool() == Some(true);
        blocks.is_error = result.member("isError").is_some_and(is_true);
        let structured = member(Some(result), "structuredContent");
        blocks.structured = structured.map(|(ordinal, _)| format!("{result_path}.{ordinal}"));
        let lists = LISTS.iter().filter_map(|name| member(Some(result), name));
        let Some((ordinal, list)) = lists.into_iter().next() else {
            return blocks;
        };
        let (path, Some(list)) = (format!("{result_path}.{ordinal}"), self.value(list)) else {
            return blocks;
        };
        // The content of a sampling message is one block.
        let items: Box<dyn Iterator<Item = _>> = match list.kind() {
            ValueKind::Array => {
                blocks.total = list.len() as u64;
                let children = list.children().enumerate();
                Box::new(children.map(move |(at, item)| (format!("{path}.{at}"), item)))
            }
            _ => {
                blocks.total = 1;
                Box::new(std::iter::once((path, list)))
            }
        };
        let mut bytes = 0;
        for (path, item) in items.skip(from).take(count.min(MAX_BLOCKS)) {
            let block = make_block(path, item);
            bytes += block_bytes(&block);
            if bytes > MAX_BLOCKS_BYTES && !blocks.blocks.is_empty() {
                break;
            }
            blocks.blocks.push(block);
        }
        blocks
    }

    /// Returns a piece of the decoded text of the block at a path, or of the string there, from an offset
    /// that an earlier piece returned.
    #[must_use]
    pub fn text_piece(&self, path: &str, from: usize) -> Option<TextPiece> {
        let block = self.find(path)?;
        let resource = || block.member("resource")?.member("text");
        let text = match block.kind() {
            ValueKind::String => block,
            _ => block.member("text").or_else(resource)?,
        };
        let (text, next) = decode_piece(text.body()?, from, MAX_PIECE_BYTES);
        let next = next.map(|next| next as u64);
        Some(TextPiece { text, next })
    }

    /// Decodes the Base64 text at a path.
    #[must_use]
    pub fn blob(&self, path: &str) -> Option<Blob> {
        let text = self.find(path)?.as_str()?;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(text)
            .ok()?;
        Some(Blob {
            media_type: media_type(&bytes),
            bytes,
        })
    }
}

fn make_block(path: String, item: Value<'_>) -> Block {
    let role = item.member("role").and_then(|role| short_text(Some(role)));
    // A message of a prompt has its block in `content`.
    let message = role.as_ref().and_then(|_| child_of(item, "content", &path));
    let (content_path, content) = message.unwrap_or((path, item));
    Block {
        role,
        annotations: content
            .member("annotations")
            .map(|it| excerpt(it.raw()).text),
        content: make_content(content, &content_path),
        path: content_path,
    }
}

fn child_of<'d>(value: Value<'d>, name: &str, path: &str) -> Option<(String, Value<'d>)> {
    let children = value.children().enumerate();
    let with_name = children.filter(|(_, child)| child.key().as_deref() == Some(name));
    let (ordinal, child) = with_name.last()?;
    Some((format!("{path}.{ordinal}"), child))
}

fn make_content(content: Value<'_>, path: &str) -> BlockKind {
    let kind = short_text(content.member("type"));
    match kind.as_deref() {
        Some("text") => text_of(content, None),
        Some("image" | "audio") => blob_of(content, "data", path),
        Some("resource_link") => link_of(content),
        Some("resource") => match child_of(content, "resource", path) {
            Some((path, resource)) => resource_of(resource, &path),
            None => BlockKind::Other,
        },
        // The contents of a resource have no type.
        None => resource_of(content, path),
        Some(_) => BlockKind::Other,
    }
}

fn resource_of(resource: Value<'_>, path: &str) -> BlockKind {
    let uri = short_text(resource.member("uri"));
    match resource.member("text") {
        Some(_) => text_of(resource, uri),
        None => blob_of(resource, "blob", path),
    }
}

fn text_of(content: Value<'_>, uri: Option<String>) -> BlockKind {
    match content.member("text").and_then(|text| text.body()) {
        Some(body) => {
            let (text, next) = decode_piece(body, 0, MAX_PIECE_BYTES);
            BlockKind::Text {
                text,
                next: next.map(|next| next as u64),
                mime: short_text(content.member("mimeType")),
                uri,
            }
        }
        None => BlockKind::Other,
    }
}

fn blob_of(content: Value<'_>, name: &str, path: &str) -> BlockKind {
    let data = child_of(content, name, path);
    let data = data.and_then(|(path, data)| Some((path, data.body()?.len())));
    match data {
        Some((blob, length)) => BlockKind::Blob {
            blob,
            mime: short_text(content.member("mimeType")),
            size: (length / 4 * 3) as u64,
            uri: short_text(content.member("uri")),
        },
        None => BlockKind::Other,
    }
}

fn link_of(content: Value<'_>) -> BlockKind {
    match short_text(content.member("uri")) {
        Some(uri) => BlockKind::Link {
            uri,
            name: short_text(content.member("name")),
            title: short_text(content.member("title")),
            description: short_text(content.member("description")),
            mime: short_text(content.member("mimeType")),
        },
        None => BlockKind::Other,
    }
}

/// Returns the decoded text of a string, cut.
fn short_text(value: Option<Value<'_>>) -> Option<String> {
    let (mut text, _) = decode_piece(value?.body()?, 0, MAX_WORDS_BYTES);
    text.truncate(char_boundary(text.as_bytes(), MAX_WORDS_BYTES));
    Some(text)
}

fn block_bytes(block: &Block) -> usize {
    let content = match &block.content {
        BlockKind::Text { text, .. } => text.len(),
        BlockKind::Link { description, .. } => description.as_ref().map_or(0, String::len),
        _ => 0,
    };
    content + block.path.len() + block.annotations.as_ref().map_or(0, String::len) + 256
}

/// Returns the media type of bytes that are an image or a sound which a browser shows without scripts.
fn media_type(bytes: &[u8]) -> &'static str {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => "image/webp",
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'A',
            b'V',
            b'E',
            ..,
        ] => "audio/wav",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        [b'I', b'D', b'3', ..] | [0xFF, 0xFB | 0xF3 | 0xF2, ..] => "audio/mpeg",
        _ => "application/octet-stream",
    }
}
