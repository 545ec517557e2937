//! `cargo xtask measure`: the lines of each package, and the circles of imports in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::tree::Tree;

use crate::imports::{Imports, circles, crates, floors, top_modules};
use crate::process;
use crate::source::{Source, is_test_only, parse_all};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Look at another checkout of the project
    #[arg(long)]
    root: Option<PathBuf>,
    /// Print the floors on which the modules of each crate stand by their imports
    #[arg(long)]
    floors: bool,
}

/// The figures of one package.
#[derive(Default)]
struct Row {
    /// Lines that are neither blank nor a comment nor for tests.
    lines: usize,
    /// Lines of tests, counted alike.
    test_lines: usize,
    files: usize,
    modules: usize,
    /// The modules of the largest circle of imports at the top of a crate.
    modules_in_circle: usize,
    /// The files of the largest circle of imports.
    files_in_circle: usize,
}

/// Prints a table with a row for each package, and sums of the crates and of the benchmarks.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let root = options.root.clone().unwrap_or_else(process::root);
    let tree = Tree::read(&root)?;
    let (sources, unparsed) = parse_all(&tree);
    if !unparsed.is_empty() {
        return Err(unparsed.join("\n"));
    }
    if options.floors {
        print_floors(&sources);
        return Ok(());
    }
    let rows = rows(&tree, &sources);
    println!(
        "{:<34}{:>8}{:>8}{:>7}{:>9}{:>16}{:>14}",
        "package", "lines", "tests", "files", "modules", "module circle", "file circle"
    );
    for (package, row) in &rows {
        println!(
            "{package:<34}{:>8}{:>8}{:>7}{:>9}{:>16}{:>14}",
            row.lines,
            row.test_lines,
            row.files,
            row.modules,
            row.modules_in_circle,
            row.files_in_circle
        );
    }
    for (folder, what) in [("crates/", "production code"), ("benches/", "benchmarks")] {
        let inside = rows
            .iter()
            .filter(|(package, _)| package.starts_with(folder));
        let sum: usize = inside.map(|(_, row)| row.lines).sum();
        println!("{folder:<34}{sum:>8} lines of {what}");
    }
    Ok(())
}

/// Prints the floors of each crate, and the imports of each module beside it.
fn print_floors(sources: &[Source]) {
    for (package, imports) in crates(sources) {
        let modules = top_modules(package, &imports);
        if !package.starts_with("crates/") || modules.is_empty() {
            continue;
        }
        println!("{package}");
        for floor in floors(&modules) {
            println!("  {}", floor.join(", "));
            for module in floor {
                let below: Vec<_> = modules[module].iter().copied().collect();
                println!("      {module} imports {}", below.join(", "));
            }
        }
    }
}

fn rows<'a>(tree: &Tree, sources: &'a [Source]) -> BTreeMap<&'a str, Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let tests = files_of_tests(sources);
    for source in sources {
        let row = rows.entry(source.package()).or_default();
        let text = tree.text(&source.path).unwrap_or_default();
        let is_test = is_file_of_tests(source, &tests);
        let in_tests = |line: usize| source.test_lines.iter().any(|lines| lines.contains(&line));
        for (index, line) in text.lines().enumerate() {
            let line = line.trim_start();
            match line.is_empty() || line.starts_with("//") {
                true => {}
                false if is_test || in_tests(index + 1) => row.test_lines += 1,
                false => row.lines += 1,
            }
        }
        row.files += usize::from(!is_test);
    }
    for (package, imports) in crates(sources) {
        let row = rows.entry(package).or_default();
        let modules = top_modules(package, &imports);
        row.modules = row.modules.max(modules.len());
        row.modules_in_circle = row.modules_in_circle.max(largest(&modules));
        row.files_in_circle = row.files_in_circle.max(largest(&imports));
    }
    rows
}

/// Returns the size of the largest circle, 0 if there is none.
fn largest(imports: &Imports<'_>) -> usize {
    circles(imports).iter().map(Vec::len).max().unwrap_or(0)
}

/// Returns the paths, without their ending, of the modules that only tests have.
fn files_of_tests(sources: &[Source]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources {
        let (folder, file) = source.path.rsplit_once('/').unwrap_or(("", &source.path));
        let folder = match file {
            "lib.rs" | "main.rs" | "mod.rs" => folder.to_owned(),
            _ => source.path.trim_end_matches(".rs").to_owned(),
        };
        for item in &source.items {
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
                && is_test_only(&module.attrs)
            {
                found.insert(format!("{folder}/{}", module.ident));
            }
        }
    }
    found
}

/// Returns whether a file is compiled for tests only.
fn is_file_of_tests(source: &Source, tests: &BTreeSet<String>) -> bool {
    let inside = |module: &String| {
        let rest = source.path.strip_prefix(module.as_str());
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    };
    let in_package = source.path.strip_prefix(source.package());
    let is_outside = in_package.is_some_and(|path| !path.starts_with("/src/"));
    tests.iter().any(inside) || (source.path.starts_with("crates/") && is_outside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_comments_and_tests_are_counted_apart() {
        let files = [
            (
                "crates/a/src/lib.rs",
                "//! A.\nmod b;\n\n#[cfg(test)]\nmod c;\n",
            ),
            (
                "crates/a/src/b.rs",
                "use crate::d;\nfn b() {} // B.\n#[cfg(test)]\nmod tests {\n}\n",
            ),
            ("crates/a/src/c/mod.rs", "mod e;\n"),
            ("crates/a/src/c/e.rs", "fn e() {}\nfn f() {}\n"),
            ("crates/a/tests/g.rs", "fn g() {}\n"),
            ("benches/h/src/main.rs", "fn main() {}\n"),
        ];
        let tree = Tree::new(&files);
        let (sources, errors) = parse_all(&tree);
        assert_eq!(errors, [""; 0]);
        let rows = rows(&tree, &sources);
        let row = &rows["crates/a"];
        assert_eq!((row.lines, row.test_lines, row.files), (3, 9, 2));
        assert_eq!(rows["benches/h"].lines, 1);
    }
}
