//! Files that name servers: whatever stands in one, it is read as its dialects say, or refused in
//! words; and no variable is left in what comes of it.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde_json::Value;

use turnbuckle_servers::config::{
    ConfigFile, ResolvedServer, Variables, jsonc_to_json, parse_env_file,
};

/// Runs the target on `input`: the text of a file, of servers or of variables.
pub fn config(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    comments(text);
    check_servers(text);
    variables(text);
    lines(text);
}

fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// Asserts that all text outside comments and trailing commas stays byte for byte in its place.
fn comments(text: &str) {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = jsonc_to_json(text);
    assert_eq!(plain.len(), body.len(), "{plain:?}");
    for (at, (new, old)) in plain.bytes().zip(body.bytes()).enumerate() {
        assert!(new == old || new == b' ', "byte {at} of {plain:?}");
        assert_eq!(new == b'\n', old == b'\n', "byte {at} of {plain:?}");
    }
    assert_eq!(value(&plain), value(&model(body)), "{plain:?}");
    if value(body).is_some() {
        assert_eq!(plain, body, "JSON is left as it is");
    }
}

/// Returns the text without comments and trailing commas, computed in the simplest manner: strings,
/// comments, and everything else one character at a time.
fn model(text: &str) -> String {
    let mut pieces: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/");
                end.map_or(rest.len(), |end| end + 4)
            }
            _ => first.len_utf8(),
        };
        let (piece, later) = rest.split_at(length);
        rest = later;
        let is_comment = piece.starts_with("//") || piece.starts_with("/*");
        pieces.push(if is_comment { " " } else { piece });
    }
    let blank = |piece: &&&str| !piece.trim().is_empty();
    let mut kept = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        let next = pieces[at + 1..].iter().find(blank);
        let trailing = *piece == "," && matches!(next, Some(&"}" | &"]"));
        kept.push_str(if trailing { " " } else { piece });
    }
    kept
}

/// Returns the length of the string that the text begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Asserts that every server of a file connects or gives a reason, and that no variable of the file
/// is left unexpanded.
fn check_servers(text: &str) {
    let servers = match ConfigFile::parse(text) {
        Ok(file) => file.servers,
        Err(why) => return assert!(!why.to_string().is_empty()),
    };
    // What nobody asks for is passed over, numbers of any size included.
    let file = jsonc_to_json(text);
    let is_json = serde_json::from_str::<IgnoredAny>(&file).is_ok();
    assert!(
        is_json && file.trim_start().starts_with(['{', '[']),
        "{file:?}"
    );
    for entry in servers.values() {
        let values = match entry.resolve(&environment()) {
            Ok(ResolvedServer::Command {
                program,
                args,
                env,
                env_file,
                cwd,
            }) => {
                let mut values = vec![program];
                values.extend(args.into_iter().chain(env.into_values()));
                values.extend(env_file.into_iter().chain(cwd));
                values
            }
            Ok(ResolvedServer::Url { url, headers, .. }) => {
                let mut values = vec![url];
                values.extend(headers.into_values());
                values
            }
            Err(why) => vec![why.to_string()]
                .into_iter()
                .filter(|why| why.is_empty())
                .collect(),
        };
        // A `$` may stand before what a variable brought along.
        let text = text.replace("\\u", "");
        if !text.contains("$$") && !text.contains(":-") && !text.contains("$\\") {
            assert!(!values.iter().any(|it| it.contains("${")), "{values:?}");
        }
    }
}

fn environment() -> Variables<'static> {
    Variables::new("/code/project", |name| match name {
        "SET" | "HOME" => Some("/value".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    })
}

/// Asserts that a text without a reference stays as it is, and that expansion distributes over
/// concatenation.
fn variables(text: &str) {
    let variables = environment();
    let whole = variables.expand(text);
    if !text.contains("${") {
        assert_eq!(whole.as_deref().ok(), Some(text));
    }
    let (one, other) = text.split_at(text.find('\n').map_or(0, |at| at + 1));
    if let (Ok(one), Ok(other)) = (variables.expand(one), variables.expand(other)) {
        assert_eq!(whole, Ok(one + &other));
    }
}

/// Asserts that the variables of a file survive being written and parsed again.
fn lines(text: &str) {
    let variables = match parse_env_file(text) {
        Ok(variables) => variables,
        Err(why) => return assert!(why.to_string().starts_with("line "), "{why}"),
    };
    let write = |(name, value): (&String, &String)| format!("export {name}='{value}'\n");
    let written: String = variables.iter().map(write).collect();
    let again: BTreeMap<String, String> = parse_env_file(&written).expect("what was written");
    assert_eq!(again, variables, "{written:?}");
}
