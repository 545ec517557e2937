//! The skills of a server, before it is built.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use turnbuckle_types::CacheScope;

use super::code_skill::CodeSkill;
use super::fault::{Faults, SkillFault};
use super::limits::ServingLimits;
use super::loader::{Root, read_roots, skills_of_roots};
use super::snapshot::{ServedSkill, Snapshot};

/// The skills that a server serves: those of folders, and those that are made in code.
///
/// It becomes the extension `io.modelcontextprotocol/skills` of a server. Clients need not declare the extension. Those
/// of revisions without extensions see the files as ordinary resources.
///
/// ```no_run
/// use turnbuckle_server::Server;
/// use turnbuckle_skills::server::{SkillBuilder, Skills};
///
/// let hello = SkillBuilder::new("hello", "Greets people").body("Say hello.").build()?;
/// let skills = Skills::from_dir("skills")?.skill(hello);
/// for fault in skills.faults() {
///     eprintln!("{fault}");
/// }
/// let server = Server::new("docs", "1.0.0").extension(skills).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Specification: Skills (stable).
#[must_use]
pub struct Skills {
    roots: std::sync::Mutex<Vec<Root>>,
    made: Vec<ServedSkill>,
    settings: SkillsOptions,
    loaded: OnceLock<Snapshot>,
}

/// The settings of how skills are served.
#[derive(Debug, Clone)]
pub(super) struct SkillsOptions {
    pub(super) limits: ServingLimits,
    pub(super) ttl: Duration,
    pub(super) scope: CacheScope,
    pub(super) is_watching: bool,
    pub(super) has_directories: bool,
}

impl Default for Skills {
    fn default() -> Self {
        Self::new()
    }
}

impl Skills {
    /// Starts without skills.
    pub fn new() -> Self {
        Self {
            roots: std::sync::Mutex::default(),
            made: Vec::new(),
            settings: SkillsOptions {
                limits: ServingLimits::default(),
                ttl: Duration::ZERO,
                scope: CacheScope::Private,
                is_watching: false,
                has_directories: true,
            },
            loaded: OnceLock::new(),
        }
    }

    /// Starts with the skills of a folder; see [`dir`](Self::dir).
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn from_dir(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::new().dir(path)
    }

    /// Adds the skills of a folder: each folder in it, at any depth, that has a `SKILL.md`. The path from the folder to
    /// the skill becomes the path of its URI: `acme/refunds` is served as `skill://acme/refunds/SKILL.md`. If the folder
    /// has a `SKILL.md` itself, it is one skill.
    ///
    /// The files are read into memory when the server is built, and served from there. A skill that cannot be served
    /// whole is left out and named in [`faults`](Self::faults): the server starts without it. Symbolic links are not
    /// followed; entries whose name begins with a dot do not belong to a skill.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn dir(mut self, path: impl AsRef<Path>) -> io::Result<Self> {
        let root = Root::new(path.as_ref())?;
        self.roots_mut().push(root);
        self.reset();
        Ok(self)
    }

    /// Adds a skill that is made in code.
    pub fn skill(mut self, skill: CodeSkill) -> Self {
        self.made.push(skill.0);
        self.reset();
        self
    }

    /// Sets whether the folders are read again when something in them changes, about once a second. Clients that
    /// subscribed are notified, once for each change. Default: `false`.
    pub fn watch(mut self, watch: bool) -> Self {
        self.settings.is_watching = watch;
        self
    }

    /// Sets the bounds of what is loaded.
    pub fn limits(mut self, limits: ServingLimits) -> Self {
        self.settings.limits = limits;
        self.reset();
        self
    }

    /// Sets for how long clients may cache lists, entries and files, and whether caches may share them. Default: not
    /// cached.
    pub fn cache(mut self, ttl: Duration, scope: CacheScope) -> Self {
        self.settings.ttl = ttl;
        self.settings.scope = scope;
        self
    }

    /// Sets whether the server lists folders with `resources/directory/read`. Default: `true`.
    pub fn directories(mut self, directories: bool) -> Self {
        self.settings.has_directories = directories;
        self
    }

    /// Returns what was left out, and which skills hosts may decline. Reads the folders if they were not read yet.
    pub fn faults(&self) -> &[SkillFault] {
        self.load().faults()
    }

    /// Returns the number of skills that are served. Reads the folders if they were not read yet.
    pub fn count(&self) -> usize {
        self.load().skill_count()
    }

    fn load(&self) -> &Snapshot {
        self.loaded.get_or_init(|| {
            let mut roots = self
                .roots
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let mut faults = Faults::default();
            read_roots(&mut roots, &self.settings.limits, &mut faults);
            build(&roots, &self.made, faults, &self.settings.limits)
        })
    }

    fn roots_mut(&mut self) -> &mut Vec<Root> {
        self.roots
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn reset(&mut self) {
        self.loaded = OnceLock::new();
    }

    /// Returns the parts, with everything loaded.
    pub(super) fn into_parts(mut self) -> (Vec<Root>, Vec<ServedSkill>, SkillsOptions, Snapshot) {
        self.load();
        let snapshot = self.loaded.take().unwrap_or_default();
        let roots = std::mem::take(self.roots_mut());
        (roots, self.made, self.settings, snapshot)
    }
}

/// Builds a snapshot of the skills of folders and of code.
pub(super) fn build(
    roots: &[Root],
    made: &[ServedSkill],
    mut faults: Faults,
    limits: &ServingLimits,
) -> Snapshot {
    let mut skills = skills_of_roots(roots, &mut faults);
    skills.extend_from_slice(made);
    Snapshot::new(skills, faults, limits)
}

impl fmt::Debug for Skills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Skills")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
