//! A cache of what servers turned out to be: whether a command or URL needs the legacy handshake, and
//! whether it speaks HTTP+SSE. A server in it is not probed again.
//!
//! The cache is a small file of the user. It names servers by a salted hash, since commands and URLs may
//! hold secrets. A file that cannot be read or written is ignored.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher as _;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use turnbuckle::client::{EraPreference, Error};

use super::connector::LoginLayer;
use super::target::Target;
use crate::args::CommonArgs;

/// The version of the file's format, which is part of its name.
const FILE_NAME: &str = "servers-1.json";

/// The most servers that are remembered; one more replaces the oldest.
const MAX_SERVERS: usize = 200;

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 10;

/// The cache as it concerns one server.
pub(super) struct Memory {
    /// The cache and the server's key in it; `None` if the server is not remembered.
    cache: Option<(ServerCache, String)>,
    kind: Option<ServerKind>,
}

impl Memory {
    /// Looks a server up. Nothing is remembered with `--no-cache`, nor where the user said what the
    /// server speaks, nor for a login of its own.
    pub(super) fn look_up(target: &Target, layer: &LoginLayer, common: &CommonArgs) -> Self {
        let is_open = !common.protocol.no_cache
            && common.protocol.era() == EraPreference::Auto
            && matches!(layer, LoginLayer::Stored)
            && !matches!(target, Target::Url { sse: true, .. });
        let cache = is_open.then(ServerCache::open).flatten();
        let cache = cache.map(|cache| {
            let key = cache.key(target, common.server.cwd.as_deref());
            (cache, key)
        });
        let kind = cache.as_ref().and_then(|(cache, key)| cache.get(key));
        Self { cache, kind }
    }

    /// Returns the target with the transport that is remembered.
    pub(super) fn apply(&self, mut target: Target) -> Target {
        if let (Some(ServerKind::HttpSse), Target::Url { sse, .. }) = (self.kind, &mut target) {
            *sse = true;
        }
        target
    }

    /// Returns whether the server is remembered as one that needs the legacy handshake.
    pub(super) fn is_legacy(&self) -> bool {
        self.kind.is_some()
    }

    /// Remembers what the server turned out to be; `None` forgets it.
    pub(super) fn set(&mut self, kind: Option<ServerKind>) {
        if let Some((cache, key)) = &mut self.cache {
            cache.set(key, kind);
        }
    }

    /// Forgets the transport of a server that no longer speaks it. Returns whether to connect once more,
    /// by the transport that the server may speak now. The client itself probes a server that was
    /// remembered as a legacy one.
    pub(super) fn forget_after(&mut self, error: &Error) -> bool {
        let says_nothing = matches!(
            error,
            Error::Unauthorized { .. } | Error::Unreachable { .. } | Error::ConnectTimedOut { .. }
        );
        if self.kind != Some(ServerKind::HttpSse) || says_nothing {
            return false;
        }
        self.set(None);
        true
    }
}

/// The kind of a server: what a probe would find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ServerKind {
    /// A server that needs the legacy handshake.
    Legacy,
    /// A server on the older transport HTTP+SSE.
    HttpSse,
}

/// The cache, as it was read.
#[derive(Debug)]
pub(super) struct ServerCache {
    directory: PathBuf,
    content: Content,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    salt: String,
    servers: HashMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    kind: ServerKind,
    /// The second since 1970 in which the server was last seen to be of this kind.
    seen: u64,
}

impl ServerCache {
    /// Reads the cache of the user. Returns `None` if the user has no directory for it.
    pub(super) fn open() -> Option<Self> {
        Some(Self::read(cache_directory()?.join("turnbuckle")))
    }

    fn read(directory: PathBuf) -> Self {
        let content = read_content(&directory.join(FILE_NAME)).unwrap_or_else(|| Content {
            salt: new_salt(),
            servers: HashMap::new(),
        });
        Self { directory, content }
    }

    /// Returns what the server of this key turned out to be.
    pub(super) fn get(&self, key: &str) -> Option<ServerKind> {
        self.content.servers.get(key).map(|entry| entry.kind)
    }

    /// Returns the key of a target: a hash of the URL, or of the command with its directory and the names
    /// of its variables.
    pub(super) fn key(&self, target: &Target, cwd: Option<&Path>) -> String {
        let what = match target {
            Target::Url { url, .. } => json!({ "url": url }),
            Target::Command {
                program, args, env, ..
            } => json!({
                "program": program.as_encoded_bytes(),
                "args": args.iter().map(|arg| arg.as_encoded_bytes()).collect::<Vec<_>>(),
                "env": env.keys().collect::<Vec<_>>(),
                "cwd": cwd.map(|cwd| cwd.as_os_str().as_encoded_bytes()),
            }),
        };
        let mut hash = Sha256::new();
        hash.update(&self.content.salt);
        hash.update(what.to_string());
        URL_SAFE_NO_PAD.encode(hash.finalize())
    }

    /// Remembers what a server turned out to be, or forgets it. Writes the file only if that is new.
    pub(super) fn set(&mut self, key: &str, kind: Option<ServerKind>) {
        if self.get(key) == kind {
            return;
        }
        let servers = &mut self.content.servers;
        match kind {
            Some(kind) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                let seen = now.map_or(0, |now| now.as_secs());
                servers.insert(key.to_owned(), Entry { kind, seen });
            }
            None => {
                servers.remove(key);
            }
        }
        while servers.len() > MAX_SERVERS {
            let oldest = servers.iter().min_by_key(|(_, entry)| entry.seen);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            servers.remove(&oldest);
        }
        // Without the cache the next command probes again.
        let _ = self.write();
    }

    /// Replaces the file as a whole, readable by the user alone.
    fn write(&self) -> io::Result<()> {
        create_directory(&self.directory)?;
        let path = self.directory.join(FILE_NAME);
        let new = path.with_extension(format!("{}.tmp", std::process::id()));
        let written = create_file(&new).and_then(|mut file| {
            file.write_all(&serde_json::to_vec(&self.content)?)?;
            fs::rename(&new, &path)
        });
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

fn read_content(path: &Path) -> Option<Content> {
    let mut text = Vec::new();
    let file = File::open(path).ok()?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Returns 128 bits that the system chose: hashers of std have random keys.
fn new_salt() -> String {
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

/// Returns the directory for caches of the user, as the platform names it.
fn cache_directory() -> Option<PathBuf> {
    let variable = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if cfg!(windows) {
        return variable("LOCALAPPDATA");
    }
    variable("XDG_CACHE_HOME").or_else(|| {
        let place = if cfg!(target_os = "macos") {
            "Library/Caches"
        } else {
            ".cache"
        };
        variable("HOME").map(|home| home.join(place))
    })
}

#[cfg(unix)]
fn create_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
fn create_directory(directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)
}

#[cfg(unix)]
fn create_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let _ = fs::remove_file(path);
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

#[cfg(not(unix))]
fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remembered_servers_are_limited_and_a_broken_file_is_ignored() {
        let directory =
            std::env::temp_dir().join(format!("turnbuckle-cache-{}", std::process::id()));
        let mut cache = ServerCache::read(directory.clone());
        for number in 0..=MAX_SERVERS {
            cache.set(&number.to_string(), Some(ServerKind::Legacy));
        }
        let again = ServerCache::read(directory.clone());
        assert_eq!(again.content.servers.len(), MAX_SERVERS);
        assert_eq!(again.content.salt, cache.content.salt);
        fs::write(directory.join(FILE_NAME), "{").unwrap();
        assert!(
            ServerCache::read(directory.clone())
                .content
                .servers
                .is_empty()
        );
        fs::remove_dir_all(directory).unwrap();
    }
}
