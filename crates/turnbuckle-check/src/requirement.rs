//! The sentences of the specification that oblige somebody, for findings to cite.
//!
//! The manifest in `requirements` holds no text of the specification: a sentence is known by its hash and
//! its places.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use turnbuckle_wire::revision::Revision;

/// Every sentence that a check names: a line each with the id, the level, the gist and the places, between
/// tabs. `cargo xtask requirements mark` makes the file of the manifest.
const CITED: &str = include_str!("../requirements/cited.tsv");

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
    /// Returns the requirement with this id, if a check names it.
    #[must_use]
    pub fn find(id: &str) -> Option<&'static Self> {
        static ALL: LazyLock<HashMap<&str, Requirement>> =
            LazyLock::new(|| CITED.lines().filter_map(parse).collect());
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

/// Parses a line of the file.
fn parse(line: &str) -> Option<(&str, Requirement)> {
    let mut fields = line.split('\t');
    let (id, level, gist) = (fields.next()?, fields.next()?, fields.next()?);
    let requirement = Requirement {
        level: level.to_owned(),
        gist: gist.to_owned(),
        places: fields.filter_map(Location::parse).collect(),
    };
    Some((id, requirement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_of_a_check_is_found_with_its_places() {
        for check in crate::checks::all() {
            for id in check.requirements {
                let found = Requirement::find(id);
                assert!(found.is_some_and(|it| !it.places.is_empty()), "{id}");
            }
        }
        assert!(CITED.lines().all(|line| parse(line).is_some()));
    }

    #[test]
    fn a_place_of_the_revision_is_cited_or_else_the_nearest() {
        let places = "2024-11-05 a.mdx:1\t2025-06-18 basic/index.mdx:2\t2025-11-25 c.mdx:3";
        let line = format!("a\tMUST\tcats purr\t{places}");
        let (_, requirement) = parse(&line).unwrap();
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
