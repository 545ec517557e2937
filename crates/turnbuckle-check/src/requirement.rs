//! The sentences of the specification that oblige somebody, for findings to cite.
//!
//! The files in `requirements` are part of this crate. They hold no text of the specification: a
//! sentence is known by its hash and its places.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use turnbuckle_wire::revision::Revision;

macro_rules! files {
    ($($name:literal,)*) => {
        [$(($name, include_str!(concat!("../requirements/", $name, ".toml")))),*]
    };
}

/// Every file with requirements, by its name without the ending.
static FILES: &[(&str, &str)] = &files![
    "authorization",
    "authorization-discovery",
    "authorization-extensions",
    "authorization-flow",
    "authorization-registration",
    "authorization-third-parties",
    "authorization-tokens",
    "caching",
    "cancellation",
    "completion",
    "elicitation",
    "icons",
    "json-schema",
    "lifecycle",
    "logging",
    "messages",
    "meta",
    "mrtr",
    "overview",
    "pagination",
    "ping",
    "progress",
    "prompts",
    "resources",
    "roots",
    "sampling",
    "security-practices",
    "skills",
    "skills-methods",
    "skills-security",
    "stateless",
    "subscriptions",
    "tasks",
    "tasks-extension",
    "tools",
    "transports",
    "transports-http",
    "transports-http-headers",
    "transports-http-legacy",
    "transports-stdio",
    "versioning",
];

/// A sentence of the specification that obliges somebody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    level: String,
    gist: String,
    places: Vec<Location>,
}

/// A place where a sentence stands.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Location {
    /// The date of the revision, or the name of an extension.
    revision: String,
    /// The file of the page, below the folder of the revision.
    page: String,
    line: u32,
}

/// A place in the specification that a finding refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Citation {
    /// The id of the sentence: the beginning of its hash.
    pub id: String,
    /// The sentence in a few words of ours.
    pub gist: String,
    /// The strongest key word of the sentence, such as `MUST NOT`.
    pub level: String,
    /// The date of the revision, or the name of an extension.
    pub revision: String,
    /// The file of the page, below the folder of the revision.
    pub page: String,
    /// The line in the file, counted from 1.
    pub line: u32,
    /// The URL of the published page.
    pub link: String,
}

impl Requirement {
    /// Returns the requirement with this id.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        static ALL: LazyLock<HashMap<String, Requirement>> = LazyLock::new(|| {
            let files = FILES.iter().filter_map(|(_, text)| parse(text).ok());
            files.flatten().collect()
        });
        ALL.get(id)
    }

    /// Returns a place of the first of these requirements that stands in the revision, or else the
    /// place of the first one that is nearest to the revision.
    #[must_use]
    pub fn cite(ids: &[&str], revision: Revision) -> Option<Citation> {
        let found = || {
            let known = ids.iter().map(|id| (*id, Self::find(id)));
            known.filter_map(|(id, requirement)| Some((id, requirement?)))
        };
        let stands = |(_, requirement): &(&str, &Self)| requirement.stands_in(revision);
        let (id, requirement) = found().find(stands).or_else(|| found().next())?;
        requirement.citation(id, revision)
    }

    /// Returns whether the sentence stands in a page of the revision.
    #[must_use]
    pub fn stands_in(&self, revision: Revision) -> bool {
        let mut places = self.places.iter();
        places.any(|place| place.revision == revision.as_str())
    }

    fn citation(&self, id: &str, revision: Revision) -> Option<Citation> {
        let distance = |place: &&Location| match Revision::parse(&place.revision) {
            Some(of_place) => (of_place as usize).abs_diff(revision as usize),
            None => usize::MAX,
        };
        let place = self.places.iter().min_by_key(distance)?;
        Some(Citation {
            id: id.to_owned(),
            gist: self.gist.clone(),
            level: self.level.clone(),
            revision: place.revision.clone(),
            page: place.page.clone(),
            line: place.line,
            link: place.link(),
        })
    }
}

impl Location {
    /// Reads `<revision> <page>:<line>`.
    fn parse(text: &str) -> Option<Self> {
        let (revision, rest) = text.split_once(' ')?;
        let (page, line) = rest.rsplit_once(':')?;
        Some(Self {
            revision: revision.to_owned(),
            page: page.to_owned(),
            line: line.parse().ok()?,
        })
    }

    /// Returns the URL of the published page. Extensions have none: their files are linked.
    fn link(&self) -> String {
        let Self {
            revision,
            page,
            line,
        } = self;
        let site = "https://modelcontextprotocol.io";
        let address = page.strip_suffix(".mdx").unwrap_or(page);
        let address = address.strip_suffix("/index").unwrap_or(address);
        match revision.as_str() {
            "ext-auth" | "ext-tasks" => format!(
                "https://github.com/modelcontextprotocol/{revision}/blob/main/specification/draft/{page}?plain=1#L{line}"
            ),
            "ext-skills" => format!(
                "https://github.com/modelcontextprotocol/{revision}/blob/main/specification/stable/{page}?plain=1#L{line}"
            ),
            "extensions" => format!("{site}/extensions/{address}"),
            _ if page.starts_with("tutorials/") => format!("{site}/docs/{revision}/{address}"),
            _ => format!("{site}/specification/{revision}/{address}"),
        }
    }
}

/// The part of a file that findings need.
#[derive(Deserialize)]
struct File {
    requirement: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    level: String,
    at: Vec<String>,
    gist: String,
}

/// Parses a file.
fn parse(text: &str) -> Result<impl Iterator<Item = (String, Requirement)>, toml::de::Error> {
    let file: File = toml::from_str(text)?;
    Ok(file.requirement.into_iter().map(|entry| {
        let places = entry.at.iter().filter_map(|place| Location::parse(place));
        let requirement = Requirement {
            places: places.collect(),
            level: entry.level,
            gist: entry.gist,
        };
        (entry.id, requirement)
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_requirement_of_the_folder_is_found_with_all_its_places() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("requirements");
        let mut count = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_manifest = path.extension().is_some_and(|ending| ending == "toml");
            let text = fs::read_to_string(&path).unwrap();
            if !is_manifest || !text.contains("[[requirement]]") {
                continue;
            }
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(
                FILES.iter().any(|(held, _)| *held == name),
                "{name} is not in FILES"
            );
            let file: File = toml::from_str(&text).unwrap();
            for entry in file.requirement {
                let found = Requirement::find(&entry.id);
                let places = found.map(|requirement| requirement.places.len());
                assert_eq!(places, Some(entry.at.len()), "{}", entry.id);
                count += 1;
            }
        }
        assert!(count > 1000, "{count}");
    }

    #[test]
    fn a_place_of_the_revision_is_cited_or_else_the_nearest() {
        let (_, requirement) = parse(
            "[[requirement]]\nid = \"a\"\nlevel = \"MUST\"\ngist = \"cats purr\"\n             at = [\"2024-11-05 a.mdx:1\", \"2025-06-18 basic/index.mdx:2\", \"2025-11-25 c.mdx:3\"]",
        )
        .unwrap()
        .next()
        .unwrap();
        let line = |revision| requirement.citation("a", revision).unwrap().line;
        let lines = Revision::ALL.map(line);
        assert_eq!(lines, [1, 1, 2, 3, 3]);
        let stands = Revision::ALL.map(|revision| requirement.stands_in(revision));
        assert_eq!(stands, [true, false, true, true, false]);
    }

    #[test]
    fn the_first_requirement_that_stands_in_the_revision_is_cited() {
        // In the newest revision alone, and in the two newest.
        let ids = ["836560555628", "unknown", "924320a8df96"];
        let cited = |revision| Requirement::cite(&ids, revision).unwrap();
        assert_eq!(cited(Revision::NEWEST).id, ids[0]);
        assert_eq!(cited(Revision::NEWEST_LEGACY).id, ids[2]);
        assert_eq!(cited(Revision::ALL[0]).id, ids[0]);
        assert_eq!(Requirement::cite(&["unknown"], Revision::NEWEST), None);
    }

    #[test]
    fn links_lead_to_published_pages() {
        let link = |place| Location::parse(place).unwrap().link();
        assert_eq!(
            link("2025-11-25 basic/index.mdx:9"),
            "https://modelcontextprotocol.io/specification/2025-11-25/basic"
        );
        assert_eq!(
            link("2026-07-28 tutorials/security/a.mdx:9"),
            "https://modelcontextprotocol.io/docs/2026-07-28/tutorials/security/a"
        );
        assert_eq!(
            link("ext-tasks tasks.md:7"),
            "https://github.com/modelcontextprotocol/ext-tasks/blob/main/specification/draft/tasks.md?plain=1#L7"
        );
    }
}
