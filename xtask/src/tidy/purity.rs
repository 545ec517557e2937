//! What decides is pure: no runtime, no clock, nothing asynchronous.

use super::source::rooms;
use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "purity",
    advice: "schema, types, wire and the session's kernel neither wait nor look at a clock; \
             what does belongs in turnbuckle-session's driver or in a transport",
    check,
};

const PURE: &[&str] = &[
    "crates/turnbuckle-schema/",
    "crates/turnbuckle-types/",
    "crates/turnbuckle-wire/",
    "crates/turnbuckle-session/src/kernel",
];

const IMPURE: &[&str] = &["async", "await", "tokio", "Instant", "SystemTime"];

fn check(tree: &Tree) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for source in rooms(tree) {
        if PURE.iter().any(|pure| source.path.starts_with(pure)) {
            for (offset, word) in source.words().filter(|(_, word)| IMPURE.contains(word)) {
                breaches.push(Breach::at(source.path, &source.bare, offset, word));
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
    fn clocks_runtimes_and_waiting_are_found() {
        let kernel = "crates/turnbuckle-session/src/kernel/mod.rs";
        assert_eq!(found(kernel, "use std::time::Instant;"), 1);
        assert_eq!(
            found(
                "crates/turnbuckle-wire/src/a.rs",
                "async fn f() { g().await }"
            ),
            2
        );
        assert_eq!(
            found("crates/turnbuckle-types/src/a.rs", "use tokio::sync;"),
            1
        );
    }

    #[test]
    fn durations_comments_and_other_rooms_are_free() {
        let wire = "crates/turnbuckle-wire/src/a.rs";
        assert_eq!(
            found(
                wire,
                "use std::time::Duration; // not async\nfn is_async() {}"
            ),
            0
        );
        assert_eq!(
            found("crates/turnbuckle-session/src/driver.rs", "async fn f() {}"),
            0
        );
    }
}
