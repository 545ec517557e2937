//! Methods of the extension, with their parameters and results.

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use turnbuckle_types::{
    CacheScope, ExtensionRequest, Json, ListResourcesResult, PaginatedRequestParams, Request,
};

use crate::EXTENSION_ID;
use crate::error::InvalidSkill;
use crate::skill::Skill;
use crate::uri::MAX_URI_BYTES;

/// The most entries of one page that is decoded.
const MAX_PAGE_ENTRIES: usize = 100_000;

/// The most entries of one page that are kept as rejected; further ones are counted only.
const MAX_REJECTED: usize = 1000;

/// The settings that a server declares with the extension.
///
/// Specification: Skills (stable), "Capability Negotiation".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SkillsSettings {
    /// True if the server implements [`ReadDirectory`].
    #[serde(rename = "directoryRead", default)]
    pub directory_read: bool,
}

/// The request `skills/list`: one page of the entries of a server's skills.
///
/// Specification: Skills (stable), "Listing Skills".
#[derive(Debug)]
pub struct ListSkills;

impl Request for ListSkills {
    const METHOD: &'static str = "skills/list";
    type Params = PaginatedRequestParams;
    type Result = ListSkillsResult;
}

impl ExtensionRequest for ListSkills {
    const EXTENSION: &'static str = EXTENSION_ID;
    const IS_SAFE_TO_RESEND: bool = true;
}

/// A page of entries of skills.
///
/// An empty or partial list is no proof that the server has no further skills: [`GetSkill`] answers for every one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSkillsResult {
    /// The valid entries.
    pub skills: Vec<Skill>,
    /// The entries that are invalid, of which nothing may be used; at most the first 1,000 of a page.
    #[serde(skip)]
    pub rejected: Vec<RejectedSkill>,
    /// The start of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// The time for which the page may be cached, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The receivers that may be given a cached copy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

/// An entry that is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedSkill {
    /// The URI of the entry, if it has one.
    pub uri: Option<String>,
    /// The rule that the entry breaks.
    pub reason: InvalidSkill,
}

impl<'de> Deserialize<'de> for ListSkillsResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Members {
            skills: Page,
            next_cursor: Option<String>,
            #[serde(default, deserialize_with = "decode_ttl")]
            ttl_ms: Option<u64>,
            cache_scope: Option<CacheScope>,
        }

        let members = Members::deserialize(deserializer)?;
        Ok(Self {
            skills: members.skills.valid,
            rejected: members.skills.rejected,
            next_cursor: members.next_cursor,
            ttl_ms: members.ttl_ms,
            cache_scope: members.cache_scope,
        })
    }
}

/// The entries of a page, each decoded by itself: an invalid one does not hide the others.
struct Page {
    valid: Vec<Skill>,
    rejected: Vec<RejectedSkill>,
}

impl<'de> Deserialize<'de> for Page {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PageVisitor)
    }
}

struct PageVisitor;

impl<'de> Visitor<'de> for PageVisitor {
    type Value = Page;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an array of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Page, A::Error> {
        #[derive(serde::Deserialize)]
        struct Uri {
            uri: String,
        }

        let mut page = Page {
            valid: Vec::new(),
            rejected: Vec::new(),
        };
        let mut count = 0;
        while let Some(entry) = seq.next_element::<Json>()? {
            if count == MAX_PAGE_ENTRIES {
                return Err(A::Error::custom(format_args!(
                    "more than {MAX_PAGE_ENTRIES} entries"
                )));
            }
            count += 1;
            match entry.decode::<Skill>() {
                Ok(skill) => page.valid.push(skill),
                Err(error) if page.rejected.len() < MAX_REJECTED => {
                    page.rejected.push(RejectedSkill {
                        uri: entry
                            .decode::<Uri>()
                            .ok()
                            .map(|entry| entry.uri)
                            .filter(|uri| uri.len() <= MAX_URI_BYTES),
                        reason: InvalidSkill::new(error),
                    })
                }
                Err(_) => {}
            }
        }
        Ok(page)
    }
}

/// The request `skills/get`: the entry of one skill, listed or not.
///
/// Specification: Skills (stable), "Getting a Skill".
#[derive(Debug)]
pub struct GetSkill;

impl Request for GetSkill {
    const METHOD: &'static str = "skills/get";
    type Params = GetSkillParams;
    type Result = GetSkillResult;
}

impl ExtensionRequest for GetSkill {
    const EXTENSION: &'static str = EXTENSION_ID;
    const IS_SAFE_TO_RESEND: bool = true;
}

/// Parameters of [`GetSkill`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct GetSkillParams {
    /// The URI of the skill's `SKILL.md`.
    pub uri: String,
}

/// The answer to [`GetSkill`]: one entry.
#[derive(Debug, Clone, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetSkillResult {
    /// The entry.
    pub skill: Skill,
    /// The time for which the entry may be cached, in milliseconds.
    #[serde(
        default,
        deserialize_with = "decode_ttl",
        skip_serializing_if = "Option::is_none"
    )]
    pub ttl_ms: Option<u64>,
    /// The receivers that may be given a cached copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_scope: Option<CacheScope>,
}

/// The request `resources/directory/read`: one page of the direct children of a directory.
///
/// A client sends it only to servers that declare [`SkillsSettings::directory_read`].
///
/// Specification: Skills (stable), "Reading Directories".
#[derive(Debug)]
pub struct ReadDirectory;

impl Request for ReadDirectory {
    const METHOD: &'static str = "resources/directory/read";
    type Params = ReadDirectoryParams;
    type Result = ListResourcesResult;
}

impl ExtensionRequest for ReadDirectory {
    const EXTENSION: &'static str = EXTENSION_ID;
    const IS_SAFE_TO_RESEND: bool = true;
}

/// Parameters of [`ReadDirectory`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct ReadDirectoryParams {
    /// The URI of the directory, without a slash at its end.
    pub uri: String,
    /// The start of the page, as the page before it said; absent for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Decodes a time to live in milliseconds: a negative one counts as 0, a fraction is cut off.
fn decode_ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<serde_json::Number>::deserialize(deserializer)?;
    // The cast saturates at both ends.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Ok(number.and_then(|number| {
        number
            .as_u64()
            .or_else(|| number.as_f64().map(|ms| ms as u64))
    }))
}

#[cfg(test)]
mod tests;
