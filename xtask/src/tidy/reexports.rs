//! A crate says name by name what it offers.

use super::source::rooms;
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "re-exports",
    advice: "name what a lib.rs re-exports, one by one; a glob makes every addition public",
    check,
};

fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for source in rooms(tree).filter(|source| source.path.ends_with("/lib.rs")) {
        for (offset, _) in source.bare.match_indices("pub use ") {
            let length = source.bare[offset..].find(';').unwrap_or_default();
            let line = &source.bare[offset..offset + length];
            if line.contains('*') {
                breaches.push(Breach::at(source.path, &source.bare, offset, line));
            }
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_public_glob_in_a_lib_is_found() {
        let lib = "crates/turnbuckle/src/lib.rs";
        assert_eq!(found(lib, "pub use turnbuckle_types::*;"), 1);
        assert_eq!(found(lib, "pub use a::{\n    B,\n    c::*,\n};"), 1);
        assert_eq!(
            found(lib, "pub use a::{B, C};\nuse d::*;\n// pub use e::*;"),
            0
        );
        assert_eq!(found("crates/turnbuckle/src/tool.rs", "pub use a::*;"), 0);
    }
}
