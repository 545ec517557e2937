//! `cargo xtask dist`: the tool as it is given to people, and its size.

mod link;
mod measure;
mod servers;

use std::fs;

use crate::process::{cargo, run as run_to_end, target};

pub(crate) use link::act_as_linker;

/// The most bytes of the tool.
const MAX_BYTES: u64 = 20_000_000;

/// SQLite without what neither the stores of the tool nor the users of `serve sqlite` have a use for.
const SQLITE_FLAGS: [&str; 15] = [
    "-USQLITE_ENABLE_API_ARMOR",
    "-USQLITE_ENABLE_COLUMN_METADATA",
    "-USQLITE_ENABLE_DBSTAT_VTAB",
    "-USQLITE_ENABLE_MEMORY_MANAGEMENT",
    "-USQLITE_ENABLE_STAT4",
    "-USQLITE_SOUNDEX",
    "-DSQLITE_OMIT_COMPLETE",
    "-DSQLITE_OMIT_DECLTYPE",
    "-DSQLITE_OMIT_DEPRECATED",
    "-DSQLITE_OMIT_DESERIALIZE",
    "-DSQLITE_OMIT_GET_TABLE",
    "-DSQLITE_OMIT_LOAD_EXTENSION",
    "-DSQLITE_OMIT_SHARED_CACHE",
    "-DSQLITE_OMIT_TCL_VARIABLE",
    "-DSQLITE_OMIT_UTF16",
];

/// Flags of all Rust crates. With frame pointers, what the unwinder reads about each function is shorter.
const RUST_FLAGS: &str = "-C force-frame-pointers=yes";

/// Flags of all libraries in C. libgit2 gives its patterns to PCRE2 as bytes, and uses no tables of Unicode. mimalloc
/// keeps tables about the memory that it has reserved: 64 MiB at a time instead of 1 GiB.
const C_FLAGS: &str = "-USUPPORT_UNICODE -DMI_DEFAULT_ARENA_RESERVE=65536L";

/// Makes one function of those that are equal. Only LLVM's linker can, which Rust uses on this platform.
const FOLD_FUNCTIONS: &str = "-Clink-arg=-Wl,--icf=all";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Measure its start and its memory as well, on Linux
    #[arg(long)]
    measure: bool,

    /// Leave functions where the compiler puts them, for a quick look at the size: the tool starts more slowly
    #[arg(long)]
    unordered: bool,
}

/// Builds the tool, and fails if it is too big.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let mut build = cargo([
        "rustc",
        "--profile",
        "dist",
        "--package",
        "turnbuckle-cli",
        "--bin",
        "turnbuckle",
        "--",
    ]);
    if cfg!(all(
        target_os = "linux",
        target_arch = "x86_64",
        target_env = "gnu"
    )) {
        build.arg(FOLD_FUNCTIONS);
        if !options.unordered {
            link::order_functions(&mut build, &target().join("dist/order"))?;
        }
    }
    build.env("RUSTFLAGS", RUST_FLAGS);
    build.env("CFLAGS", C_FLAGS);
    build.env("LIBSQLITE3_FLAGS", SQLITE_FLAGS.join(" "));
    // Not every system has a zlib to load.
    build.env("LIBZ_SYS_STATIC", "1");
    run_to_end(&mut build)?;
    let program = target().join("dist/turnbuckle");
    let metadata = fs::metadata(&program);
    let size = metadata.map_err(|error| format!("{}: {error}", program.display()))?;
    println!("{}: {} bytes", program.display(), size.len());
    if options.measure {
        measure::run(&program)?;
    }
    match size.len() > MAX_BYTES {
        true => Err(format!("the tool has more than {MAX_BYTES} bytes")),
        false => Ok(()),
    }
}
