//! The errors of a store for those of Redis.

use redis::{ErrorKind, RedisError};
use turnbuckle_store::{StoreError, StoreErrorKind};

/// The most characters of Redis's own words in an error.
const MAX_DETAIL_CHARS: usize = 160;

/// Creates an error about a Redis, which `address` names.
pub(crate) fn fault(kind: StoreErrorKind, address: &str, text: &str) -> StoreError {
    StoreError::new(kind, format!("Redis at {address}: {text}"))
}

/// Returns whether the connection is of no use after an error. A primary that has become a replica has a
/// successor, which a new connection may find.
pub(crate) fn needs_reconnect(error: &RedisError) -> bool {
    error.is_unrecoverable_error()
        || error.is_io_error()
        || matches!(error.code(), Some("READONLY" | "MASTERDOWN"))
}

/// Returns the error of a store for one of Redis. It holds no argument of a command: Redis repeats those of
/// commands that it does not know.
pub(crate) fn to_store_error(address: &str, error: RedisError) -> StoreError {
    use StoreErrorKind::{Busy, Corrupt, Full, Misconfigured, TimedOut, Unavailable};
    // The first error of several commands stands for all.
    let error = match error.clone().into_server_errors().as_deref() {
        Some([(_, first), ..]) => first.clone().into(),
        _ => error,
    };
    let detail = error.detail().unwrap_or_default();
    let (kind, text) = match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "WRONGPASS")) => (
            Misconfigured,
            "the login was refused: put the user and the password into the URL",
        ),
        (_, Some("NOPERM")) => (
            Misconfigured,
            "the user has no right to a command or key: allow those of the prefix (ACL SETUSER)",
        ),
        (ErrorKind::RESP3NotSupported, _) => (Misconfigured, TOO_OLD),
        (_, Some("ERR")) if detail.contains("unknown command") => (Misconfigured, TOO_OLD),
        (ErrorKind::InvalidClientConfig, _) => (
            Misconfigured,
            "the URL or the TLS of this machine is not right: see the cause",
        ),
        (_, Some("MOVED" | "ASK" | "CROSSSLOT")) => (Misconfigured, IS_CLUSTER),
        (_, Some("OOM")) => (
            Full,
            "there is no room: raise maxmemory, or remove what else it keeps",
        ),
        (_, Some("READONLY")) => (
            Unavailable,
            "it is a replica that cannot be written: name the primary",
        ),
        (_, Some("LOADING")) => (Unavailable, "it still loads its data: try again"),
        (_, Some("NOREPLICAS")) => (
            Unavailable,
            "it has too few replicas to be written (min-replicas-to-write): bring them back",
        ),
        (_, Some("MISCONF")) => (
            Unavailable,
            "it takes no writes because it cannot save to disk: check its disk and log",
        ),
        (_, Some("MASTERDOWN" | "CLUSTERDOWN" | "TRYAGAIN")) => {
            (Unavailable, "it has lost its primary: try again")
        }
        (_, Some("BUSY")) => (Busy, "it runs a script for too long: try again"),
        (_, Some("ERR")) if detail.contains("max number of clients") => {
            (Busy, "it has too many clients: raise maxclients")
        }
        (_, Some("ERR")) if detail.contains("DB index") => (
            Misconfigured,
            "it has no database of this number: name another one, or raise databases",
        ),
        (_, Some("WRONGTYPE" | "CORRUPT")) | (ErrorKind::UnexpectedReturnType, _) => (
            Corrupt,
            "it holds what no store writes: remove the key, or choose another prefix \
             (RedisStoreOptions::prefix)",
        ),
        (_, Some("ERR")) if detail.contains("not an integer") => (
            Corrupt,
            "it holds what no store writes: remove the key, or choose another prefix \
             (RedisStoreOptions::prefix)",
        ),
        (ErrorKind::Parse, _) => (
            Corrupt,
            "its answer is none of Redis's: name the address of a Redis",
        ),
        _ if error.is_timeout() => (
            TimedOut,
            "no answer within RedisStoreOptions::response_timeout",
        ),
        _ if error.is_io_error() => (
            Unavailable,
            "the connection failed: check the address, and that Redis runs",
        ),
        _ => (Unavailable, "the command failed: see Redis's own words"),
    };
    if error.is_io_error() {
        return fault(kind, address, &format!("{text} ({error})")).with_source(error);
    }
    let code = error.code().unwrap_or_default();
    let detail: String = match detail.contains("with args") {
        true => String::new(),
        false => detail.chars().take(MAX_DETAIL_CHARS).collect(),
    };
    let own_words = format!("{code} {detail}");
    match own_words.trim() {
        "" => fault(kind, address, text),
        words => fault(kind, address, &format!("{text} ({})", words.escape_debug())),
    }
}

/// The words about a Redis that is too old.
pub(crate) const TOO_OLD: &str =
    "it is too old, or lacks commands: a store needs Redis 7 or Valkey";

/// The words about a Redis that is a part of a cluster.
pub(crate) const IS_CLUSTER: &str = "it is a Sentinel or a part of a Redis Cluster, which the store does not support: name a primary";
