//! The user's consent to a command or a URL of a configuration file that the tool found.
//!
//! Such a file comes with a project, and so perhaps from somebody else. What it makes the tool run
//! or contact is shown and asked about once; the answer is kept, by a hash, beside the credentials.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use turnbuckle::auth::Secret;
use turnbuckle::auth::client::store::CredentialStore as _;

use super::target::{ConfigEntry, Target};
use crate::args::CommonArgs;
use crate::ask::{confirm, is_interactive};
use crate::authorization::{UserStore, store_error};
use crate::error::CliError;
use crate::output::{Console, sanitize_line, shell_quote};

/// The most characters of a command or a URL that are shown.
const MAX_SHOWN_CHARS: usize = 2000;

/// Asks the user about a target of a file that was found, unless the user has agreed to it before.
/// Warns about files that were not used.
///
/// # Errors
/// Fails if the user refuses, or cannot be asked.
pub(crate) async fn confirm_target(
    target: &Target,
    common: &CommonArgs,
    store: &UserStore,
    console: &Console,
) -> Result<(), CliError> {
    let entry = match target {
        Target::Url { entry, .. } | Target::Command { entry, .. } => entry,
    };
    let Some(entry) = entry.as_ref().filter(|entry| entry.found) else {
        return Ok(());
    };
    for skipped in &entry.skipped {
        console.print_warning(skipped);
    }
    if common.protocol.yes {
        return Ok(());
    }
    let key = consent_key(target, entry);
    if store.load(&key).await.map_err(store_error)?.is_some() {
        return Ok(());
    }
    let what = describe(target);
    let file = entry.file.display();
    if common.protocol.no_input || !is_interactive() {
        return Err(CliError::usage(format!(
            "{file} was found, and you have not agreed to use {:?} of it yet: {what}",
            entry.name
        ))
        .hint("check it; then pass `--yes`, or name the file with `--config`"));
    }
    console.print_message(&found_sentence(target, entry));
    if confirm(console, "Use it?", false).await.unwrap_or(false) {
        store_consent(&key, store).await
    } else {
        Err(CliError::usage("the server of the file was refused"))
    }
}

/// Returns whether the user has agreed to the target before, or wrote its URL. The command of a file
/// is run for nobody else.
pub(super) async fn is_trusted(target: &Target, store: &UserStore) -> bool {
    match target {
        Target::Url {
            entry: Some(entry), ..
        }
        | Target::Command {
            entry: Some(entry), ..
        } if entry.found => {
            let consent = store.load(&consent_key(target, entry)).await;
            consent.is_ok_and(|consent| consent.is_some())
        }
        Target::Url { .. } => true,
        Target::Command { .. } => false,
    }
}

/// The consent that a server of a file that was found needs.
pub(crate) struct NeededConsent {
    /// The file, and what using the server does.
    pub(crate) sentence: String,
    /// The key of the consent in the store.
    pub(crate) key: String,
    /// True if the user has agreed before.
    pub(crate) is_given: bool,
}

/// Returns the consent that a target needs; `None` if the user named it, or the file that has it.
pub(crate) async fn needed_consent(target: &Target, store: &UserStore) -> Option<NeededConsent> {
    let (Target::Url { entry, .. } | Target::Command { entry, .. }) = target;
    let entry = entry.as_ref().filter(|entry| entry.found)?;
    let key = consent_key(target, entry);
    let is_given = store.load(&key).await.is_ok_and(|found| found.is_some());
    Some(NeededConsent {
        sentence: found_sentence(target, entry),
        key,
        is_given,
    })
}

/// Stores a consent that the user has given.
pub(crate) async fn store_consent(key: &str, store: &UserStore) -> Result<(), CliError> {
    let saved = store.save(key, &Secret::new("yes")).await;
    saved.map_err(store_error)
}

fn found_sentence(target: &Target, entry: &ConfigEntry) -> String {
    let (file, what) = (entry.file.display(), describe(target));
    let text = format!("{file} was found. {:?} in it {what}", entry.name);
    sanitize_line(&text, MAX_SHOWN_CHARS * 2)
}

/// Returns what using the target does, in words.
fn describe(target: &Target) -> String {
    match target {
        Target::Url { url, headers, .. } => {
            let mut text = format!("contacts {}", shell_quote([&**url]));
            if !headers.is_empty() {
                text += &format!(
                    " with the headers {}",
                    shell_quote(headers.keys().map(String::as_str))
                );
            }
            sanitize_line(&text, MAX_SHOWN_CHARS)
        }
        Target::Command {
            program,
            args,
            env,
            cwd,
            ..
        } => {
            let words: Vec<_> = std::iter::once(program)
                .chain(args)
                .map(|word| word.to_string_lossy())
                .collect();
            let mut text = format!("runs {}", shell_quote(words.iter().map(|word| &**word)));
            if let Some(cwd) = cwd {
                text += &format!(" in {}", shell_quote([&*cwd.to_string_lossy()]));
            }
            if !env.is_empty() {
                text += &format!(" with {}", shell_quote(env.keys().map(String::as_str)));
            }
            sanitize_line(&text, MAX_SHOWN_CHARS)
        }
    }
}

/// Returns the key of a consent: it covers the file, the name and all that the entry says.
fn consent_key(target: &Target, entry: &ConfigEntry) -> String {
    let file = std::path::absolute(&entry.file).unwrap_or_else(|_| entry.file.clone());
    let text = |path: &std::path::Path| path.as_os_str().as_encoded_bytes().to_vec();
    let what = match target {
        Target::Url {
            url, headers, sse, ..
        } => json!({ "url": url, "headers": headers, "sse": sse }),
        Target::Command {
            program,
            args,
            env,
            env_file,
            cwd,
            ..
        } => json!({
            "program": program.as_encoded_bytes(),
            "args": args.iter().map(|arg| arg.as_encoded_bytes()).collect::<Vec<_>>(),
            "env": env,
            "env_file": env_file.as_deref().map(text),
            "cwd": cwd.as_deref().map(text),
        }),
    };
    let all = json!({ "file": text(&file), "name": entry.name, "target": what });
    let hash = Sha256::digest(all.to_string());
    format!("consent:{}", URL_SAFE_NO_PAD.encode(hash))
}
