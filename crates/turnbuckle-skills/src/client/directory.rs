//! Directories of a server (`resources/directory/read`).

use turnbuckle_types::{Request as _, Resource};

use super::error::SkillError;
use super::loaded::{LoadedSkill, resolve};
use super::pages::{PageWalk, fetch_page};
use super::reader::SkillReader;
use crate::uri::decode_path;
use crate::{ReadDirectory, ReadDirectoryParams, SkillUri};

/// The media type of a directory.
const DIRECTORY_MIME_TYPE: &str = "inode/directory";

/// The children of a directory of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillDirectory {
    /// The children, in the order of the server.
    pub entries: Vec<SkillDirectoryEntry>,
    /// The number of children that the held entry does not list. If there are any, the skill has changed since its
    /// entry was fetched: ask for it again ([`LoadedSkill::refresh`]).
    pub unlisted: usize,
}

/// A file or a directory within a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillDirectoryEntry {
    /// The path from the root of the skill.
    pub path: String,
    /// True for a directory.
    pub is_directory: bool,
}

impl SkillReader {
    /// Returns the direct children of a directory of the server, as the server describes them. The list adds no file
    /// to any skill: see [`LoadedSkill::read_directory`] for directories of skills.
    ///
    /// # Errors
    /// Returns [`SkillError::NoDirectories`] without a request if the server did not declare `directoryRead`, and
    /// another [`SkillError`] if there is no such directory, or the list does not end.
    pub async fn read_directory(&self, uri: &str) -> Result<Vec<Resource>, SkillError> {
        if !self.can_read_directories() {
            return Err(SkillError::NoDirectories);
        }
        let mut walk = PageWalk::new(&self.client, ReadDirectory::METHOD);
        let mut children = Vec::new();
        let mut cursor = None;
        loop {
            let params = ReadDirectoryParams {
                uri: uri.to_owned(),
                cursor,
            };
            let (page, bytes) = fetch_page::<ReadDirectory>(&self.client, uri, params).await?;
            walk.count(page.resources.len(), bytes, page.next_cursor.as_deref())?;
            children.extend(page.resources);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(children);
            }
        }
    }
}

impl LoadedSkill {
    /// Returns the direct children of a directory of the skill, by its path from the root; the empty path is the root
    /// itself. Children that the held entry does not list are counted and left out: they are no files of the skill.
    ///
    /// The files of a skill that is not dynamic are also in [`LoadedSkill::files`], without a request.
    ///
    /// # Errors
    /// As [`SkillReader::read_directory`], and [`SkillError::Unlisted`] if the path leaves the skill.
    ///
    /// Specification: Skills (stable), "Directory Reads and the Held Entry".
    pub async fn read_directory(&self, path: &str) -> Result<SkillDirectory, SkillError> {
        let skill = self.entry().uri();
        let unlisted_error = || SkillError::Unlisted {
            uri: skill.as_str().to_owned(),
            path: path.to_owned(),
        };
        let path = resolve(path).ok_or_else(unlisted_error)?;
        let uri = self.directory_uri(&path).ok_or_else(unlisted_error)?;
        let files = self.files();
        let mut directory = SkillDirectory {
            entries: Vec::new(),
            unlisted: 0,
        };
        for child in self.reader().read_directory(&uri).await? {
            let is_directory = child.mime_type.as_deref() == Some(DIRECTORY_MIME_TYPE);
            let is_listed = |path: &String| {
                files.as_ref().is_none_or(|files| match is_directory {
                    true => files.iter().any(|file| is_within(file, path)),
                    false => files.binary_search(&path.as_str()).is_ok(),
                })
            };
            match child_path(skill, &path, &child.uri).filter(is_listed) {
                Some(path) => directory
                    .entries
                    .push(SkillDirectoryEntry { path, is_directory }),
                None => directory.unlisted += 1,
            }
        }
        Ok(directory)
    }

    /// Returns the URI of a directory, spelled as in the URIs of the files in it, if the entry lists any.
    fn directory_uri(&self, path: &str) -> Option<String> {
        let skill = self.entry().uri();
        if path.is_empty() {
            return Some(skill.root().to_owned());
        }
        let levels = path.split('/').count();
        let listed = self
            .entry()
            .files()
            .unwrap_or_default()
            .iter()
            .find_map(|file| {
                let encoded = skill.relative(&file.uri)?;
                is_within(&decode_path(encoded)?, path).then_some(encoded)
            });
        match listed {
            Some(encoded) => {
                let segments: Vec<_> = encoded.split('/').take(levels).collect();
                Some(format!("{}/{}", skill.root(), segments.join("/")))
            }
            None => skill.file(path).ok(),
        }
    }
}

/// Returns the path from the root of a skill of a direct child of a directory.
fn child_path(skill: &SkillUri, directory: &str, child: &str) -> Option<String> {
    let path = decode_path(skill.relative(child)?)?.into_owned();
    let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
    (parent == directory).then_some(path)
}

/// Returns whether a file is within a directory, at any depth.
fn is_within(file: &str, directory: &str) -> bool {
    let rest = file.strip_prefix(directory);
    rest.is_some_and(|rest| rest.starts_with('/'))
}
