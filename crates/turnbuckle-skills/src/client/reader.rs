//! A reader of the skills of one server: requests, limits and checks.

use std::sync::Arc;

use turnbuckle_client::Client;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::method::ReadResource;
use turnbuckle_types::{ReadResourceResult, Request as _, ResourceContents, describe_decode_error};

use super::cache::{CachedContent, SkillCache};
use super::error::SkillError;
use super::limits::SkillLimits;
use super::list::SkillList;
use super::loaded::{LoadedSkill, SkillFile};
use super::origin::SkillOrigin;
use super::pages::Raw;
use crate::{
    Digest, EXTENSION_ID, GetSkill, GetSkillParams, GetSkillResult, Skill, SkillResource,
    SkillResources, SkillUri, SkillsSettings,
};

/// A reader of the skills of one server. Clones share the connection and the cache.
#[derive(Clone)]
pub struct SkillReader {
    pub(super) client: Client,
    pub(super) server: Arc<str>,
    pub(super) limits: SkillLimits,
    allows_dynamic: bool,
    cache: Option<SkillCache>,
}

impl SkillReader {
    /// Creates a reader of the skills of a server that the host calls `server`.
    pub fn new(client: Client, server: impl Into<Arc<str>>) -> Self {
        Self {
            client,
            server: server.into(),
            limits: SkillLimits::default(),
            allows_dynamic: false,
            cache: None,
        }
    }

    /// Sets the limits of a skill.
    #[must_use]
    pub fn limits(mut self, limits: SkillLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether skills are loaded whose content is generated (`"dynamic"`). Nothing of them can be verified but
    /// the frontmatter, and no approval covers them. They are refused by default.
    #[must_use]
    pub fn allow_dynamic(mut self, allow: bool) -> Self {
        self.allows_dynamic = allow;
        self
    }

    /// Sets the cache of verified files, which several readers can share. There is none by default.
    #[must_use]
    pub fn cache(mut self, cache: SkillCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Returns the host's name for the server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns the identity of the skill at `uri` on this server.
    #[must_use]
    pub fn origin(&self, uri: &str) -> SkillOrigin {
        SkillOrigin::new(&*self.server, uri)
    }

    /// Returns the list of the server's skills. Listing reads no file. An empty list is no proof that the server has
    /// no skills.
    pub fn list(&self) -> SkillList {
        SkillList::new(self.client.clone())
    }

    /// Returns the entry of the skill whose `SKILL.md` has this URI, whether it is listed or not.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the URI is not one of a `SKILL.md`, the server serves no such skill, or its entry is
    /// invalid.
    pub async fn get(&self, uri: &str) -> Result<Skill, SkillError> {
        SkillUri::parse(uri).map_err(|error| SkillError::InvalidUri {
            reason: error.to_string(),
        })?;
        let params = GetSkillParams {
            uri: uri.to_owned(),
        };
        let result = self.client.request_extension::<Raw<GetSkill>>(params).await;
        let result = result.map_err(|error| SkillError::request(GetSkill::METHOD, uri, error))?;
        let result =
            result
                .decode::<GetSkillResult>()
                .map_err(|error| SkillError::InvalidEntry {
                    uri: uri.to_owned(),
                    reason: describe_decode_error(&error),
                })?;
        let skill = result.skill;
        if skill.uri().as_str() != uri {
            return Err(SkillError::InvalidEntry {
                uri: uri.to_owned(),
                reason: format!("the server sent the entry of {}", skill.uri().as_str()),
            });
        }
        Ok(skill)
    }

    /// Checks that an entry is within the limits, and not dynamic unless that is allowed. Nothing is read.
    ///
    /// # Errors
    /// Returns a [`SkillError`] that says why this host does not load the skill.
    pub fn check(&self, entry: &Skill) -> Result<(), SkillError> {
        let uri = || entry.uri().as_str().to_owned();
        let SkillResources::Listed(files) = entry.resources() else {
            return match self.allows_dynamic {
                true => Ok(()),
                false => Err(SkillError::DynamicRefused { uri: uri() }),
            };
        };
        if files.len() > self.limits.max_files {
            return Err(SkillError::TooManyFiles {
                uri: uri(),
                files: files.len(),
                limit: self.limits.max_files,
            });
        }
        let bytes = files
            .iter()
            .fold(0_u64, |sum, file| sum.saturating_add(file.size));
        if bytes > self.limits.max_bytes {
            return Err(SkillError::TooManyBytes {
                uri: uri(),
                bytes,
                limit: self.limits.max_bytes,
            });
        }
        Ok(())
    }

    /// Reads and verifies the `SKILL.md` of an entry. No other file is read.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the entry exceeds a limit, or the content is not what it describes.
    pub async fn load(&self, entry: &Skill) -> Result<LoadedSkill, SkillError> {
        LoadedSkill::load(self.clone(), entry.clone()).await
    }

    /// Gets the entry of a skill by its URI, then reads and verifies its `SKILL.md`.
    ///
    /// # Errors
    /// As [`get`](Self::get) and [`load`](Self::load).
    pub async fn load_at(&self, uri: &str) -> Result<LoadedSkill, SkillError> {
        let entry = self.get(uri).await?;
        LoadedSkill::load(self.clone(), entry).await
    }

    /// Returns whether the server declared that it lists directories.
    #[must_use]
    pub fn can_read_directories(&self) -> bool {
        let server = self.client.server_info();
        let settings = server
            .as_ref()
            .and_then(|server| server.capabilities.extensions.get(EXTENSION_ID));
        settings
            .and_then(|settings| settings.decode::<SkillsSettings>().ok())
            .is_some_and(|settings| settings.directory_read)
    }

    /// Reads a file of an entry, and compares its size and digest. A verified copy in the cache is not read again.
    pub(super) async fn read_listed(&self, file: &SkillResource) -> Result<SkillFile, SkillError> {
        let digest = file.digest.to_string();
        let cached = self
            .cache
            .as_ref()
            .and_then(|cache| cache.get(&self.server, &file.uri, &digest));
        if let Some(content) = cached {
            return Ok(SkillFile::new(file.uri.clone(), content));
        }
        let content = self.fetch(&file.uri).await?;
        let actual = content.bytes.len() as u64;
        if actual != file.size {
            return Err(SkillError::SizeMismatch {
                uri: file.uri.clone(),
                expected: file.size,
                actual,
            });
        }
        let actual = Digest::compute(&content.bytes);
        if actual != file.digest {
            return Err(SkillError::DigestMismatch {
                uri: file.uri.clone(),
                expected: digest,
                actual: actual.to_string(),
            });
        }
        if let Some(cache) = &self.cache {
            cache.insert(&self.server, &file.uri, &digest, content.clone());
        }
        Ok(SkillFile::new(file.uri.clone(), content))
    }

    /// Reads a file from the server, unverified.
    pub(super) async fn fetch(&self, uri: &str) -> Result<CachedContent, SkillError> {
        // A result that the client has cached may be older than the entry.
        let result = self.client.read_resource(uri).bypass_cache().await;
        let result = result.map_err(|error| match error.is_resource_not_found() {
            true => SkillError::Missing {
                uri: uri.to_owned(),
            },
            false => SkillError::request(ReadResource::METHOD, uri, error),
        })?;
        one_file(uri, result).map_err(|reason| SkillError::UnusableContents {
            uri: uri.to_owned(),
            reason,
        })
    }
}

/// Returns the content of the one file that was asked for.
fn one_file(uri: &str, result: ReadResourceResult) -> Result<CachedContent, String> {
    let mut contents = result.contents.into_iter();
    let (Some(content), None) = (contents.next(), contents.next()) else {
        return Err("the result does not have exactly one content".to_owned());
    };
    if content.uri() != Some(uri) {
        return Err("the content has another URI".to_owned());
    }
    let (bytes, mime_type) = match content {
        ResourceContents::Text(text) => (text.text.into_bytes(), text.mime_type),
        ResourceContents::Blob(blob) => {
            let bytes = blob.bytes().map_err(|error| error.to_string())?;
            (bytes, blob.mime_type)
        }
        _ => return Err("the content is neither text nor Base64".to_owned()),
    };
    Ok(CachedContent {
        bytes: bytes.into(),
        mime_type,
    })
}

debug_fields!(SkillReader {
    server,
    limits,
    allows_dynamic
});
