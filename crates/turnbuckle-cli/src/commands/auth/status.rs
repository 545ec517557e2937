//! The `auth status` and `auth token` commands.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use turnbuckle::auth::client::AuthStatus;
use turnbuckle_types::base::secrets::url_without_query;

use super::target::AuthTarget;
use crate::commands::TargetArgs;
use crate::error::{CliError, ExitStatus};
use crate::output::{Console, Style, sanitize_line};

/// The state of a login as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StatusReport<'a> {
    server: String,
    issuer: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    scopes: &'a [String],
    /// The end of the access token, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    valid: bool,
    can_refresh: bool,
    key_bound: bool,
}

impl<'a> StatusReport<'a> {
    pub(super) fn new(server: &'a str, status: &'a AuthStatus) -> Self {
        Self {
            server: url_without_query(server),
            issuer: &status.issuer,
            client_id: status.client_id.as_deref(),
            scopes: &status.scopes,
            expires_at: status.expires_at,
            valid: status.is_valid,
            can_refresh: status.can_refresh,
            key_bound: status.is_key_bound,
        }
    }
}

/// A token as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TokenReport<'a> {
    access_token: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

pub(super) async fn run(args: TargetArgs) -> Result<(), CliError> {
    let target = AuthTarget::resolve(args).await?;
    let oauth = target.oauth(&target.profile().await?)?;
    let Some(status) = oauth.status().await else {
        return Err(target.not_logged_in());
    };
    print_status(&target.console, oauth.server_url(), &status)?;
    if status.is_valid {
        Ok(())
    } else {
        let words = target.target.words(&target.common.server);
        let words = words.unwrap_or_default();
        Err(CliError::new("the login has ended")
            .status(ExitStatus::AuthNeeded)
            .hint(format!("`turnbuckle auth login {words}`")))
    }
}

/// Prints the access token, the only secret that the tool ever prints.
pub(super) async fn print_token(args: TargetArgs) -> Result<(), CliError> {
    let target = AuthTarget::resolve(args).await?;
    let oauth = target.oauth(&target.profile().await?)?;
    let Some(token) = oauth.access_token().await else {
        return Err(target.not_logged_in());
    };
    let status = oauth.status().await;
    let console = &target.console;
    if console.stdout_is_terminal {
        let warning = "warning: whoever reads this token can use it until it ends";
        console.print_message(&console.style_stderr(Style::Warning, warning));
    }
    if status.as_ref().is_some_and(|status| status.is_key_bound) {
        console
            .print_note("note: the token is bound to a key (DPoP): other programs cannot use it");
    }
    if console.is_text() {
        return console.print(token.expose());
    }
    let report = TokenReport {
        access_token: token.expose(),
        expires_at: status.and_then(|status| status.expires_at),
    };
    console.print_json(&serde_json::to_string(&report)?)
}

/// Prints the state of a login.
pub(super) fn print_status(
    console: &Console,
    server: &str,
    status: &AuthStatus,
) -> Result<(), CliError> {
    if !console.is_text() {
        let report = StatusReport::new(server, status);
        return console.print_json(&serde_json::to_string(&report)?);
    }
    console.print(&render_status(console, server, status))
}

/// Renders the state of a login for people.
pub(super) fn render_status(console: &Console, server: &str, status: &AuthStatus) -> String {
    let mut lines = vec![console.style(
        Style::Strong,
        &sanitize_line(&url_without_query(server), 200),
    )];
    let mut row = |name: &str, value: &str| {
        let name = console.style(Style::Dim, &format!("{name:<10}"));
        lines.push(format!("  {name}  {value}"));
    };
    row("issuer", &sanitize_line(&status.issuer, 200));
    if let Some(client_id) = &status.client_id {
        row("client id", &sanitize_line(client_id, 200));
    }
    if status.scopes.is_empty() {
        row("scopes", "none named")
    } else {
        row("scopes", &sanitize_line(&status.scopes.join(" "), 500))
    }
    row("token", &describe_end(status));
    row(
        "refresh",
        if status.can_refresh {
            "possible, without another login"
        } else {
            "not possible: log in again when the token has ended"
        },
    );
    if status.is_key_bound {
        row("bound", "to a key of this machine (DPoP)");
    }
    lines.join("\n")
}

/// Describes when the access token ends.
fn describe_end(status: &AuthStatus) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    match status.expires_at {
        None => "valid; its end is not known".to_owned(),
        Some(end) if status.is_valid => {
            format!("valid for {}", describe_seconds(end.saturating_sub(now)))
        }
        Some(end) => format!("ended {} ago", describe_seconds(now.saturating_sub(end))),
    }
}

/// Describes a time by its largest unit.
fn describe_seconds(seconds: u64) -> String {
    match seconds {
        0..=119 => format!("{seconds} s"),
        120..=7_199 => format!("{} min", seconds / 60),
        7_200..=172_799 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_unit() {
        assert_eq!(describe_seconds(0), "0 s");
        assert_eq!(describe_seconds(119), "119 s");
        assert_eq!(describe_seconds(3_599), "59 min");
        assert_eq!(describe_seconds(7_200), "2 h");
        assert_eq!(describe_seconds(200_000), "2 days");
    }
}
