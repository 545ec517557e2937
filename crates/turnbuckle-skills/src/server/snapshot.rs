//! Skills as they are served: their files with contents, and all of them as one snapshot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use turnbuckle_types::{Json, Resource};

use super::content::Content;
use super::fault::{Faults, SkillFault};
use super::limits::ServingLimits;
use crate::error::InvalidSkill;
use crate::frontmatter::Frontmatter;
use crate::skill::{Skill, SkillResource, SkillResources};
use crate::uri::{SkillUri, decode_path};
use crate::{RECOMMENDED_MAX_BYTES, RECOMMENDED_MAX_FILES};

/// The media type of a directory.
pub(super) const DIRECTORY: &str = "inode/directory";

/// A file of a skill.
#[derive(Debug)]
pub(super) struct ServedFile {
    pub(super) content: Content,
    pub(super) mime_type: &'static str,
}

/// A skill with its files.
#[derive(Debug, Clone)]
pub(super) struct ServedSkill {
    pub(super) uri: SkillUri,
    pub(super) frontmatter: Frontmatter,
    /// The files, by their URIs.
    pub(super) files: Vec<(String, Arc<ServedFile>)>,
    /// The URIs of folders without files.
    pub(super) folders: Vec<String>,
    /// The path of the folder that the skill was loaded from.
    pub(super) place: Option<String>,
    pub(super) is_listed: bool,
}

impl ServedSkill {
    /// Returns the entry of the skill.
    fn entry(&self) -> Result<Skill, InvalidSkill> {
        let listed = self.files.iter().map(|(uri, file)| {
            let stored = file.content.as_stored()?;
            Some(SkillResource {
                uri: uri.clone(),
                digest: stored.digest(),
                size: stored.size(),
            })
        });
        let resources = match listed.collect() {
            Some(files) => SkillResources::Listed(files),
            None => SkillResources::Dynamic,
        };
        Skill::new(self.uri.clone(), self.frontmatter.clone(), resources)
    }

    fn place(&self) -> &str {
        self.place.as_deref().unwrap_or(self.uri.as_str())
    }
}

/// A file at its URI, with the name and the description of its resource.
#[derive(Debug, Clone)]
pub(super) struct FileResource {
    pub(super) file: Arc<ServedFile>,
    pub(super) name: String,
    pub(super) description: Option<String>,
}

/// An entry of a skill as JSON.
#[derive(Debug)]
struct Entry {
    json: Json,
    is_listed: bool,
}

/// Everything that is served at one time. It never changes.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    /// The entries, by the URI of their `SKILL.md`.
    entries: BTreeMap<String, Entry>,
    /// The pages of `skills/list`, by the cursor with which each is requested; the empty one is the first.
    pages: HashMap<String, Arc<Page>>,
    files: BTreeMap<String, FileResource>,
    /// The direct children of each directory, by its URI.
    directories: BTreeMap<String, BTreeSet<String>>,
    faults: Vec<SkillFault>,
}

/// A page of `skills/list`.
#[derive(Debug)]
pub(super) struct Page {
    /// The array of entries.
    pub(super) skills: Json,
    pub(super) next_cursor: Option<String>,
}

impl Snapshot {
    /// Creates a snapshot. A skill that is invalid, or in conflict with another, is left out and named in the faults.
    pub(super) fn new(
        mut skills: Vec<ServedSkill>,
        mut faults: Faults,
        limits: &ServingLimits,
    ) -> Self {
        // An enclosing skill before those in it.
        skills.sort_by(|left, right| left.uri.root().cmp(right.uri.root()));
        include_nested(&mut skills);
        let mut snapshot = Self::default();
        let mut names = HashMap::<String, String>::new();
        for skill in skills {
            if snapshot.entries.len() >= limits.max_skills {
                let max = limits.max_skills;
                faults.leave_out(
                    skill.place(),
                    format!("there are {max} skills (ServingLimits::max_skills)"),
                );
                break;
            }
            match snapshot.add(&skill) {
                Ok(entry) => warn_about(&skill, &entry, &mut names, &mut faults),
                Err(error) => faults.leave_out(skill.place(), error),
            }
        }
        snapshot.write_pages(limits);
        snapshot.faults = faults.into_vec();
        snapshot
    }

    fn add(&mut self, skill: &ServedSkill) -> Result<Skill, InvalidSkill> {
        let entry = skill.entry()?;
        if self.entries.contains_key(skill.uri.as_str()) {
            return Err(InvalidSkill::new(format_args!(
                "another skill has the URI {}",
                skill.uri
            )));
        }
        for (uri, file) in &skill.files {
            let other = self
                .files
                .get(uri)
                .is_some_and(|other| !Arc::ptr_eq(&other.file, file));
            if other || self.directories.contains_key(uri) {
                return Err(InvalidSkill::new(format_args!(
                    "another skill has something else at {uri}"
                )));
            }
        }
        let folders = skill.files.iter().map(|(uri, _)| uri).chain(&skill.folders);
        if let Some(uri) = folders
            .clone()
            .flat_map(|uri| ancestors(uri))
            .find(|uri| self.files.contains_key(*uri))
        {
            return Err(InvalidSkill::new(format_args!(
                "another skill has a file at {uri}"
            )));
        }
        let json = Json::encode(&entry).map_err(InvalidSkill::new)?;
        for uri in folders {
            self.add_directories(uri);
        }
        for folder in &skill.folders {
            self.directories.entry(folder.clone()).or_default();
        }
        for (uri, file) in &skill.files {
            let name = || decode_path(last_segment(uri)).map_or_else(String::new, Into::into);
            self.files
                .entry(uri.clone())
                .or_insert_with(|| FileResource {
                    file: file.clone(),
                    name: name(),
                    description: None,
                });
        }
        if let Some(file) = self.files.get_mut(skill.uri.as_str()) {
            file.name = skill.frontmatter.name().to_owned();
            file.description = Some(skill.frontmatter.description().to_owned());
        }
        self.entries.insert(
            skill.uri.as_str().to_owned(),
            Entry {
                json,
                is_listed: skill.is_listed,
            },
        );
        Ok(entry)
    }

    /// Adds a file or folder to the directory above it, and that to the one above, up to the first segment.
    fn add_directories(&mut self, uri: &str) {
        let mut child = uri;
        for directory in ancestors(uri) {
            let children = self.directories.entry(directory.to_owned()).or_default();
            if !children.insert(child.to_owned()) {
                return;
            }
            child = directory;
        }
    }

    fn write_pages(&mut self, limits: &ServingLimits) {
        let mut cursor = String::new();
        loop {
            let page = self.page_after(&cursor, limits);
            let next = page.next_cursor.clone();
            self.pages.insert(cursor, Arc::new(page));
            match next {
                Some(next) => cursor = next,
                None => return,
            }
        }
    }

    /// Returns the page behind an entry, which may be gone meanwhile.
    pub(super) fn page(&self, cursor: &str, limits: &ServingLimits) -> Arc<Page> {
        match self.pages.get(cursor) {
            Some(page) => page.clone(),
            None => Arc::new(self.page_after(cursor, limits)),
        }
    }

    fn page_after(&self, cursor: &str, limits: &ServingLimits) -> Page {
        let mut text = "[".to_owned();
        let mut last = None;
        let mut next_cursor = None;
        let range = self
            .entries
            .range::<str, _>((Bound::Excluded(cursor), Bound::Unbounded));
        let listed = range.filter(|(_, entry)| entry.is_listed);
        for (count, (uri, entry)) in listed.enumerate() {
            let json = entry.json.as_str();
            if count > 0
                && (count == limits.page_size.get()
                    || text.len() + json.len() > limits.max_page_bytes)
            {
                next_cursor = last;
                break;
            }
            if count > 0 {
                text.push(',');
            }
            text.push_str(json);
            last = Some(uri.clone());
        }
        text.push(']');
        // An array of JSON values is one.
        let skills = text.parse().unwrap_or_else(|_| Json::empty_object());
        Page {
            skills,
            next_cursor,
        }
    }

    /// Returns the entry of a skill.
    pub(super) fn entry(&self, uri: &str) -> Option<&Json> {
        self.entries.get(uri).map(|entry| &entry.json)
    }

    /// Returns the number of skills.
    pub(super) fn skill_count(&self) -> usize {
        self.entries.len()
    }

    /// Returns the file at a URI.
    pub(super) fn file(&self, uri: &str) -> Option<&FileResource> {
        self.files.get(uri)
    }

    /// Returns the files behind a URI, in the order of their URIs.
    pub(super) fn files_after(&self, uri: &str) -> impl Iterator<Item = (&String, &FileResource)> {
        self.files
            .range::<str, _>((Bound::Excluded(uri), Bound::Unbounded))
    }

    /// Returns the direct children of a directory behind a URI; `None` if there is no such directory.
    pub(super) fn children_after(
        &self,
        directory: &str,
        uri: &str,
    ) -> Option<impl Iterator<Item = Resource>> {
        let children = self.directories.get(directory)?;
        let range = children.range::<str, _>((Bound::Excluded(uri), Bound::Unbounded));
        Some(range.map(|child| match self.files.get(child) {
            Some(file) => file.to_resource(child),
            None => {
                let name = decode_path(last_segment(child)).unwrap_or_default();
                Resource::new(child, name).mime_type(DIRECTORY)
            }
        }))
    }

    /// Returns whether there is something at a URI that is not a directory.
    pub(super) fn is_file(&self, uri: &str) -> bool {
        self.files.contains_key(uri)
    }

    /// Returns the faults.
    pub(super) fn faults(&self) -> &[SkillFault] {
        &self.faults
    }

    /// Returns whether a client can notice a difference: in an entry, a file or a directory.
    pub(super) fn differs_from(&self, other: &Self) -> bool {
        let entries = |snapshot: &Self| snapshot.entries.len() + snapshot.directories.len();
        entries(self) != entries(other)
            || self.directories != other.directories
            || !self
                .entries
                .iter()
                .zip(&other.entries)
                .all(|(left, right)| {
                    left.0 == right.0
                        && left.1.json == right.1.json
                        && left.1.is_listed == right.1.is_listed
                })
            || self.changed_files(other).next().is_some()
    }

    /// Returns the URIs of files of this snapshot that have other contents in an older one.
    pub(super) fn changed_files<'s>(&'s self, older: &'s Self) -> impl Iterator<Item = &'s str> {
        self.files.iter().filter_map(|(uri, file)| {
            let before = older.files.get(uri)?;
            (!file.file.content.is_same(&before.file.content)).then_some(uri.as_str())
        })
    }
}

impl FileResource {
    fn to_resource(&self, uri: &str) -> Resource {
        let mut resource = Resource::new(uri, self.name.clone()).mime_type(self.file.mime_type);
        resource.description.clone_from(&self.description);
        resource.size = self
            .file
            .content
            .as_stored()
            .map(|stored| stored.size().into());
        resource
    }
}

/// Adds the files of nested skills to the skills around them, which have those of folders already.
///
/// Specification: Skills (stable), "Resources": completeness extends to nested skills.
fn include_nested(skills: &mut [ServedSkill]) {
    let roots: HashMap<String, usize> = skills
        .iter()
        .enumerate()
        .map(|(index, skill)| (skill.uri.root().to_owned(), index))
        .collect();
    let mut missing = BTreeMap::<usize, BTreeMap<String, Arc<ServedFile>>>::new();
    for skill in &*skills {
        for outer in ancestors(skill.uri.root()).filter_map(|root| roots.get(root)) {
            missing
                .entry(*outer)
                .or_default()
                .extend(skill.files.iter().cloned());
        }
    }
    for (outer, mut files) in missing {
        let Some(skill) = skills.get_mut(outer) else {
            continue;
        };
        for (uri, _) in &skill.files {
            files.remove(uri);
        }
        skill.files.extend(files);
        skill.files.sort_by(|left, right| left.0.cmp(&right.0));
    }
}

/// Adds warnings about what hosts may decline, and about names that are not unique.
fn warn_about(
    skill: &ServedSkill,
    entry: &Skill,
    names: &mut HashMap<String, String>,
    faults: &mut Faults,
) {
    let files = entry.files().map_or(0, <[_]>::len);
    if files > RECOMMENDED_MAX_FILES {
        faults.warn(
            skill.place(),
            format!(
                "has {files} files: hosts may decline skills of more than {RECOMMENDED_MAX_FILES}"
            ),
        );
    }
    let bytes = entry.total_bytes().unwrap_or(0);
    if bytes > RECOMMENDED_MAX_BYTES {
        faults.warn(
            skill.place(),
            format!("has {bytes} bytes: hosts may decline skills of more than 16 MiB"),
        );
    }
    if !skill.is_listed {
        return;
    }
    if let Some(other) = names.insert(entry.name().to_owned(), skill.uri.as_str().to_owned()) {
        faults.warn(skill.place(), format!("has the same name as {other}"));
    }
}

/// Returns the directories above a URI, from the nearest to the first segment.
fn ancestors(uri: &str) -> impl Iterator<Item = &str> {
    let start = uri.find("://").map_or(0, |at| at + 3);
    std::iter::successors(Some(uri), move |uri| {
        let (parent, _) = uri.rsplit_once('/')?;
        (parent.len() > start).then_some(parent)
    })
    .skip(1)
}

fn last_segment(uri: &str) -> &str {
    uri.rsplit('/').next().unwrap_or(uri)
}
