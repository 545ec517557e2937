//! Files that are read: as text, in parts, or as media.

use std::io::{Read as _, Seek as _, SeekFrom};

use cap_std::fs::File;
use turnbuckle::types::{BlobResourceContents, ContentBlock};
use turnbuckle::{Audio, Image};

use super::access::{Directories, Location};
use super::limits::Budget;
use crate::fault::Result;

/// The bytes that are read at once from a file of which a part is wanted.
const CHUNK_BYTES: usize = 64 << 10;

/// The part of a text that is wanted.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// All lines.
    Whole,
    /// The first lines.
    Head(u64),
    /// The last lines.
    Tail(u64),
}

impl Part {
    /// Reads the arguments of a tool, in which 0 is like nothing.
    pub(super) fn new(head: Option<u64>, tail: Option<u64>) -> Result<Self> {
        match (head.unwrap_or(0), tail.unwrap_or(0)) {
            (0, 0) => Ok(Self::Whole),
            (head, 0) => Ok(Self::Head(head)),
            (0, tail) => Ok(Self::Tail(tail)),
            _ => Err("Cannot specify both head and tail parameters simultaneously".into()),
        }
    }
}

/// Reads a file as text. Bytes that are no UTF-8 become U+FFFD.
pub(super) fn text(location: &Location<'_>, part: Part, budget: &mut Budget) -> Result<String> {
    let (mut file, size) = location.open_file()?;
    budget.advice = match part {
        Part::Whole => "read a part with `head` or `tail`, or fewer files",
        Part::Head(_) | Part::Tail(_) => "the lines are long; ask for fewer of them",
    };
    let bytes = match part {
        Part::Whole => whole(file, size, budget),
        Part::Head(lines) => head(&mut file, lines, budget),
        Part::Tail(lines) => tail(&mut file, size, lines, budget),
    };
    let text = lossy(bytes?);
    // Lines that are counted are joined again, as lines of text on any system.
    Ok(match part {
        Part::Whole => text,
        Part::Head(_) => text.strip_suffix('\n').unwrap_or(&text).to_owned(),
        Part::Tail(_) => text.replace("\r\n", "\n"),
    })
}

/// Returns text without a copy if it is UTF-8.
pub(super) fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Reads a whole file.
pub(super) fn bytes(location: &Location<'_>, budget: &mut Budget) -> Result<Vec<u8>> {
    let (file, size) = location.open_file()?;
    whole(file, size, budget)
}

fn whole(file: File, size: u64, budget: &mut Budget) -> Result<Vec<u8>> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > budget.bytes {
        return Err(budget.too_many_bytes());
    }
    let mut bytes = Vec::with_capacity(size + 1);
    // A file may grow meanwhile.
    file.take(budget.bytes as u64 + 1).read_to_end(&mut bytes)?;
    budget.take_bytes(bytes.len())?;
    Ok(bytes)
}

fn head(file: &mut File, lines: u64, budget: &mut Budget) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut missing = lines;
    loop {
        budget.check_time()?;
        let count = file.read(&mut chunk)?;
        let chunk = chunk.get(..count).unwrap_or_default();
        let mut ends = chunk.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let end = usize::try_from(missing - 1)
            .ok()
            .and_then(|skipped| ends.nth(skipped));
        let end = end.map(|(index, _)| index + 1);
        let wanted = chunk.get(..end.unwrap_or(count)).unwrap_or_default();
        budget.take_bytes(wanted.len())?;
        bytes.extend_from_slice(wanted);
        if end.is_some() || count == 0 {
            return Ok(bytes);
        }
        missing -= count_lines(chunk);
    }
}

fn tail(file: &mut File, size: u64, lines: u64, budget: &mut Budget) -> Result<Vec<u8>> {
    // The chunks, the last one first, each reversed.
    let mut reversed = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut missing = lines;
    let mut position = size;
    while position > 0 {
        budget.check_time()?;
        let length = usize::try_from(position)
            .unwrap_or(usize::MAX)
            .min(CHUNK_BYTES);
        position -= length as u64;
        file.seek(SeekFrom::Start(position))?;
        let chunk = chunk.get_mut(..length).unwrap_or_default();
        file.read_exact(chunk)?;
        let mut starts = chunk
            .iter()
            .rev()
            .enumerate()
            .filter(|(_, byte)| **byte == b'\n');
        let start = usize::try_from(missing - 1)
            .ok()
            .and_then(|skipped| starts.nth(skipped));
        let wanted = start.map_or(length, |(index, _)| index);
        budget.take_bytes(wanted)?;
        reversed.extend(chunk.iter().rev().take(wanted));
        if start.is_some() {
            break;
        }
        missing -= count_lines(chunk);
    }
    reversed.reverse();
    Ok(reversed)
}

fn count_lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Reads several files, of which some may fail.
pub(super) fn several(
    directories: &Directories,
    paths: &[String],
    budget: &mut Budget,
) -> Result<String> {
    let mut text_of_all = String::new();
    for (index, path) in paths.iter().enumerate() {
        budget.check_time()?;
        budget.take_bytes(path.len())?;
        if index > 0 {
            text_of_all.push_str("\n---\n");
        }
        let read = directories
            .locate(path)
            .and_then(|location| text(&location, Part::Whole, budget));
        match read {
            Ok(text) => text_of_all.extend([path, ":\n", &*text, "\n"]),
            Err(error) => text_of_all.extend([path, ": Error - ", &*error.to_string()]),
        }
    }
    Ok(text_of_all)
}

/// Reads a file as an image, a sound, or an embedded resource.
pub(super) fn media(location: &Location<'_>, budget: &mut Budget) -> Result<ContentBlock> {
    budget.advice = "a larger file has to be read as text, in parts";
    let bytes = bytes(location, budget)?;
    let path = location.path();
    let extension = path
        .extension()
        .map(|extension| extension.to_string_lossy().to_lowercase());
    let mime = match extension.as_deref() {
        Some("png") => "image/png",
        Some("jpg" | "jpeg") => "image/jpeg",
        Some("gif") => "image/gif",
        Some("webp") => "image/webp",
        Some("bmp") => "image/bmp",
        Some("svg") => "image/svg+xml",
        Some("mp3") => "audio/mpeg",
        Some("wav") => "audio/wav",
        Some("ogg") => "audio/ogg",
        Some("flac") => "audio/flac",
        _ => "application/octet-stream",
    };
    Ok(if mime.starts_with("image/") {
        Image::new(mime, bytes).into()
    } else if mime.starts_with("audio/") {
        Audio::new(mime, bytes).into()
    } else {
        let uri = url::Url::from_file_path(&path).map_err(|()| "the path has no URI")?;
        ContentBlock::resource(BlobResourceContents::from_bytes(uri, &bytes).mime_type(mime))
    })
}
