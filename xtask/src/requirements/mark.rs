//! Writes what follows from the manifest: markers above tests, and `tested` where tests are written.

use std::collections::{BTreeMap, BTreeSet};

use super::compare;
use super::functions::{Function, SourceFile};
use super::manifest::{self, Manifest, Status};
use crate::tree::Tree;

/// Ids per marker line; more would not fit the line width.
const IDS_PER_LINE: usize = 6;

/// Returns the source files, by path, whose markers differ from the manifest, with the text they should
/// have. Markers of other ids vanish: the manifest leads.
pub(super) fn with_markers(
    tree: &Tree,
    manifest: &Manifest,
    sources: &[SourceFile],
) -> BTreeMap<String, String> {
    let ids = manifest.ids_by_test(Status::Tested);
    let mut changed = BTreeMap::new();
    for file in sources {
        let before = tree.text(&file.path).unwrap_or_default();
        let mut lines: Vec<String> = before.split('\n').map(str::to_owned).collect();
        // From the end, so that the line numbers above stay true.
        for function in file.functions.iter().rev() {
            let wanted = ids.get(function.path.as_str()).filter(|_| function.is_test);
            rewrite(&mut lines, function, wanted);
        }
        let after = lines.join("\n");
        if after != before {
            changed.insert(file.path.clone(), after);
        }
    }
    changed
}

/// Replaces the markers of one function.
fn rewrite(lines: &mut Vec<String>, function: &Function, wanted: Option<&BTreeSet<&str>>) {
    let Some(top) = function.top.checked_sub(1).filter(|top| *top < lines.len()) else {
        return;
    };
    let indent: String = lines[top]
        .chars()
        .take_while(|c| c.is_whitespace())
        .collect();
    let ids: Vec<&str> = wanted.into_iter().flatten().copied().collect();
    let fresh = ids
        .chunks(IDS_PER_LINE)
        .map(|ids| format!("{indent}// requirement: {}", ids.join(" ")));
    lines.splice(top..top, fresh.collect::<Vec<_>>());
    // Old markers can also stand between attributes, below the new ones.
    for marker in function.markers.iter().rev() {
        let at = marker - 1;
        let at = if at < top {
            at
        } else {
            at + ids.len().div_ceil(IDS_PER_LINE)
        };
        lines.remove(at);
    }
}

/// Returns the manifest's files, by path, with `open` turned into `tested` for the requirements that name
/// one of `names` and all of whose tests are written.
pub(super) fn with_promotions(
    tree: &Tree,
    manifest: &Manifest,
    sources: &[SourceFile],
    names: &[String],
) -> Result<BTreeMap<String, String>, String> {
    if let Some(unknown) = names
        .iter()
        .find(|name| !compare::tests(sources).any(|test| test.path == **name))
    {
        return Err(format!("no test {unknown}"));
    }
    let ready: BTreeSet<&str> = manifest
        .requirements
        .values()
        .filter(|entry| entry.status == Status::Open && compare::is_written(entry, sources))
        .filter(|entry| entry.by.iter().any(|test| names.contains(test)))
        .map(|entry| entry.id.as_str())
        .collect();
    let files = manifest::files(tree).map(|(path, text)| (path, text, with_tested(text, &ready)));
    Ok(files
        .filter(|(_, before, after)| before != after)
        .map(|(path, _, after)| (path.to_owned(), after))
        .collect())
}

/// Returns the text of a manifest file with the status of `ids` set, every other byte as it was.
fn with_tested(text: &str, ids: &BTreeSet<&str>) -> String {
    let open = format!("status = \"{}\"", Status::Open.word());
    let tested = format!("status = \"{}\"", Status::Tested.word());
    let mut current = false;
    text.split_inclusive('\n')
        .map(|line| {
            if let Some(id) = line.strip_prefix("id = \"") {
                current = ids.contains(id.trim_end().trim_end_matches('"'));
            }
            if current && line.trim_end() == open {
                line.replace(&open, &tested)
            } else {
                line.to_owned()
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_markers_give_way_to_the_wanted_ones() {
        let source = "// requirement: old\n    // requirement: older\n    #[test]\n    // requirement: oldest\n    fn a() {}";
        let mut lines: Vec<String> = source.split('\n').map(str::to_owned).collect();
        let function = Function {
            line: 4,
            path: "a".to_owned(),
            is_test: true,
            top: 3,
            ids: Vec::new(),
            markers: vec![1, 2, 4],
        };
        rewrite(&mut lines, &function, Some(&BTreeSet::from(["new"])));
        assert_eq!(
            lines,
            ["    // requirement: new", "    #[test]", "    fn a() {}"]
        );
    }

    #[test]
    fn only_the_named_entries_are_promoted() {
        let text = "id = \"a\"\nstatus = \"open\"\nid = \"b\"\nstatus = \"open\"\n";
        assert_eq!(
            with_tested(text, &BTreeSet::from(["b"])),
            "id = \"a\"\nstatus = \"open\"\nid = \"b\"\nstatus = \"tested\"\n"
        );
    }
}
