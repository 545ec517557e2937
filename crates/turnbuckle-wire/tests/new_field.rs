//! A field or variant that is added to the vocabulary does not compile until the projection decides
//! what older revisions see of it. The test adds some to a copy of both crates and builds that.

// A test fails by panicking, and so do the functions that it calls.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Copies the manifest and the sources of a crate, with the settings that it takes from the
/// workspace but for its lints.
fn copy_crate(root: &Path, name: &str, to: &Path) {
    let from = root.join("crates").join(name);
    copy_folder(&from.join("src"), &to.join(name).join("src"));
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("[lints]\nworkspace = true\n", "");
    let kept: Vec<&str> = manifest
        .lines()
        .filter(|line| !line.starts_with("readme"))
        .collect();
    fs::write(to.join(name).join("Cargo.toml"), kept.join("\n")).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes a workspace with both crates and the versions that ours uses, and returns its path.
fn fixture() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fixture = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new_field");
    let _ = fs::remove_dir_all(fixture.join("crates"));
    let crates = fixture.join("crates");
    copy_crate(&root, "turnbuckle-types", &crates);
    copy_crate(&root, "turnbuckle-wire", &crates);
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let shared = |table: &str| {
        let start = manifest.find(table).unwrap();
        let rest = &manifest[start..];
        let end = rest[1..].find("\n[").map_or(rest.len(), |end| end + 2);
        rest[..end].to_owned()
    };
    let workspace = [
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n".to_owned(),
        shared("[workspace.package]"),
        shared("[workspace.dependencies]"),
    ];
    fs::write(fixture.join("Cargo.toml"), workspace.concat()).unwrap();
    fs::copy(root.join("Cargo.lock"), fixture.join("Cargo.lock")).unwrap();
    fixture
}

fn add(fixture: &Path, file: &str, before: &str, addition: &str) {
    let path = fixture.join("crates/turnbuckle-types/src").join(file);
    let source = fs::read_to_string(&path).unwrap();
    assert_eq!(source.matches(before).count(), 1, "{file} has {before:?}");
    let at = source.find(before).unwrap();
    fs::write(&path, [&source[..at], addition, &source[at..]].concat()).unwrap();
}

fn check(fixture: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO"))
        .args([
            "check",
            "--offline",
            "--package",
            "turnbuckle-wire",
            "--lib",
        ])
        .current_dir(fixture)
        .env("CARGO_TARGET_DIR", fixture.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), text)
}

#[test]
fn added_fields_and_variants_do_not_compile_until_older_revisions_are_decided() {
    let fixture = fixture();
    let (built, text) = check(&fixture);
    assert!(built, "the unchanged crates build:\n{text}");

    add(
        &fixture,
        "roots.rs",
        "        /// Metadata.\n        map meta: Meta = \"_meta\",\n    }\n}\n\nimpl Root {",
        "        /// The color.\n        opt color: String = \"color\",\n",
    );
    add(
        &fixture,
        "completion.rs",
        "    }\n}\n\nobject! {\n    /// A prompt by its name.",
        "        /// A tool.\n        Tool(CompletionArgument) = \"ref/tool\",\n",
    );
    let (built, text) = check(&fixture);
    assert!(!built, "the added field compiles:\n{text}");
    for part in [
        "exactly the fields of `Root`",
        "exactly the variants of `CompletionReference`",
    ] {
        assert!(text.contains(part), "no {part:?} in:\n{text}");
    }
}
