//! A revision's date is a fact of `wire::revision` and of nothing else.

use super::source::rooms;
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "dates",
    advice: "ask a revision for a fact by its name (`Features`, the method table); \
             a date may stand in turnbuckle-wire/src/revision only",
    check,
};

/// Where dates live.
const HOME: &str = "crates/turnbuckle-wire/src/revision";

fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for source in rooms(tree).filter(|source| !source.path.starts_with(HOME)) {
        for (offset, window) in source.code.as_bytes().windows(10).enumerate() {
            if is_date(window) {
                let date = String::from_utf8_lossy(window);
                breaches.push(Breach::at(source.path, &source.code, offset, date));
            }
        }
    }
    breaches
}

/// Whether `text` is a date of this century, as `20dd-dd-dd`.
fn is_date(text: &[u8]) -> bool {
    let shape = b"20dd-dd-dd";
    text.iter().zip(shape).all(|(byte, shape)| match shape {
        b'd' => byte.is_ascii_digit(),
        _ => byte == shape,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "/// Since 2025-06-18.\nfn f() { g(\"2025-11-25\") } // 2024-11-05\n";

    #[test]
    fn a_date_in_code_is_found_and_one_in_a_comment_is_not() {
        let tree = Tree::of(&[("crates/turnbuckle-session/src/legacy.rs", CODE)]);
        let expected = Breach {
            path: "crates/turnbuckle-session/src/legacy.rs".into(),
            line: 2,
            what: "2025-11-25".into(),
        };
        assert_eq!(check(&tree), [expected]);
    }

    #[test]
    fn a_date_at_home_or_in_a_test_is_none() {
        let test = format!("#[cfg(test)]\nmod tests {{ {CODE} }}");
        let tree = Tree::of(&[
            ("crates/turnbuckle-wire/src/revision/mod.rs", CODE),
            ("crates/turnbuckle-http/src/endpoint.rs", &test),
            ("tests/it/main.rs", CODE),
        ]);
        assert_eq!(check(&tree), []);
    }
}
