//! Programs of Debian's packages: found, or installed where that is allowed.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Programs with the packages that have them.
const PACKAGES: &[(&str, &str)] = &[
    ("redis-server", "redis-server"),
    ("redis-cli", "redis-tools"),
    ("postgres", "postgresql"),
    ("initdb", "postgresql"),
    ("haproxy", "haproxy"),
];

/// Returns the path of a program. The variable of its name (`REDIS_SERVER` for `redis-server`) comes first,
/// then `PATH` and the folders of Debian. Root and CI install Debian's package of a program that is
/// missing.
///
/// # Panics
/// If the program is missing and cannot be installed.
#[must_use]
pub fn find_program(name: &str) -> PathBuf {
    if let Some(path) = find(name) {
        return path;
    }
    let package = PACKAGES.iter().find(|(program, _)| *program == name);
    let (_, package) = package.unwrap_or_else(|| panic!("no package is known for {name}"));
    install(package);
    find(name).unwrap_or_else(|| {
        let variable = variable(name);
        panic!(
            "this test needs {name}: install it (apt-get install {package}), or set {variable} to its path"
        )
    })
}

fn variable(name: &str) -> String {
    name.to_uppercase().replace('-', "_")
}

fn find(name: &str) -> Option<PathBuf> {
    if let Some(path) = env::var_os(variable(name)) {
        return Some(path.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .chain(versions.flatten().map(|version| version.path().join("bin")))
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// Installs a package of Debian, if this user is root or this is CI.
fn install(package: &str) {
    if !rustix::process::geteuid().is_root() && env::var_os("CI").is_none() {
        return;
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/debian.sh");
    let mut install = Command::new("sh");
    let done = install
        .args([script, package])
        .stdout(Stdio::null())
        .status();
    if !done.is_ok_and(|status| status.success()) {
        eprintln!("{package} could not be installed");
    }
}
