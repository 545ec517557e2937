//! The rule about the paths on the map of the code.

use super::pages::code_spans;
use super::rule::{Project, Rule, Violation};

pub(super) const RULE: Rule = Rule {
    name: "map",
    reason: "a path on the map leads to a file or folder of the source: `http/server/tls` is \
             crates/turnbuckle-http/src/server/tls.rs",
    check: |project| {
        let page = project.tree.text(MAP).unwrap_or_default();
        let paths = code_spans(page)
            .into_iter()
            .filter(|(_, span)| is_path(span));
        let each = paths.flat_map(|(line, span)| {
            let alternatives = alternatives(&span);
            alternatives.into_iter().map(move |path| (line, path))
        });
        each.filter(|(_, path)| !exists(project, path))
            .map(|(line, path)| Violation::new(MAP, line, format!("there is no {path}")))
            .collect()
    },
};

/// The page with the map of the code.
pub(super) const MAP: &str = "ARCHITECTURE.md";

/// Returns whether a code span is written like a path: `server/handler`, `auth/{grant,store}`.
fn is_path(span: &str) -> bool {
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-/{},.".contains(c);
    // A method, such as `subscriptions/listen`, is written alike, but no file has a word for it.
    span.contains('/') && span.chars().all(allowed) && !METHODS.contains(&span)
}

/// The methods of the protocol that the map names.
const METHODS: [&str; 2] = ["server/discover", "subscriptions/listen"];

/// Returns the paths that braces stand for: `a/{b,c}` is `a/b` and `a/c`.
fn alternatives(span: &str) -> Vec<String> {
    let parts = span
        .split_once('{')
        .and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    match parts {
        None => vec![span.to_owned()],
        Some((before, (names, after))) => names
            .split(',')
            .map(|name| format!("{before}{}{after}", name.trim()))
            .collect(),
    }
}

/// Returns whether the path leads to a file or folder: from the root, in the crate that its first
/// part names, or at the end of any path of a crate.
fn exists(project: &Project, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let inner = rest.strip_prefix("src/").unwrap_or(rest);
    let in_crate = format!("crates/turnbuckle-{first}/src/{inner}");
    let mut files = project.tree.texts("").map(|(file, _)| file);
    files.any(|file| {
        leads_to(file, path)
            || leads_to(file, &in_crate)
            || (file.starts_with("crates/")
                && file
                    .match_indices(path)
                    .any(|(at, _)| file[..at].ends_with('/') && leads_to(&file[at..], path)))
    })
}

/// Returns whether a file is at the path, without its ending, or in a folder there.
fn leads_to(file: &str, path: &str) -> bool {
    let rest = file.strip_prefix(path);
    rest.is_some_and(|rest| rest.is_empty() || rest == ".rs" || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(page: &str) -> Vec<String> {
        let files = [
            (MAP, page),
            ("crates/turnbuckle-auth/src/client/grant/mod.rs", ""),
            ("crates/turnbuckle-auth/src/client/store.rs", ""),
            ("benches/soak/src/main.rs", ""),
        ];
        let project = Project::parse(Tree::new(&files)).unwrap();
        let found = (RULE.check)(&project).into_iter();
        found.map(|violation| violation.what).collect()
    }

    #[test]
    fn a_path_that_leads_to_a_file_or_folder_is_allowed() {
        let page = "`auth/client/{grant,store}`, `client/store`, `benches/soak`, `a::b`, `N/A`";
        assert_eq!(found(page), [""; 0]);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_found() {
        assert_eq!(
            found("`auth/client/{grant,gone}`, `client/stor`"),
            ["there is no auth/client/gone", "there is no client/stor"]
        );
    }
}
