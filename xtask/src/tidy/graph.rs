//! Which crate may use which: between our rooms, and from outside.
//!
//! Both tables say what is, exactly: an edge that nobody uses any more is a breach too. They hold
//! for `[dependencies]`; tests and build scripts are not part of the graph.

use std::collections::BTreeSet;

use super::{Breach, Wall};
use crate::tree::Tree;

pub(super) const ROOMS: Wall = Wall {
    name: "crate graph",
    advice: "bytes flow one way through the rooms; change the design and the table in \
             xtask/src/tidy/graph.rs before an edge",
    check: |tree| compare(tree, "room", |row| row.rooms, is_room),
};

pub(super) const THIRD_PARTY: Wall = Wall {
    name: "third-party crates",
    advice: "a dependency is a decision: well kept, small, licensed alike; note it in the table \
             in xtask/src/tidy/graph.rs",
    check: |tree| compare(tree, "crate", |row| row.third_party, |name| !is_room(name)),
};

/// What one crate depends on.
struct Row {
    name: &'static str,
    rooms: &'static [&'static str],
    third_party: &'static [&'static str],
}

const TABLE: &[Row] = &[
    Row {
        name: "turnbuckle-types",
        rooms: &[],
        third_party: &["serde", "serde_json"],
    },
    Row {
        name: "turnbuckle-schema",
        rooms: &["turnbuckle-types"],
        third_party: &["jsonschema", "regex-lite", "serde_json", "strsim"],
    },
    Row {
        name: "turnbuckle-wire",
        rooms: &["turnbuckle-types"],
        third_party: &["base64", "bytes", "itoa", "memchr", "serde", "serde_json"],
    },
    Row {
        name: "turnbuckle-session",
        rooms: &["turnbuckle-types", "turnbuckle-wire"],
        third_party: &["bytes", "serde", "serde_json", "tokio", "tracing"],
    },
    Row {
        name: "turnbuckle-server",
        rooms: &[
            "turnbuckle-schema",
            "turnbuckle-session",
            "turnbuckle-types",
            "turnbuckle-wire",
        ],
        third_party: &[
            "base64",
            "bytes",
            "chacha20poly1305",
            "getrandom",
            "schemars",
            "serde",
            "serde_json",
            "tokio",
            "tower-layer",
            "tower-service",
            "tracing",
            "zeroize",
        ],
    },
    Row {
        name: "turnbuckle-macros",
        rooms: &[],
        third_party: &["proc-macro2", "quote", "strsim", "syn"],
    },
    // An extension, built with what any author of one has.
    Row {
        name: "turnbuckle-apps",
        rooms: &["turnbuckle-server", "turnbuckle-types"],
        third_party: &["serde"],
    },
    Row {
        name: "turnbuckle-client",
        rooms: &[
            "turnbuckle-schema",
            "turnbuckle-session",
            "turnbuckle-types",
            "turnbuckle-wire",
        ],
        third_party: &["futures-core", "serde", "serde_json", "tokio", "tracing"],
    },
    Row {
        name: "turnbuckle-stdio",
        rooms: &["turnbuckle-session", "turnbuckle-types"],
        third_party: &[
            "bytes",
            "memchr",
            "rustix",
            "signal-hook",
            "tokio",
            "tracing",
        ],
    },
    Row {
        name: "turnbuckle-http",
        rooms: &["turnbuckle-session", "turnbuckle-types", "turnbuckle-wire"],
        third_party: &[
            "bytes",
            "getrandom",
            "http",
            "http-body",
            "http-body-util",
            "hyper",
            "hyper-util",
            "itoa",
            "pin-project-lite",
            // The client's end, behind a feature.
            "reqwest",
            "rustls",
            "rustls-platform-verifier",
            "tokio",
            "tower-layer",
            "tower-service",
            "tracing",
            "url",
        ],
    },
    Row {
        name: "turnbuckle",
        rooms: &[
            "turnbuckle-apps",
            "turnbuckle-client",
            "turnbuckle-http",
            "turnbuckle-macros",
            "turnbuckle-server",
            "turnbuckle-session",
            "turnbuckle-stdio",
            "turnbuckle-types",
            "turnbuckle-wire",
        ],
        third_party: &["serde", "serde_json", "signal-hook", "tokio"],
    },
    // A user like any other: what it cannot do with the facade, nobody can.
    Row {
        name: "turnbuckle-interop",
        rooms: &["turnbuckle"],
        third_party: &["schemars", "serde", "serde_json", "tokio"],
    },
    Row {
        name: "turnbuckle-cli",
        rooms: &["turnbuckle"],
        third_party: &[
            "base64",
            "clap",
            "clap_complete",
            "rustix",
            "serde",
            "serde_json",
            "strsim",
            "tokio",
        ],
    },
];

/// Where the packages are that the tables hold.
const HELD: &[&str] = &["crates/", "tests/interop/"];

fn is_room(name: &str) -> bool {
    name.starts_with("turnbuckle")
}

fn compare(
    tree: &Tree,
    kind: &str,
    column: fn(&Row) -> &'static [&'static str],
    belongs: fn(&str) -> bool,
) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (path, text) in tree
        .texts("/Cargo.toml")
        .filter(|(path, _)| HELD.iter().any(|held| path.starts_with(held)))
    {
        let (name, used) = match manifest(text) {
            Ok(read) => read,
            Err(error) => {
                breaches.push(Breach::of(path, error));
                continue;
            }
        };
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            breaches.push(Breach::of(path, format!("{name} is not in the table")));
            continue;
        };
        let used: BTreeSet<&str> = used
            .iter()
            .map(String::as_str)
            .filter(|name| belongs(name))
            .collect();
        let agreed = column(row).iter().copied().collect();
        let extra = used.difference(&agreed);
        breaches.extend(extra.map(|other| {
            Breach::of(
                path,
                format!("{name} uses the {kind} {other}, which the table does not say"),
            )
        }));
        let unused = agreed.difference(&used);
        breaches.extend(unused.map(|other| {
            Breach::of(
                path,
                format!("{name} does not use the {kind} {other}: strike it from the table"),
            )
        }));
    }
    breaches
}

/// A package's name and its dependencies, those for single targets included.
fn manifest(text: &str) -> Result<(String, Vec<String>), String> {
    let manifest: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"));
    let name = name
        .and_then(toml::Value::as_str)
        .ok_or("no package name")?
        .to_owned();
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let targets = targets.into_iter().flat_map(toml::Table::values);
    let sections = manifest
        .get("dependencies")
        .into_iter()
        .chain(targets.filter_map(|target| target.get("dependencies")));
    let used = sections
        .filter_map(toml::Value::as_table)
        .flat_map(toml::Table::iter);
    let used = used.map(|(key, value)| {
        let renamed = value.get("package").and_then(toml::Value::as_str);
        renamed.unwrap_or(key).to_owned()
    });
    Ok((name, used.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(wall: &Wall, name: &str, dependencies: &str) -> Vec<String> {
        let path = format!("crates/{name}/Cargo.toml");
        let text = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}");
        (wall.check)(&Tree::of(&[(&path, &text)]))
            .into_iter()
            .map(|breach| breach.what)
            .collect()
    }

    #[test]
    fn an_edge_against_the_stream_is_found() {
        let found_here = found(
            &ROOMS,
            "turnbuckle-types",
            "turnbuckle-wire.workspace = true",
        );
        assert_eq!(found_here.len(), 1);
        assert!(found_here[0].contains("turnbuckle-wire"));
        let target = "turnbuckle-session = \"1\"\nturnbuckle-types = \"1\"\n\
                      [target.'cfg(unix)'.dependencies]\n\
                      x = { package = \"turnbuckle-http\", version = \"1\" }";
        assert_eq!(found(&ROOMS, "turnbuckle-stdio", target).len(), 1);
    }

    #[test]
    fn an_edge_that_is_gone_is_struck_from_the_table() {
        let found = found(&ROOMS, "turnbuckle-wire", "");
        assert!(found[0].contains("strike it"), "{found:?}");
    }

    #[test]
    fn a_crate_outside_the_table_is_found() {
        assert_eq!(
            found(&ROOMS, "turnbuckle-extra", ""),
            ["turnbuckle-extra is not in the table"]
        );
    }

    #[test]
    fn a_third_party_crate_needs_its_place_in_the_table() {
        let agreed = "serde = \"1\"\nserde_json = \"1\"\n";
        assert_eq!(found(&THIRD_PARTY, "turnbuckle-types", agreed), [""; 0]);
        assert_eq!(
            found(
                &THIRD_PARTY,
                "turnbuckle-types",
                &format!("{agreed}regex = \"1\"")
            )
            .len(),
            1
        );
        assert_eq!(
            found(&THIRD_PARTY, "turnbuckle-types", "serde = \"1\"").len(),
            1
        );
    }

    #[test]
    fn dependencies_of_tests_are_free() {
        let tests = "serde = \"1\"\nserde_json = \"1\"\n[dev-dependencies]\nproptest = \"1\"";
        assert_eq!(found(&THIRD_PARTY, "turnbuckle-types", tests), [""; 0]);
    }
}
