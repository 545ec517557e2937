//! What the documentation points at exists.

use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "links",
    advice: "a link in a Markdown file leads to a file of the project: mend or drop it",
    check,
};

fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree.texts(".md") {
        let mut fenced = false;
        for (line, content) in text.lines().enumerate() {
            let fence = content.trim_start().starts_with("```");
            fenced ^= fence;
            if fence || fenced {
                continue;
            }
            for target in targets(content) {
                let file = target.split(['#', '?']).next().unwrap_or_default();
                if !file.is_empty() && !resolve(path, file).is_some_and(|file| tree.holds(&file)) {
                    let what = format!("no file at {target}");
                    breaches.push(Breach {
                        path: path.to_owned(),
                        line: line + 1,
                        what,
                    });
                }
            }
        }
    }
    breaches
}

/// The local targets of a line's links, `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    // Every second piece between backticks is code; a link's text may be, its target is not.
    let prose = line.split('`').step_by(2);
    let mut targets: Vec<&str> = prose
        .flat_map(|prose| prose.split("](").skip(1))
        .filter_map(|rest| rest.split([')', ' ']).next())
        .collect();
    let reference = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "));
    targets.extend(reference.map(|(_, target)| target.trim()));
    targets.retain(|target| !target.contains("://") && !target.starts_with("mailto:"));
    targets
}

/// `target` as seen from the folder of `from`; nothing when it leads out of the project.
fn resolve(from: &str, target: &str) -> Option<String> {
    let (folder, _) = from.rsplit_once('/').unwrap_or_default();
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let tree = Tree::of(&[
            ("docs/guide.md", text),
            ("docs/more.md", ""),
            ("crates/a/src/lib.rs", ""),
        ]);
        check(&tree).len()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        assert_eq!(found("see [x](gone.md) and [`y`](../crates/b)"), 2);
        assert_eq!(found("[x]: gone.md"), 1);
        assert_eq!(found("[x](../../outside.md)"), 1);
    }

    #[test]
    fn files_folders_anchors_hosts_and_code_are_no_breach() {
        assert_eq!(
            found("[x](more.md#part) [y](../crates/a/) [z](#here) [r](..)"),
            0
        );
        assert_eq!(found("[x](https://example.com/a) `[x](gone.md)`"), 0);
        assert_eq!(found("```\n[x](gone.md)\n```"), 0);
    }
}
