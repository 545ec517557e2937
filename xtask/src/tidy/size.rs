//! Files stay small, and those that are not get smaller.

use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const WALL: Wall = Wall {
    name: "file size",
    advice: "a file with one purpose stays under 500 lines: split it; a cap in \
             xtask/src/tidy/size_caps.txt may only be lowered, and goes with its reason",
    check,
};

/// Lines that a Rust file may have without a cap of its own.
const LIMIT: usize = 500;

/// How far a file may shrink below its cap before the cap must follow, in lines.
const SLACK: usize = 25;

/// The file of the caps: `lines path` on each line, `#` before a comment.
const CAPS: &str = "xtask/src/tidy/size_caps.txt";

fn check(tree: &Tree) -> Vec<Breach> {
    let mut caps = Vec::new();
    let mut breaches = Vec::new();
    for line in tree.text(CAPS).unwrap_or_default().lines() {
        let line = line.trim();
        match line
            .split_once(' ')
            .map(|(cap, path)| (cap.parse(), path.trim()))
        {
            _ if line.is_empty() || line.starts_with('#') => {}
            Some((Ok(cap), path)) => caps.push((path, cap)),
            _ => breaches.push(Breach::of(CAPS, format!("not `lines path`: {line}"))),
        }
    }
    for &(path, cap) in &caps {
        let lines = tree.text(path).map_or(0, |text| text.lines().count());
        if lines <= LIMIT {
            breaches.push(Breach::of(CAPS, format!("{path} needs no cap any more")));
        } else if lines + SLACK < cap {
            breaches.push(Breach::of(
                CAPS,
                format!("{path} has {lines} lines: lower its cap"),
            ));
        }
    }
    for (path, text) in tree.texts(".rs") {
        let cap = caps
            .iter()
            .find(|(capped, _)| *capped == path)
            .map_or(LIMIT, |&(_, cap)| cap);
        let lines = text.lines().count();
        if lines > cap {
            breaches.push(Breach::of(path, format!("{lines} lines, {cap} allowed")));
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: usize, caps: &str) -> Vec<String> {
        let text = "\n".repeat(lines);
        let tree = Tree::of(&[("crates/a/src/b.rs", &text), (CAPS, caps)]);
        check(&tree).into_iter().map(|breach| breach.path).collect()
    }

    #[test]
    fn a_long_file_is_found_unless_it_has_a_cap() {
        assert_eq!(found(500, ""), [""; 0]);
        assert_eq!(found(501, ""), ["crates/a/src/b.rs"]);
        assert_eq!(found(600, "# why\n600 crates/a/src/b.rs\n"), [""; 0]);
        assert_eq!(found(601, "600 crates/a/src/b.rs"), ["crates/a/src/b.rs"]);
    }

    #[test]
    fn a_cap_follows_its_file_down() {
        assert_eq!(found(590, "600 crates/a/src/b.rs"), [""; 0]);
        assert_eq!(found(570, "600 crates/a/src/b.rs"), [CAPS]);
        assert_eq!(found(400, "600 crates/a/src/b.rs"), [CAPS]);
        assert_eq!(found(0, "600 crates/a/src/gone.rs"), [CAPS]);
        assert_eq!(found(0, "many crates/a/src/b.rs"), [CAPS]);
    }
}
