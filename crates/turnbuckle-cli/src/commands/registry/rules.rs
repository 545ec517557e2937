//! The rules of a `server.json` of 2025-12-11, and those that the official registry adds.
//!
//! See <https://github.com/modelcontextprotocol/registry/tree/main/docs/reference/server-json>.

use std::collections::HashSet;

use serde_json::Value;
use url::Url;

use super::inputs::{check_arguments, check_named, check_variables, placeholders};
use super::walk::{Finding, Findings, Node};

/// The newest schema.
const SCHEMA: &str = concat!(
    "https://static.modelcontextprotocol.io/schemas/",
    // No revision of the protocol.
    "2025-12",
    "-11/server.schema.json"
);

/// The beginning of the addresses of all schemas.
const SCHEMAS: &str = "https://static.modelcontextprotocol.io/schemas/";

/// The one member of `_meta` that a publisher may write.
const PUBLISHER_META: &str = "io.modelcontextprotocol.registry/publisher-provided";

/// The most bytes of that member.
const MAX_META_BYTES: usize = 4096;

const MAX_NAME_CHARS: usize = 200;
const MAX_TEXT_CHARS: usize = 100;
const MAX_VERSION_CHARS: usize = 255;

/// Returns all findings of a document.
pub(super) fn check(document: &Value) -> Vec<Finding> {
    let mut findings = Findings::default();
    let root = Node {
        path: String::new(),
        value: document,
    };
    let known = [
        "$schema",
        "name",
        "title",
        "description",
        "version",
        "websiteUrl",
        "repository",
        "icons",
        "packages",
        "remotes",
        "_meta",
    ];
    if findings.object(&root, &known).is_some() {
        check_head(&mut findings, &root);
        check_repository(&mut findings, &root);
        check_icons(&mut findings, &root);
        let packages = findings.array(&root, "packages");
        let remotes = findings.array(&root, "remotes");
        if packages.is_empty() && remotes.is_empty() {
            findings.warn(
                "",
                "there is neither a package nor a remote server: nobody can use it",
            );
        }
        for package in &packages {
            check_package(&mut findings, package);
        }
        for remote in &remotes {
            check_remote(&mut findings, remote);
        }
        check_meta(&mut findings, &root);
    }
    findings.0
}

fn check_head(findings: &mut Findings, root: &Node<'_>) {
    match findings.needed_text(root, "$schema") {
        Some(SCHEMA) | None => {}
        Some(older) if older.starts_with(SCHEMAS) => {
            findings.warn("/$schema", format!("a newer one is {SCHEMA}"));
        }
        Some(_) => findings.error("/$schema", format!("the schema is {SCHEMA}")),
    }
    if let Some(name) = findings.needed_text(root, "name") {
        check_name(findings, name);
    }
    if let Some(description) = findings.needed_text(root, "description") {
        findings.limit("/description", description, MAX_TEXT_CHARS);
    }
    if root.get("title").is_some()
        && let Some(title) = findings.needed_text(root, "title")
    {
        findings.limit("/title", title, MAX_TEXT_CHARS);
    }
    if let Some(version) = findings.needed_text(root, "version") {
        check_version(findings, "/version", version);
        if version != "latest" && !is_semantic(version) {
            let message = "not a semantic version (1.2.3): the registry orders it by date";
            findings.warn("/version", message);
        }
    }
    if let Some(url) = findings.text(root, "websiteUrl") {
        check_https(findings, "/websiteUrl", url);
    }
}

/// Checks `com.example/server`.
fn check_name(findings: &mut Findings, name: &str) {
    findings.limit("/name", name, MAX_NAME_CHARS);
    let Some((namespace, server)) = name.split_once('/') else {
        let message = "a name has a namespace: \"io.github.user/server\" or \"com.example/server\"";
        return findings.error("/name", message);
    };
    if server.contains('/') {
        return findings.error("/name", "a name has one '/'");
    }
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric();
    let is_name = |text: &str, more: &[u8]| {
        let bytes = text.as_bytes();
        // The registry wants two characters, since it looks at both ends.
        bytes.len() > 1
            && bytes.first().is_some_and(is_plain)
            && bytes.last().is_some_and(is_plain)
            && bytes
                .iter()
                .all(|byte| is_plain(byte) || more.contains(byte))
    };
    let is_domain = namespace.contains('.') && !namespace.split('.').any(str::is_empty);
    if !is_domain || !is_name(namespace, b"-.") {
        let message = "the namespace is a domain, read backwards: letters, digits, '-' and '.', with a letter or digit at both ends";
        findings.error("/name", message);
    }
    if !is_name(server, b"-_.") {
        let message = "after the '/' stand at least two letters, digits, '-', '_' and '.', with a letter or digit at both ends";
        findings.error("/name", message);
    }
}

/// Checks that a version is one version, and not a range.
fn check_version(findings: &mut Findings, path: &str, version: &str) {
    findings.limit(path, version, MAX_VERSION_CHARS);
    let is_range = version.starts_with(['^', '~', '>', '<', '='])
        || version.contains("||")
        || version.contains(" - ")
        || version.contains(',')
        || version.split('.').any(is_wildcard);
    if version == "latest" {
        findings.error(path, "\"latest\" is no version; name one");
    } else if is_range {
        findings.error(path, format!("{version:?} is a range; name one version"));
    } else if is_range_for_registry(version) {
        let message = format!(
            "{version:?} has an 'x', which the registry takes for a wildcard; name a version without one"
        );
        findings.error(path, message);
    }
}

fn is_wildcard(part: &str) -> bool {
    matches!(part, "x" | "X" | "*")
}

/// Returns whether the registry takes a version for a range because of an `x` anywhere in it, as in `1.0.0-next.1`.
fn is_range_for_registry(version: &str) -> bool {
    let (core, suffix) = version.split_once('-').unwrap_or((version, "0"));
    let core = core.strip_prefix('v').unwrap_or(core);
    let is_number = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) || is_wildcard(part)
    };
    let is_in_suffix = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    version.contains(['x', 'X'])
        && (2..=3).contains(&core.split('.').count())
        && core.split('.').all(is_number)
        && suffix.bytes().all(is_in_suffix)
}

/// Returns whether a version is one of Semantic Versioning 2.0.0.
fn is_semantic(version: &str) -> bool {
    let (core, build) = version.split_once('+').unwrap_or((version, "0"));
    let (core, pre) = core.split_once('-').unwrap_or((core, "a"));
    let is_number = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            && (part == "0" || (!part.is_empty() && !part.starts_with('0')))
    };
    let is_word = |part: &str| {
        let mut bytes = part.bytes();
        !part.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let core: Vec<&str> = core.split('.').collect();
    core.len() == 3
        && core.into_iter().all(is_number)
        && pre.split('.').all(is_word)
        && build.split('.').all(is_word)
}

fn check_repository(findings: &mut Findings, root: &Node<'_>) {
    let Some(place) = root.get("repository") else {
        return;
    };
    let known = ["url", "source", "id", "subfolder"];
    if findings
        .object(&place, &known)
        .is_none_or(serde_json::Map::is_empty)
    {
        return;
    }
    let url = findings.needed_text(&place, "url");
    if let (Some(source), Some(url)) = (findings.needed_text(&place, "source"), url) {
        check_repository_url(findings, &place, source, url);
    }
    if let Some(folder) = findings.text(&place, "subfolder") {
        let is_inside = |part: &str| !matches!(part, "" | "." | "..");
        if !folder.split('/').all(is_inside) {
            let message = "a folder inside of the repository, such as \"packages/server\"";
            findings.error(&place.join("subfolder").path, message);
        }
    }
}

/// Checks that the URL of a repository is one of its source, of which the registry takes two.
fn check_repository_url(findings: &mut Findings, place: &Node<'_>, source: &str, url: &str) {
    let host = match source {
        "github" => "github.com",
        "gitlab" => "gitlab.com",
        other => return findings.one_of(&place.join("source").path, other, &["github", "gitlab"]),
    };
    let rest = url.strip_prefix("https://").unwrap_or_default();
    let rest = rest.strip_prefix("www.").unwrap_or(rest);
    let path = rest
        .strip_prefix(host)
        .and_then(|rest| rest.strip_prefix('/'));
    let is_name = |part: &str| {
        let mut bytes = part.bytes();
        !part.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let is_repository = |path: &str| {
        let parts: Vec<_> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
        // GitLab has groups inside of groups.
        let is_deep = parts.len() > 2 && source == "gitlab";
        (parts.len() == 2 || is_deep) && parts.into_iter().all(is_name)
    };
    if !path.is_some_and(is_repository) {
        let message = format!("{url:?} is not https://{host}/OWNER/REPO");
        findings.error(&place.join("url").path, message);
    }
}

fn check_icons(findings: &mut Findings, root: &Node<'_>) {
    for icon in findings.array(root, "icons") {
        if findings
            .object(&icon, &["src", "mimeType", "sizes", "theme"])
            .is_none()
        {
            continue;
        }
        if let Some(source) = findings.needed_text(&icon, "src") {
            check_https(findings, &icon.join("src").path, source);
        }
        if let Some(kind) = findings.text(&icon, "mimeType") {
            let kinds = [
                "image/png",
                "image/jpeg",
                "image/jpg",
                "image/svg+xml",
                "image/webp",
            ];
            findings.one_of(&icon.join("mimeType").path, kind, &kinds);
        }
        if let Some(theme) = findings.text(&icon, "theme") {
            findings.one_of(&icon.join("theme").path, theme, &["light", "dark"]);
        }
        for size in findings.array(&icon, "sizes") {
            let is_size = |text: &str| {
                let sides = text.split_once('x');
                let is_number = |side: &str| side.parse::<u32>().is_ok();
                text == "any" || sides.is_some_and(|(w, h)| is_number(w) && is_number(h))
            };
            if !size.value.as_str().is_some_and(is_size) {
                findings.error(&size.path, "a size is \"48x48\" or \"any\"");
            }
        }
    }
}

fn check_package(findings: &mut Findings, package: &Node<'_>) {
    let known = [
        "registryType",
        "registryBaseUrl",
        "identifier",
        "version",
        "fileSha256",
        "runtimeHint",
        "transport",
        "runtimeArguments",
        "packageArguments",
        "environmentVariables",
    ];
    if findings.object(package, &known).is_none() {
        return;
    }
    let kind = findings
        .needed_text(package, "registryType")
        .unwrap_or_default();
    if !kind.is_empty() {
        let kinds = ["npm", "pypi", "nuget", "cargo", "oci", "mcpb"];
        findings.one_of(&package.join("registryType").path, kind, &kinds);
    }
    let identifier = findings
        .needed_text(package, "identifier")
        .unwrap_or_default();
    if identifier.contains(' ') {
        let message = "an identifier has no spaces";
        findings.error(&package.join("identifier").path, message);
    }
    let path = package.join("version").path;
    match (kind, findings.text(package, "version")) {
        ("oci", Some(_)) => findings.error(
            &path,
            "the version of an image is the tag of its identifier",
        ),
        (_, Some(version)) => check_version(findings, &path, version),
        ("npm" | "pypi" | "nuget" | "cargo", None) => {
            findings.error(&package.path, "\"version\" is missing");
        }
        (_, None) => {}
    }
    if kind == "mcpb" && package.get("fileSha256").is_none() {
        findings.error(
            &package.path,
            "\"fileSha256\" is missing: the hash of the file",
        );
    }
    if kind == "mcpb" {
        check_https(findings, &package.join("identifier").path, identifier);
    }
    if let Some(hash) = findings.text(package, "fileSha256") {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if hash.len() != 64 || !hash.bytes().all(is_hex) {
            let message = "a hash has 64 characters of 0-9 and a-f";
            findings.error(&package.join("fileSha256").path, message);
        }
    }
    let has_base_url = findings.text(package, "registryBaseUrl").is_some();
    if has_base_url && ["oci", "mcpb"].contains(&kind) {
        let path = package.join("registryBaseUrl").path;
        findings.error(&path, "the identifier has the address; leave this out");
    }
    findings.text(package, "runtimeHint");
    let mut names = check_arguments(findings, package, "runtimeArguments");
    names.extend(check_arguments(findings, package, "packageArguments"));
    names.extend(check_named(findings, package, "environmentVariables"));
    match package.get("transport") {
        None => {
            let message = "\"transport\" is missing, such as {\"type\": \"stdio\"}";
            findings.error(&package.path, message);
        }
        Some(transport) => {
            let types = ["stdio", "streamable-http", "sse"];
            check_transport(findings, &transport, &types, names);
        }
    }
}

fn check_remote(findings: &mut Findings, remote: &Node<'_>) {
    let types = ["streamable-http", "sse"];
    let Some(url) = check_transport(findings, remote, &types, HashSet::new()) else {
        return;
    };
    let path = remote.join("url").path;
    if is_local(&url) {
        let message = "nobody else reaches an address of this machine; is it a package?";
        findings.error(&path, message);
    } else if url.scheme() != "https" {
        findings.error(&path, "the URL of a remote server begins with https://");
    }
}

/// Checks a transport, whose URL may use names in braces. Returns the URL with something in their place.
fn check_transport(
    findings: &mut Findings,
    place: &Node<'_>,
    types: &[&str],
    mut names: HashSet<String>,
) -> Option<Url> {
    findings.object(place, &["type", "url", "headers", "variables"])?;
    let kind = findings.needed_text(place, "type")?;
    if !types.contains(&kind) {
        findings.one_of(&place.join("type").path, kind, types);
        return None;
    }
    let path = place.join("url").path;
    if kind == "stdio" {
        if place.get("url").is_some() {
            findings.error(&path, "a server on standard input and output has no URL");
        }
        return None;
    }
    check_named(findings, place, "headers");
    names.extend(check_variables(findings, place));
    let url = findings.needed_text(place, "url")?;
    for name in placeholders(url).filter(|name| !names.contains(*name)) {
        // An argument has its whole name, with the dashes.
        let is_dashed = |known: &&String| known.trim_start_matches('-') == name;
        let message = format!("{{{name}}} is not the name of a variable");
        let message = match names.iter().filter(is_dashed).min() {
            Some(known) => format!("{message}; did you mean {{{known}}}?"),
            None => message,
        };
        findings.error(&path, message);
    }
    // What stands for a port is a number.
    let filled = placeholders(url).fold(url.to_owned(), |filled, name| {
        filled.replace(&format!("{{{name}}}"), "1")
    });
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    let parsed = Url::parse(&filled).ok().filter(is_web);
    if parsed.is_none() {
        findings.error(&path, format!("{url:?} is not an http or https URL"));
    }
    parsed
}

fn check_meta(findings: &mut Findings, root: &Node<'_>) {
    let Some(meta) = root.get("_meta") else {
        return;
    };
    let Some(members) = meta.value.as_object() else {
        return findings.error("/_meta", "an object is needed here");
    };
    for name in members.keys().filter(|name| *name != PUBLISHER_META) {
        let message = format!("a publisher writes {PUBLISHER_META:?} only");
        findings.error(&meta.join(name).path, message);
    }
    if let Some(provided) = meta.get(PUBLISHER_META) {
        let bytes = provided.value.to_string().len();
        if bytes > MAX_META_BYTES {
            findings.error(
                &provided.path,
                format!("{bytes} bytes are more than {MAX_META_BYTES}"),
            );
        }
    }
}

fn check_https(findings: &mut Findings, path: &str, text: &str) {
    let is_https = |url: Url| url.scheme() == "https" && url.has_host();
    if !Url::parse(text).is_ok_and(is_https) {
        findings.error(path, format!("{text:?} is not an https URL"));
    }
}

/// Returns whether a URL is one of this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests;
