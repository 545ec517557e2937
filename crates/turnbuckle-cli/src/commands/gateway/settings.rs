//! Settings of a gateway's file that cannot work, as far as they show without serving.

use std::fs::OpenOptions;
use std::path::Path;

use turnbuckle::servers::UpstreamMode;
use turnbuckle_gateway::GatewayFile;

/// The paths that a server answers itself.
const OWN_PATHS: [&str; 2] = ["/livez", "/readyz"];

/// Returns the settings that contradict each other. `path` is that of the endpoint.
pub(super) fn contradictions(file: &GatewayFile, path: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, upstream) in file.upstream.iter().filter(|_| file.auth.is_none()) {
        if upstream.mode == Some(UpstreamMode::PerPrincipal) {
            problems.push(format!(
                "the upstream {name:?}: `mode = \"per-principal\"` needs `auth`: without it, nobody is logged in"
            ));
        }
        if upstream.scopes.values().any(|it| !it.is_empty()) {
            problems.push(format!(
                "the upstream {name:?}: `scopes` needs `auth`: without it, nobody has a scope"
            ));
        }
    }
    if let Some(metrics) = &file.metrics {
        if !metrics.starts_with('/') {
            problems.push(format!("`metrics`: {metrics:?} does not begin with a /"));
        } else if metrics == path || OWN_PATHS.contains(&&**metrics) {
            problems.push(format!(
                "`metrics`: {metrics:?} is a path of the server itself: take another one, such as \"/metrics\""
            ));
        }
    }
    problems
}

/// Returns the settings that cannot be used on this machine. Relative paths start at `directory`.
pub(super) async fn unusable(file: &GatewayFile, directory: &Path) -> Vec<String> {
    let listen = match &file.listen {
        Some(listen) => check_address(file, listen).await,
        None => Ok(()),
    };
    let audit = match file.audit.as_deref() {
        None | Some("off" | "stderr") => Ok(()),
        Some(audit) => check_log(&directory.join(audit)),
    };
    let listen = listen.err().map(|reason| format!("`listen`: {reason}"));
    let audit = audit.err().map(|reason| format!("`audit`: {reason}"));
    listen.into_iter().chain(audit).collect()
}

async fn check_address(file: &GatewayFile, listen: &str) -> Result<(), String> {
    if let Some(socket) = listen.strip_prefix("unix:") {
        return check_parent(Path::new(socket));
    }
    let addresses = tokio::net::lookup_host(listen).await.map_err(|error| {
        format!("{listen:?} is no address, such as 127.0.0.1:8000 or unix:/run/mcp.sock: {error}")
    })?;
    let is_named = !file.allow_hosts.is_empty() || file.auth.is_some();
    for address in addresses {
        if !address.ip().is_loopback() && !is_named {
            return Err(format!(
                "{address} is reachable from other machines: say under which names with `allow_hosts`"
            ));
        }
    }
    Ok(())
}

fn check_log(log: &Path) -> Result<(), String> {
    if !log.exists() {
        return check_parent(log);
    }
    let opened = OpenOptions::new().append(true).open(log);
    opened
        .map(drop)
        .map_err(|error| format!("{}: {error}", log.display()))
}

fn check_parent(path: &Path) -> Result<(), String> {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() && !parent.is_dir() => Err(format!(
            "{}: there is no directory {}",
            path.display(),
            parent.display()
        )),
        _ => Ok(()),
    }
}
