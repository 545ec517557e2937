//! The list of mutations follows the source that it changes.

use super::{Breach, Wall};
use crate::mutants;
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "mutations",
    advice: "the source moved on: bring `file` and `find` of the mutation up to date",
    check,
};

fn check(tree: &Tree) -> Vec<Breach> {
    mutants::broken(tree)
        .into_iter()
        .map(|(path, what)| Breach::of(path, what))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mutation_that_the_source_left_behind_is_found() {
        let list = "[[mutation]]\nid = 'a'\nrequirement = 'r'\nfile = 'crates/a.rs'\n\
                    find = 'x < 1'\nreplace = 'true'\ntest = 't'\n";
        let found = |list, source| {
            let tree = Tree::of(&[("tests/mutations.toml", list), ("crates/a.rs", source)]);
            check(&tree).len()
        };
        assert_eq!(found(list, "if x < 1 {}"), 0);
        assert_eq!(found(list, "if x <= 1 {}"), 1);
        assert_eq!(found("[[mutation]]", ""), 1);
        assert_eq!(found("", ""), 0);
    }
}
