//! The client side: lists skills, and reads and verifies their files.
//!
//! ```no_run
//! use turnbuckle_skills::client::SkillsClient as _;
//!
//! # async fn example(client: turnbuckle_client::Client) -> Result<(), turnbuckle_skills::client::SkillError> {
//! let skills = client.list_skills().fetch_all().await?;
//! let skill = client.load_skill(&skills[0]).await?;
//! let forms = skill.read("references/FORMS.md").await?;
//! # Ok(())
//! # }
//! ```
//!
//! A file is read when the host asks for it, and returned only after it was compared with the entry of its skill. The
//! host itself has to:
//!
//! - Treat all content of skills as untrusted text. A digest proves that entry and content belong together, not that
//!   either is harmless.
//! - Tag content with its [`SkillOrigin`] where a model gets it: [`LoadedSkill::tagged_content`].
//! - Ask the user before a skill is loaded, and remember the answer in an [`ApprovalSet`]. A skill inside of another
//!   skill needs an approval of its own.
//! - Give nothing of the frontmatter an effect: this crate never acts on `allowed-tools` or any other field. Code is
//!   executed for a skill only after the user has approved it.
//!
//! Specification: Skills (stable), "Integrity and Verification", "Security Considerations".

mod approval;
mod cache;
mod directory;
mod error;
mod limits;
mod list;
mod loaded;
mod origin;
mod pages;
mod reader;

use turnbuckle_client::Client;

use crate::Skill;

pub use approval::{ApprovalSet, ApprovalState, approval_digest};
pub use cache::SkillCache;
pub use directory::{SkillDirectory, SkillDirectoryEntry};
pub use error::SkillError;
pub use limits::SkillLimits;
pub use list::{SkillList, SkillListing};
pub use loaded::{LoadedSkill, SkillFile, SkillRefresh};
pub use origin::{NameCollision, SkillOrigin, name_collisions};
pub use reader::SkillReader;

/// Skills of a [`Client`], with the default settings of [`SkillReader`]. The trait is sealed.
pub trait SkillsClient: sealed::Sealed {
    /// Returns a reader of the server's skills. `server` is the host's name for the server, such as its name in
    /// `mcp.json`: it is half of the identity of each skill.
    fn skills(&self, server: &str) -> SkillReader;

    /// Returns the list of the server's skills. An empty list is no proof that the server has none.
    fn list_skills(&self) -> SkillList;

    /// Returns the entry of the skill whose `SKILL.md` has this URI.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the server serves no such skill, or its entry is invalid.
    fn get_skill(&self, uri: &str) -> impl Future<Output = Result<Skill, SkillError>> + Send;

    /// Reads and verifies the `SKILL.md` of an entry.
    ///
    /// # Errors
    /// Returns a [`SkillError`] if the entry exceeds a limit, or the content is not what it describes.
    fn load_skill(
        &self,
        entry: &Skill,
    ) -> impl Future<Output = Result<LoadedSkill, SkillError>> + Send;

    /// Gets the entry of a skill by its URI, then reads and verifies its `SKILL.md`.
    ///
    /// # Errors
    /// As [`get_skill`](Self::get_skill) and [`load_skill`](Self::load_skill).
    fn load_skill_at(
        &self,
        uri: &str,
    ) -> impl Future<Output = Result<LoadedSkill, SkillError>> + Send;
}

impl SkillsClient for Client {
    fn skills(&self, server: &str) -> SkillReader {
        SkillReader::new(self.clone(), server)
    }

    fn list_skills(&self) -> SkillList {
        default_reader(self).list()
    }

    async fn get_skill(&self, uri: &str) -> Result<Skill, SkillError> {
        default_reader(self).get(uri).await
    }

    async fn load_skill(&self, entry: &Skill) -> Result<LoadedSkill, SkillError> {
        default_reader(self).load(entry).await
    }

    async fn load_skill_at(&self, uri: &str) -> Result<LoadedSkill, SkillError> {
        default_reader(self).load_at(uri).await
    }
}

/// Returns a reader that names the server by its address, which the host has chosen too.
fn default_reader(client: &Client) -> SkillReader {
    SkillReader::new(client.clone(), client.address())
}

mod sealed {
    pub trait Sealed {}

    impl Sealed for turnbuckle_client::Client {}
}
