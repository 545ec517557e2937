//! The list of a server's skills, which comes in pages.

use std::ops::Deref;

use turnbuckle_client::Client;
use turnbuckle_types::base::debug_fields;
use turnbuckle_types::{PaginatedRequestParams, Request as _};

use super::error::SkillError;
use super::origin::{NameCollision, SkillOrigin, name_collisions};
use super::pages::{PageWalk, fetch_page};
use crate::{ListSkills, ListSkillsResult, RejectedSkill, Skill};

/// The list of a server's skills: read page by page, or as a whole.
#[must_use = "nothing is asked for before the list is read"]
pub struct SkillList {
    client: Client,
}

impl SkillList {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    /// Returns one page: the one that begins at `cursor`, or the first. A cursor is the `next_cursor` of the page
    /// before.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the request fails.
    pub async fn page(&self, cursor: Option<&str>) -> Result<ListSkillsResult, SkillError> {
        let (page, _) = self.sized_page(cursor.map(str::to_owned)).await?;
        Ok(page)
    }

    /// Returns the entries of all pages. No file of a skill is read.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if a request fails, and [`SkillError::EndlessList`] if a cursor repeats or the list
    /// exceeds `max_list_pages`, `max_list_items` or `max_list_bytes` of the client's limits.
    pub async fn fetch_all(self) -> Result<SkillListing, SkillError> {
        let mut walk = PageWalk::new(&self.client, ListSkills::METHOD);
        let mut listing = SkillListing::default();
        let mut cursor = None;
        loop {
            let (page, bytes) = self.sized_page(cursor).await?;
            let count = page.skills.len() + page.rejected.len();
            walk.count(count, bytes, page.next_cursor.as_deref())?;
            listing.skills.extend(page.skills);
            listing.rejected.extend(page.rejected);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(listing);
            }
        }
    }

    async fn sized_page(
        &self,
        cursor: Option<String>,
    ) -> Result<(ListSkillsResult, usize), SkillError> {
        let mut params = PaginatedRequestParams::new();
        params.cursor = cursor;
        fetch_page::<ListSkills>(&self.client, "", params).await
    }
}

/// The skills that a server lists: a slice of their entries.
///
/// A server may list none or a part of its skills: it may serve others, which are loaded by their URIs.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SkillListing {
    /// The entries, in the order of the server.
    pub skills: Vec<Skill>,
    /// The entries that break a rule of the extension, and cannot be loaded.
    pub rejected: Vec<RejectedSkill>,
}

impl SkillListing {
    /// Returns the names that several entries have. A host shows each of these entries, for example with its URI.
    ///
    /// `server` is the host's name for the server.
    #[must_use]
    pub fn name_collisions(&self, server: &str) -> Vec<NameCollision> {
        name_collisions(self.skills.iter().map(|skill| {
            let origin = SkillOrigin::new(server, skill.uri().as_str());
            (skill.name(), origin)
        }))
    }
}

impl Deref for SkillListing {
    type Target = [Skill];

    fn deref(&self) -> &[Skill] {
        &self.skills
    }
}

impl IntoIterator for SkillListing {
    type Item = Skill;
    type IntoIter = std::vec::IntoIter<Skill>;

    fn into_iter(self) -> Self::IntoIter {
        self.skills.into_iter()
    }
}

debug_fields!(SkillList { server = |list| list.client.address().to_owned() });
