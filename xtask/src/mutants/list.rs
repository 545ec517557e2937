//! `tests/mutations.toml`.
//!
//! ```toml
//! beside = ["folder"]          # optional: what tests read next to the workspace
//!
//! [[mutation]]
//! id = "origin-unchecked"
//! requirement = "0123456789ab" # of the requirements manifest
//! file = "crates/…/origin.rs"
//! find = "…"                   # exact text, which the file holds once
//! replace = "…"
//! package = "…"                # optional: where the test is, turnbuckle-it unless said
//! test = "http::origin"        # part of the tests' names, as `cargo test` takes it; one must fail
//! ```

use toml::{Table, Value};

use crate::tree::Tree;

/// The list, from the root.
pub(super) const PATH: &str = "tests/mutations.toml";

/// Where a mutation's test is unless it says.
const PACKAGE: &str = "turnbuckle-it";

/// The whole file.
#[derive(Debug)]
pub(super) struct List {
    /// Names of what stands next to the workspace and is read by tests.
    pub(super) beside: Vec<String>,
    pub(super) mutations: Vec<Mutation>,
}

/// One rule, switched off.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) id: String,
    pub(super) requirement: String,
    pub(super) file: String,
    pub(super) find: String,
    pub(super) replace: String,
    pub(super) package: String,
    pub(super) test: String,
}

impl List {
    /// Reads the file; every mutation is complete and every id stands once.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| error.to_string())?;
        let array = |name| {
            table
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
        };
        let beside = array("beside")
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let mut mutations: Vec<Mutation> = Vec::new();
        for (index, entry) in array("mutation").enumerate() {
            let mutation = Mutation::read(entry)
                .map_err(|error| format!("mutation {}: {error}", index + 1))?;
            if mutations.iter().any(|other| other.id == mutation.id) {
                return Err(format!("the id {} stands twice", mutation.id));
            }
            mutations.push(mutation);
        }
        Ok(Self { beside, mutations })
    }
}

impl Mutation {
    fn read(entry: &Value) -> Result<Self, String> {
        let text = |name| entry.get(name).and_then(Value::as_str).map(str::to_owned);
        let needed = |name| text(name).ok_or_else(|| format!("`{name}` is missing"));
        Ok(Self {
            id: needed("id")?,
            requirement: needed("requirement")?,
            file: needed("file")?,
            find: needed("find")?,
            replace: needed("replace")?,
            package: text("package").unwrap_or_else(|| PACKAGE.to_owned()),
            test: needed("test")?,
        })
    }

    /// `text` with the rule switched off.
    pub(super) fn apply(&self, text: &str) -> Result<String, String> {
        match text.matches(&self.find).count() {
            1 if self.find == self.replace => Err("the replacement changes nothing".to_owned()),
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(format!(
                "{} holds the text {count} times, not once",
                self.file
            )),
        }
    }
}

/// What the list says that is not so in the source: a file or a text that is not there.
pub(crate) fn broken(tree: &Tree) -> Vec<(&'static str, String)> {
    let list = match List::parse(tree.text(PATH).unwrap_or_default()) {
        Ok(list) => list,
        Err(error) => return vec![(PATH, error)],
    };
    let mut broken = Vec::new();
    for mutation in &list.mutations {
        let text = tree
            .text(&mutation.file)
            .ok_or_else(|| format!("no file {}", mutation.file));
        if let Err(reason) = text.and_then(|text| mutation.apply(text)) {
            broken.push((PATH, format!("{}: {reason}", mutation.id)));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: &str = "[[mutation]]\nid = 'a'\nrequirement = 'r'\nfile = 'f.rs'\n\
                         find = 'x < 1'\nreplace = 'true'\ntest = 't'\n";

    #[test]
    fn a_list_is_read() {
        let list = List::parse(&format!("beside = ['spec']\n{ENTRY}")).unwrap();
        assert_eq!(list.beside, ["spec"]);
        assert_eq!(list.mutations[0].package, PACKAGE);
        assert_eq!(
            list.mutations[0].apply("if x < 1 {}").unwrap(),
            "if true {}"
        );
    }

    #[test]
    fn a_list_with_holes_or_doubles_is_refused() {
        let hole = ENTRY.replace("find", "fnd");
        assert_eq!(
            List::parse(&hole).unwrap_err(),
            "mutation 1: `find` is missing"
        );
        assert!(List::parse(&ENTRY.repeat(2)).unwrap_err().contains("twice"));
    }

    #[test]
    fn the_text_stands_exactly_once_and_changes() {
        let mut mutation = List::parse(ENTRY).unwrap().mutations.remove(0);
        assert!(mutation.apply("x < 2").unwrap_err().contains("0 times"));
        assert!(
            mutation
                .apply("x < 1 && x < 1")
                .unwrap_err()
                .contains("2 times")
        );
        mutation.replace.clone_from(&mutation.find);
        assert!(mutation.apply("x < 1").is_err());
    }
}
