//! The server's side: skills of a folder, and skills that are made in code.
//!
//! ```no_run
//! use turnbuckle_server::Server;
//! use turnbuckle_skills::server::Skills;
//!
//! let server = Server::new("docs", "1.0.0")
//!     .extension(Skills::from_dir("skills")?.watch(true))
//!     .build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Skills`] reads the folders and becomes the extension. `folder` reads, `loader` finds the skills in what was read,
//! `code_skill` has skills of code, `snapshot` the snapshot of all of them from which requests are answered, `extension` the
//! methods and resources, and `watch` the loop that reads changed folders again.

mod code_skill;
mod content;
mod extension;
mod fault;
mod folder;
mod limits;
mod loader;
mod skills;
mod snapshot;
mod watch;

pub use code_skill::{CodeSkill, SkillBuilder};
pub use fault::SkillFault;
pub use limits::ServingLimits;
pub use skills::Skills;
