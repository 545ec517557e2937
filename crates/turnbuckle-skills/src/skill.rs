//! Entries of skills: the frontmatter of a skill and the digests of its files.

use std::collections::HashSet;

use serde::de::{self, Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use crate::digest::Digest;
use crate::error::InvalidSkill;
use crate::frontmatter::Frontmatter;
use crate::uri::{SkillUri, decode_path};

/// The most files of an entry that is decoded.
pub const MAX_RESOURCES: usize = 65_536;

/// A file of a skill, with the digest and the size of its bytes.
///
/// Specification: Skills (stable), "Skill Entries".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SkillResource {
    /// The address under which the file is read.
    pub uri: String,
    /// The SHA-256 of the file's bytes.
    pub digest: Digest,
    /// The size in bytes.
    pub size: u64,
}

/// The files of a skill.
///
/// Specification: Skills (stable), "Resources".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillResources {
    /// Every file, each once, `SKILL.md` among them.
    Listed(Vec<SkillResource>),
    /// The content is generated, so that no digests can be given.
    Dynamic,
}

/// The entry of a skill: its URI, its frontmatter and its files.
///
/// An entry that was decoded is valid: the URI ends with the name of the frontmatter, and the files are within the
/// skill, each listed once, `SKILL.md` among them.
///
/// Specification: Skills (stable), "Skill Entries".
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    uri: SkillUri,
    frontmatter: Frontmatter,
    resources: SkillResources,
}

impl Skill {
    /// Creates an entry.
    ///
    /// # Errors
    /// If the name of the frontmatter is not the last segment of the skill's path, a file is outside of the skill or
    /// listed twice, `SKILL.md` is not listed, there are more files than [`MAX_RESOURCES`], or the sum of the sizes is
    /// not a number of 64 bits.
    pub fn new(
        uri: SkillUri,
        frontmatter: Frontmatter,
        resources: SkillResources,
    ) -> Result<Self, InvalidSkill> {
        if frontmatter.name() != uri.name() {
            return Err(InvalidSkill::new(format_args!(
                "the name {:?} of the frontmatter is not the last segment of the path of {uri}",
                frontmatter.name()
            )));
        }
        if let SkillResources::Listed(files) = &resources {
            check_files(&uri, files)?;
        }
        Ok(Self {
            uri,
            frontmatter,
            resources,
        })
    }

    /// Returns the URI of the skill's `SKILL.md`.
    #[must_use]
    pub fn uri(&self) -> &SkillUri {
        &self.uri
    }

    /// Returns the name, which labels the skill and does not identify it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.frontmatter.name()
    }

    /// Returns the description: what the skill does and when to use it.
    #[must_use]
    pub fn description(&self) -> &str {
        self.frontmatter.description()
    }

    /// Returns the frontmatter.
    #[must_use]
    pub fn frontmatter(&self) -> &Frontmatter {
        &self.frontmatter
    }

    /// Returns the files.
    #[must_use]
    pub fn resources(&self) -> &SkillResources {
        &self.resources
    }

    /// Returns the files of a skill that lists them.
    #[must_use]
    pub fn files(&self) -> Option<&[SkillResource]> {
        match &self.resources {
            SkillResources::Listed(files) => Some(files),
            SkillResources::Dynamic => None,
        }
    }

    /// Returns the file with a URI, if the skill lists it.
    #[must_use]
    pub fn file(&self, uri: &str) -> Option<&SkillResource> {
        self.files()?.iter().find(|file| file.uri == uri)
    }

    /// Returns the sum of the sizes of the files, in bytes; `None` if the skill does not list them.
    #[must_use]
    pub fn total_bytes(&self) -> Option<u64> {
        Some(self.files()?.iter().map(|file| file.size).sum())
    }
}

fn check_files(skill: &SkillUri, files: &[SkillResource]) -> Result<(), InvalidSkill> {
    if files.len() > MAX_RESOURCES {
        return Err(InvalidSkill::new(format_args!(
            "{skill} lists more than {MAX_RESOURCES} files"
        )));
    }
    let mut paths = HashSet::with_capacity(files.len());
    let mut bytes = 0_u64;
    for file in files {
        let path = skill.relative(&file.uri).and_then(decode_path);
        let Some(path) = path else {
            return Err(InvalidSkill::new(format_args!(
                "the file {:?} is outside of the skill {skill}",
                file.uri
            )));
        };
        if !paths.insert(path) {
            return Err(InvalidSkill::new(format_args!(
                "{:?} is listed twice",
                file.uri
            )));
        }
        bytes = bytes.checked_add(file.size).ok_or_else(|| {
            InvalidSkill::new(format_args!("the sizes of the files of {skill} overflow"))
        })?;
    }
    if !files.iter().any(|file| file.uri == skill.as_str()) {
        return Err(InvalidSkill::new(format_args!(
            "the files of {skill} do not include it"
        )));
    }
    Ok(())
}

impl Serialize for SkillResources {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(files) => files.serialize(serializer),
            Self::Dynamic => serializer.serialize_str("dynamic"),
        }
    }
}

impl<'de> Deserialize<'de> for SkillResources {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ResourcesVisitor)
    }
}

struct ResourcesVisitor;

impl<'de> Visitor<'de> for ResourcesVisitor {
    type Value = SkillResources;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of files or \"dynamic\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SkillResources, E> {
        match text {
            "dynamic" => Ok(SkillResources::Dynamic),
            _ => Err(E::invalid_value(de::Unexpected::Str("another text"), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SkillResources, A::Error> {
        let mut files = Vec::new();
        while let Some(file) = seq.next_element()? {
            if files.len() == MAX_RESOURCES {
                return Err(A::Error::custom(format_args!(
                    "more than {MAX_RESOURCES} files"
                )));
            }
            files.push(file);
        }
        Ok(SkillResources::Listed(files))
    }
}

impl Serialize for Skill {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Entry {
            uri: self.uri.as_str().into(),
            frontmatter: &self.frontmatter,
            resources: &self.resources,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Skill {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = Entry::<Frontmatter, SkillResources>::deserialize(deserializer)?;
        let uri = SkillUri::parse(&entry.uri).map_err(D::Error::custom)?;
        Self::new(uri, entry.frontmatter, entry.resources).map_err(D::Error::custom)
    }
}

/// The members of an entry.
#[derive(Serialize, serde::Deserialize)]
struct Entry<'a, F, R> {
    uri: std::borrow::Cow<'a, str>,
    frontmatter: F,
    resources: R,
}

#[cfg(test)]
mod tests;
