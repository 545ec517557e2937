//! Values of `--mode`.

use turnbuckle::servers::UpstreamMode;

/// The largest pool of connections.
const MAX_POOL: usize = 1024;

/// Parses `shared`, `per-session`, `per-principal` or `pool:8`.
pub(super) fn parse_mode(text: &str) -> Result<UpstreamMode, String> {
    match text {
        "shared" => return Ok(UpstreamMode::Shared),
        "per-session" => return Ok(UpstreamMode::PerSession),
        "per-principal" => return Ok(UpstreamMode::PerPrincipal),
        _ => {}
    }
    let size = text.strip_prefix("pool:").and_then(|it| it.parse().ok());
    match size {
        Some(size @ 1..=MAX_POOL) => Ok(UpstreamMode::Pool(size)),
        _ => Err(format!(
            "the modes are shared, per-session, per-principal, and pool:N for 1 to {MAX_POOL} connections"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_has_a_name_and_a_pool_a_size() {
        for (text, mode) in [
            ("shared", UpstreamMode::Shared),
            ("per-session", UpstreamMode::PerSession),
            ("per-principal", UpstreamMode::PerPrincipal),
            ("pool:8", UpstreamMode::Pool(8)),
            ("pool:1024", UpstreamMode::Pool(1024)),
        ] {
            assert_eq!(parse_mode(text), Ok(mode), "{text}");
        }
        for text in [
            "",
            "pool",
            "pool:",
            "pool:0",
            "pool:1025",
            "pool:-1",
            "session",
        ] {
            assert!(parse_mode(text).is_err(), "{text}");
        }
    }
}
