//! Skills of folders: which folders are skills, and which of them can be served.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::fault::Faults;
use super::folder::{Budget, Folder, read_root};
use super::limits::ServingLimits;
use super::snapshot::{ServedFile, ServedSkill};
use crate::SKILL_FILE;
use crate::error::InvalidSkill;
use crate::frontmatter::Frontmatter;
use crate::uri::SkillUri;

/// A folder that is served, with what was read of it last.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    /// The name of the folder, which is the name of the skill if the folder itself is one.
    name: String,
    folder: Option<Folder>,
}

impl Root {
    /// Opens a folder to see that it is there.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub(super) fn new(path: &Path) -> io::Result<Self> {
        let name =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let full = path.canonicalize().map_err(name)?;
        std::fs::read_dir(&full).map_err(name)?;
        let folder_name = full
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        Ok(Self {
            path: path.to_owned(),
            name: folder_name.unwrap_or_default(),
            folder: None,
        })
    }

    /// Reads the folder, and returns whether it is different from what was read before.
    ///
    /// # Errors
    /// If the folder cannot be opened; what was read before is kept.
    fn read(&mut self, budget: &mut Budget<'_>) -> io::Result<bool> {
        let folder = read_root(&self.path, self.folder.as_ref(), budget)?;
        let is_changed = self.folder.as_ref() != Some(&folder);
        self.folder = Some(folder);
        Ok(is_changed)
    }

    /// Adds the skills of what was read, and names the others.
    fn add_skills(&self, skills: &mut Vec<ServedSkill>, faults: &mut Faults) {
        let Some(folder) = &self.folder else { return };
        let mut collector = Collector { skills, faults };
        let place = self.path.display().to_string();
        match folder.is_skill {
            true => collector.collect(folder, &mut vec![&self.name], &place, true),
            false => collector.collect(folder, &mut Vec::new(), &place, false),
        }
    }
}

/// Reads the folders, and returns whether one is different from what was read before. A folder that cannot be opened
/// keeps what was read before, and is named in `faults`.
pub(super) fn read_roots(roots: &mut [Root], limits: &ServingLimits, faults: &mut Faults) -> bool {
    let mut budget = Budget::new(limits);
    let mut is_changed = false;
    for root in roots {
        match root.read(&mut budget) {
            Ok(changed) => is_changed |= changed,
            Err(error) => faults.leave_out(
                root.path.display().to_string(),
                format!("cannot be opened: {error}"),
            ),
        }
    }
    is_changed
}

/// Returns the skills of what was read of the folders.
pub(super) fn skills_of_roots(roots: &[Root], faults: &mut Faults) -> Vec<ServedSkill> {
    let mut skills = Vec::new();
    for root in roots {
        root.add_skills(&mut skills, faults);
    }
    skills
}

struct Collector<'c> {
    skills: &'c mut Vec<ServedSkill>,
    faults: &'c mut Faults,
}

impl Collector<'_> {
    /// Collects the skill that a folder is, and those in it. The recursion is as deep as
    /// [`ServingLimits::max_depth`].
    fn collect<'f>(
        &mut self,
        folder: &'f Folder,
        segments: &mut Vec<&'f str>,
        place: &str,
        is_in_skill: bool,
    ) {
        let is_in_skill = is_in_skill || folder.is_skill;
        if folder.is_skill {
            match load_skill(folder, segments, place) {
                Ok(skill) => self.skills.push(skill),
                Err(error) => self.faults.leave_out(place, error),
            }
        } else if !is_in_skill {
            for problem in &folder.problems {
                let place = if problem.name.is_empty() {
                    place.to_owned()
                } else {
                    join(place, &problem.name)
                };
                self.faults.leave_out(place, problem.reason.clone());
            }
        }
        for (name, inner) in &folder.folders {
            segments.push(name);
            self.collect(inner, segments, &join(place, name), is_in_skill);
            segments.pop();
        }
    }
}

fn join(place: &str, name: &str) -> String {
    format!("{place}{}{name}", std::path::MAIN_SEPARATOR)
}

fn load_skill(
    folder: &Folder,
    segments: &[&str],
    place: &str,
) -> Result<ServedSkill, InvalidSkill> {
    if let Some(reason) = find_problem(folder, "") {
        return Err(InvalidSkill::new(reason));
    }
    let file = folder.files.iter().find(|file| file.name == SKILL_FILE);
    let bytes = file
        .and_then(|file| file.served.content.as_stored())
        .map(|stored| stored.bytes());
    let frontmatter = Frontmatter::parse(bytes.unwrap_or_default())?;
    let name = segments.last().copied().unwrap_or_default();
    if frontmatter.name() != name {
        return Err(InvalidSkill::new(format_args!(
            "its name is {:?}, but its folder is {name:?}",
            frontmatter.name()
        )));
    }
    let uri = SkillUri::from_segments(segments.iter().copied())?;
    let mut skill = ServedSkill {
        uri,
        frontmatter,
        files: Vec::new(),
        folders: Vec::new(),
        place: Some(place.to_owned()),
        is_listed: true,
    };
    add_files(folder, "", &mut skill)?;
    Ok(skill)
}

/// Returns the first problem in a folder or below, with its path. Every entry of a skill has to be served.
fn find_problem(folder: &Folder, path: &str) -> Option<String> {
    if let Some(problem) = folder.problems.first() {
        return Some(match (path, problem.name.as_str()) {
            ("", "") => format!("it {}", problem.reason),
            (path, "") => format!("{} {}", path.trim_end_matches('/'), problem.reason),
            (path, name) => format!("{path}{name} {}", problem.reason),
        });
    }
    folder
        .folders
        .iter()
        .find_map(|(name, inner)| find_problem(inner, &format!("{path}{name}/")))
}

fn add_files(folder: &Folder, path: &str, skill: &mut ServedSkill) -> Result<(), InvalidSkill> {
    for file in &folder.files {
        let uri = skill.uri.file(&format!("{path}{}", file.name))?;
        let served: &Arc<ServedFile> = &file.served;
        skill.files.push((uri, served.clone()));
    }
    for (name, inner) in &folder.folders {
        let path = format!("{path}{name}");
        if inner.files.is_empty() && inner.folders.is_empty() {
            skill.folders.push(skill.uri.file(&path)?);
        }
        add_files(inner, &format!("{path}/"), skill)?;
    }
    Ok(())
}
