//! The place where a run's instructions were, by room, from what callgrind wrote.
//!
//! A room is a module of ours (`wire/rpc`, `session/server/peer`), a crate of others (`hyper`),
//! `malloc`, `libc`, `std`, or the measured `process` itself. Each instruction belongs to the file
//! that its line comes from, so that what was inlined stays in its own room. Lines of the standard
//! library belong to the function that they were inlined into.

use std::collections::BTreeMap;

/// Instructions by room.
pub(super) type CostByModule = BTreeMap<String, f64>;

/// Returns the self cost by room.
pub(super) fn read(callgrind: &str) -> CostByModule {
    let mut rooms: BTreeMap<String, u64> = BTreeMap::new();
    let (mut object, mut function, mut file) = ("", "", "");
    // The room of the lines that follow, found when there is one.
    let mut room: Option<String> = None;
    let mut inclusive = false;
    for line in callgrind.lines() {
        let place = line.split_once('=').and_then(|(kind, value)| {
            Some(match kind {
                "ob" => (&mut object, value),
                "fn" => (&mut function, value),
                "fl" | "fi" | "fe" => (&mut file, value),
                _ => return None,
            })
        });
        if let Some((place, value)) = place {
            *place = value;
            room = None;
        } else if line.starts_with("calls=") {
            inclusive = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            // What was called is counted there.
            if std::mem::take(&mut inclusive) {
                continue;
            }
            let cost = line.split_once(' ').and_then(|(_, cost)| cost.parse().ok());
            let room = room.get_or_insert_with(|| room_of(object, file, function));
            let cost: u64 = cost.unwrap_or(0);
            match rooms.get_mut(room) {
                Some(sum) => *sum += cost,
                None => drop(rooms.insert(room.clone(), cost)),
            }
        }
    }
    let rooms = rooms.into_iter();
    rooms.map(|(room, cost)| (room, cost as f64)).collect()
}

fn room_of(object: &str, file: &str, function: &str) -> String {
    if ["libc.so", "libc-", "ld-linux", "libpthread"]
        .iter()
        .any(|library| object.contains(library))
    {
        return of_libc(file, function).to_owned();
    }
    if let Some((_, path)) = file.rsplit_once("crates/turnbuckle") {
        return of_ours(path);
    }
    if file.contains("benches/budget/") {
        return "process".to_owned();
    }
    if let Some((_, path)) = file.split_once("/registry/src/") {
        let package = path.split('/').nth(1).unwrap_or_default();
        let name = package.rsplit_once('-').map_or(package, |(name, _)| name);
        return name.replace('-', "_");
    }
    of_symbol(function)
}

fn of_libc(file: &str, function: &str) -> &'static str {
    const HEAP: &[&str] = &[
        "malloc",
        "calloc",
        "realloc",
        "free",
        "_int_",
        "unlink_chunk",
        "memalign",
        "sysmalloc",
        "tcache",
    ];
    if file.contains("malloc/") || HEAP.iter().any(|name| function.starts_with(name)) {
        "malloc"
    } else {
        "libc"
    }
}

/// Returns the room of `-wire/src/rpc/decode.rs`.
fn of_ours(path: &str) -> String {
    let (package, path) = path.split_once("/src/").unwrap_or((path, ""));
    let package = package.strip_prefix('-').unwrap_or("turnbuckle");
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let modules = path
        .split('/')
        .filter(|name| !["lib", "mod"].contains(name));
    room_of_module(package, modules)
}

/// Returns the room of a module of ours: its crate and its first module, or the first two where
/// the first is a side.
fn room_of_module<'a>(package: &str, modules: impl Iterator<Item = &'a str>) -> String {
    /// The modules that hold what belongs to one side of a connection, or to both.
    const SIDES: &[&str] = &["client", "server", "shared"];
    let mut room = package.to_owned();
    for module in modules {
        room = format!("{room}/{module}");
        if !SIDES.contains(&module) {
            break;
        }
    }
    room
}

/// Returns the room of the first path in a symbol that is not the standard library's.
fn of_symbol(function: &str) -> String {
    const STANDARD: &[&str] = &["core", "alloc", "std", "hashbrown", ""];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let paths = function.split(|c: char| !(is_word(c) || c == ':'));
    let paths = paths.map(|path| path.trim_end_matches("::"));
    for path in paths {
        // The last segment is the function or the type.
        let Some((path, _)) = path.rsplit_once("::") else {
            continue;
        };
        let mut segments = path.split("::");
        let package = segments.next().unwrap_or_default();
        if STANDARD.contains(&package) || !package.starts_with(|c: char| c.is_ascii_lowercase()) {
            continue;
        }
        let Some(package) = package.strip_prefix("turnbuckle") else {
            return package.to_owned();
        };
        let package = match package.strip_prefix('_') {
            Some("budget") => return "process".to_owned(),
            Some(package) => package,
            None => "turnbuckle",
        };
        let is_module = |name: &&str| name.starts_with(|first: char| first.is_ascii_lowercase());
        return room_of_module(package, segments.take_while(is_module));
    }
    "std".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = "\
version: 1
positions: line
events: Ir
ob=/x/server
fl=/x/crates/turnbuckle-wire/src/rpc/decode.rs
fn=turnbuckle_wire::rpc::decode::decode
10 5
fi=/y/registry/src/host-1/serde_json-1.0.1/src/de.rs
11 7
fe=/x/crates/turnbuckle-wire/src/rpc/decode.rs
12 1
cfi=/x/crates/turnbuckle-wire/src/json/mod.rs
cfn=turnbuckle_wire::json::write
calls=3 44
12 900
13 2

fn=<hyper::proto::h1::Conn<I> as core::future::Future>::poll
fi=/rustc/abc/library/core/src/slice/mod.rs
1 40
fn=core::ptr::drop_in_place<http::header::map::HeaderMap>
1 4
fn=core::str::from_utf8
1 3
ob=/lib/libc.so.6
fl=???
fn=_int_free
0 20
fn=__memcpy_avx
0 30

totals: 112
";

    #[test]
    fn self_cost_goes_to_the_room_of_its_line() {
        let rooms = read(WRITTEN);
        let expected = [
            ("http", 4.0),
            ("hyper", 40.0),
            ("libc", 30.0),
            ("malloc", 20.0),
            ("serde_json", 7.0),
            ("std", 3.0),
            ("wire/rpc", 8.0),
        ];
        let read: Vec<_> = rooms.iter().map(|(name, cost)| (&**name, *cost)).collect();
        assert_eq!(read, expected);
        assert!(rooms.values().sum::<f64>() == 112.0, "nothing is lost");
    }

    #[test]
    fn a_room_is_a_crate_and_its_first_module_that_is_not_a_side() {
        let ours = |path: &str| room_of("/x/server", path, "");
        assert_eq!(
            ours("/x/crates/turnbuckle-http/src/streamable/legacy.rs"),
            "http/streamable"
        );
        assert_eq!(ours("crates/turnbuckle-types/src/lib.rs"), "types");
        assert_eq!(
            ours("/x/crates/turnbuckle/src/run/mod.rs"),
            "turnbuckle/run"
        );
        let session = "/x/crates/turnbuckle-session/src/server";
        assert_eq!(
            ours(&format!("{session}/session/state.rs")),
            "session/server/session"
        );
        assert_eq!(ours(&format!("{session}/mod.rs")), "session/server");
        assert_eq!(
            ours("/x/crates/turnbuckle-http/src/server.rs"),
            "http/server"
        );
        assert_eq!(ours("/x/benches/budget/src/ours/offers.rs"), "process");
        assert_eq!(of_symbol("<T as turnbuckle_types::Number>::x"), "types");
        assert_eq!(of_symbol("turnbuckle_http::head::Head::read"), "http/head");
        assert_eq!(
            of_symbol("turnbuckle_session::shared::signal::Signal::fire"),
            "session/shared/signal"
        );
        assert_eq!(
            of_symbol("turnbuckle_http::server::serve::{{closure}}"),
            "http/server"
        );
        assert_eq!(
            of_symbol("<alloc::vec::Vec<T> as core::clone::Clone>::clone"),
            "std"
        );
        assert_eq!(of_symbol("turnbuckle_budget::main"), "process");
    }
}
