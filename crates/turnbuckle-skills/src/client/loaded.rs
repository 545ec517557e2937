//! A skill whose `SKILL.md` was read and verified, and its other files.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnbuckle_types::base::debug_fields;

use super::cache::CachedContent;
use super::error::SkillError;
use super::origin::SkillOrigin;
use super::reader::SkillReader;
use crate::uri::decode_path;
use crate::{Frontmatter, SKILL_FILE, Skill, SkillResource};

/// A file of a skill, as it was verified. A file of a dynamic skill is not verified.
#[derive(Clone)]
pub struct SkillFile {
    uri: String,
    content: CachedContent,
}

impl SkillFile {
    pub(super) fn new(uri: String, content: CachedContent) -> Self {
        Self { uri, content }
    }

    /// Returns the URI of the file.
    #[must_use]
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Returns the bytes of the file.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.content.bytes
    }

    /// Returns the file as text, if it is UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content.bytes).ok()
    }

    /// Returns the media type that the server gave. Nothing verifies it.
    #[must_use]
    pub fn mime_type(&self) -> Option<&str> {
        self.content.mime_type.as_deref()
    }
}

/// The outcome of asking for the entry of a loaded skill again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SkillRefresh {
    /// The entry is the held one.
    Unchanged,
    /// The entry has changed. An approval of the held one is revoked: ask the user, then load this entry.
    Changed(Box<Skill>),
}

/// A skill whose `SKILL.md` was read and verified. It holds the entry that it was loaded from: only the files of this
/// entry can be read, from the server that it came from, and each is verified when it is read.
///
/// Specification: Skills (stable), "The Acting Window and the Held Entry".
#[derive(Clone)]
pub struct LoadedSkill(Arc<Loaded>);

struct Loaded {
    reader: SkillReader,
    entry: Skill,
    content: SkillFile,
    /// The files of the entry by their paths within the skill.
    files: HashMap<String, usize>,
    /// The bytes that were read of a dynamic skill.
    dynamic_bytes: AtomicU64,
}

impl LoadedSkill {
    /// Checks an entry, and reads and verifies its `SKILL.md`.
    pub(super) async fn load(reader: SkillReader, entry: Skill) -> Result<Self, SkillError> {
        reader.check(&entry)?;
        let uri = entry.uri().as_str();
        let content = match entry.files() {
            Some(_) => {
                let listed = entry.file(uri).ok_or_else(|| unlisted_error(&entry, uri))?;
                reader.read_listed(listed).await?
            }
            None => SkillFile::new(uri.to_owned(), reader.fetch(uri).await?),
        };
        verify_frontmatter(&entry, &content)?;
        let mut files = HashMap::new();
        for (index, file) in entry.files().unwrap_or_default().iter().enumerate() {
            if let Some(path) = entry.uri().relative(&file.uri).and_then(decode_path) {
                files.insert(path.into_owned(), index);
            }
        }
        let is_dynamic = entry.files().is_none();
        let loaded = Self(Arc::new(Loaded {
            reader,
            entry,
            files,
            dynamic_bytes: AtomicU64::new(0),
            content,
        }));
        if is_dynamic {
            loaded.count_dynamic(loaded.0.content.bytes().len())?;
        }
        Ok(loaded)
    }

    /// Returns the identity of the skill: the host's name for its server, and its URI.
    #[must_use]
    pub fn origin(&self) -> SkillOrigin {
        self.0.reader.origin(self.0.entry.uri().as_str())
    }

    /// Returns the entry that the skill was loaded from.
    #[must_use]
    pub fn entry(&self) -> &Skill {
        &self.0.entry
    }

    /// Returns the file `SKILL.md`.
    #[must_use]
    pub fn file(&self) -> &SkillFile {
        &self.0.content
    }

    /// Returns `SKILL.md` as it is, with its frontmatter.
    #[must_use]
    pub fn content(&self) -> &str {
        self.0.content.text().unwrap_or_default()
    }

    /// Returns `SKILL.md` for a model, after a line that names the skill and the server that it came from.
    ///
    /// Specification: Skills (stable), "Security Considerations".
    #[must_use]
    pub fn tagged_content(&self) -> String {
        let SkillOrigin { server, uri } = self.origin();
        format!(
            "[The skill {uri} from the MCP server {server:?}. It is text of that server, not of the user.]\n\n{}",
            self.content()
        )
    }

    /// Returns the paths of the files within the skill, `SKILL.md` included, in the order of the alphabet; `None` if
    /// the skill is dynamic.
    #[must_use]
    pub fn files(&self) -> Option<Vec<&str>> {
        self.0.entry.files()?;
        let mut paths: Vec<_> = self.0.files.keys().map(String::as_str).collect();
        paths.sort_unstable();
        Some(paths)
    }

    /// Returns the URIs of the skills inside of this one. Their files are ordinary files here; to load one as a skill
    /// needs its own entry, and an approval of its own.
    ///
    /// Specification: Skills (stable), "Nested Skills".
    #[must_use]
    pub fn nested_skills(&self) -> Vec<&str> {
        let files = self.0.entry.files().unwrap_or_default().iter();
        let nested = files.filter(|file| {
            let path = self.0.entry.uri().relative(&file.uri);
            path.is_some_and(|path| path.ends_with(&format!("/{SKILL_FILE}")))
        });
        nested.map(|file| file.uri.as_str()).collect()
    }

    /// Reads and verifies a file, by its path from the root of the skill, such as `references/FORMS.md`, as
    /// `SKILL.md` refers to it, or by its URI.
    ///
    /// # Errors
    /// Returns [`SkillError::Unlisted`] if the path leaves the skill or the held entry does not list the file, and
    /// another [`SkillError`] if the content is not what the entry describes.
    pub async fn read(&self, path: &str) -> Result<SkillFile, SkillError> {
        if self.0.entry.files().is_some() {
            let file = self
                .find(path)
                .ok_or_else(|| unlisted_error(&self.0.entry, path))?;
            return self.0.reader.read_listed(file).await;
        }
        let skill = self.0.entry.uri();
        let uri = match skill.contains(path) {
            true => Some(path.to_owned()),
            false => resolve(path).and_then(|path| skill.file(&path).ok()),
        };
        let uri = uri.ok_or_else(|| unlisted_error(&self.0.entry, path))?;
        let content = self.0.reader.fetch(&uri).await?;
        self.count_dynamic(content.bytes.len())?;
        Ok(SkillFile::new(uri, content))
    }

    /// Asks for the entry of the skill again (`skills/get`). The loaded skill stays as it is: if the entry has changed,
    /// the host asks the user for approval and loads the new one.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the server no longer serves the skill, or its entry is invalid.
    pub async fn refresh(&self) -> Result<SkillRefresh, SkillError> {
        let entry = self.0.reader.get(self.0.entry.uri().as_str()).await?;
        Ok(match entry == self.0.entry {
            true => SkillRefresh::Unchanged,
            false => SkillRefresh::Changed(Box::new(entry)),
        })
    }

    pub(super) fn reader(&self) -> &SkillReader {
        &self.0.reader
    }

    /// Returns the listed file at a path from the root of the skill, or with a URI.
    fn find(&self, path: &str) -> Option<&SkillResource> {
        let files = self.0.entry.files()?;
        if let Some(file) = self.0.entry.file(path) {
            return Some(file);
        }
        let resolved = resolve(path)?;
        let index = self.0.files.get(&resolved).or_else(|| {
            // References in Markdown are percent-encoded.
            let decoded = decode_path(&resolved)?;
            self.0.files.get(&*decoded)
        });
        files.get(*index?)
    }

    /// Counts bytes of a dynamic skill.
    fn count_dynamic(&self, bytes: usize) -> Result<(), SkillError> {
        let limit = self.0.reader.limits.max_bytes;
        let bytes = bytes as u64;
        let before = self.0.dynamic_bytes.fetch_add(bytes, Ordering::Relaxed);
        let sum = before.saturating_add(bytes);
        match sum > limit {
            true => Err(SkillError::TooManyBytes {
                uri: self.0.entry.uri().as_str().to_owned(),
                bytes: sum,
                limit,
            }),
            false => Ok(()),
        }
    }
}

/// Resolves a relative path as a file system would, against the root; `None` if it leaves the root or is a URI.
pub(super) fn resolve(path: &str) -> Option<String> {
    let mut segments = Vec::new();
    if path.starts_with('/') || path.contains("://") {
        return None;
    }
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            segment => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}

/// Compares the frontmatter of `SKILL.md` with the entry, field by field.
fn verify_frontmatter(entry: &Skill, content: &SkillFile) -> Result<(), SkillError> {
    let uri = || entry.uri().as_str().to_owned();
    let invalid = |reason| SkillError::InvalidFrontmatter { uri: uri(), reason };
    if content.text().is_none() {
        return Err(invalid("it is not UTF-8".to_owned()));
    }
    let frontmatter =
        Frontmatter::parse(content.bytes()).map_err(|error| invalid(error.to_string()))?;
    match entry.frontmatter().difference(&frontmatter) {
        Some(field) => Err(SkillError::FrontmatterMismatch { uri: uri(), field }),
        None => Ok(()),
    }
}

fn unlisted_error(entry: &Skill, path: &str) -> SkillError {
    SkillError::Unlisted {
        uri: entry.uri().as_str().to_owned(),
        path: path.to_owned(),
    }
}

debug_fields!(SkillFile { uri, bytes = |file| file.content.bytes.len() });
debug_fields!(LoadedSkill { origin = |skill| skill.origin() });
