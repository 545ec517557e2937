//! Agent Skills over MCP: the extension `io.modelcontextprotocol/skills`.
//!
//! A skill is a folder with a `SKILL.md`, which begins with YAML frontmatter, and with further files. Each file is a
//! resource under the URI of its skill, such as `skill://pdf-processing/references/FORMS.md`. The extension adds
//! `skills/list` and `skills/get`, which return entries with the frontmatter of a skill and the digests of its files,
//! and `resources/directory/read`, which lists a folder.
//!
//! | module | for | feature |
//! |---|---|---|
//! | the root of the crate | what both sides share: entries, digests, frontmatter, names, URIs, methods | |
//! | `server` | serving skills of a folder, or skills that are made in code | `server` |
//! | `client` | listing skills, reading and verifying their files | `client` |
//!
//! Specification: Skills (stable); Agent Skills, "Specification".
#![cfg_attr(docsrs, feature(doc_cfg))]

mod digest;
mod error;
mod frontmatter;
mod method;
mod name;
mod skill;
mod uri;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

pub use digest::Digest;
pub use error::InvalidSkill;
pub use frontmatter::{Frontmatter, MAX_FRONTMATTER_BYTES};
pub use method::{
    GetSkill, GetSkillParams, GetSkillResult, ListSkills, ListSkillsResult, ReadDirectory,
    ReadDirectoryParams, RejectedSkill, SkillsSettings,
};
pub use name::{check_description, check_name};
pub use skill::{MAX_RESOURCES, Skill, SkillResource, SkillResources};
pub use uri::{MAX_URI_BYTES, SkillUri};

/// The id of the extension.
pub const EXTENSION_ID: &str = "io.modelcontextprotocol/skills";

/// The file that every skill has at its root.
pub const SKILL_FILE: &str = "SKILL.md";

/// The number of files up to which every host loads a skill.
///
/// Specification: Skills (stable), "Limits".
pub const RECOMMENDED_MAX_FILES: usize = 512;

/// The sum of the sizes of a skill's files up to which every host loads the skill, in bytes.
///
/// Specification: Skills (stable), "Limits".
pub const RECOMMENDED_MAX_BYTES: u64 = 16 * 1024 * 1024;
