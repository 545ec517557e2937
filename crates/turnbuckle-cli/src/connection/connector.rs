//! Construction of the connector for a target.

use std::collections::BTreeMap;
use std::sync::Arc;

use turnbuckle::auth::OAuth;
use turnbuckle::http::{HttpClientOptions, HttpConnector, SseConnector};
use turnbuckle::servers::config::workspace_of;
use turnbuckle::session::transport::Connector;
use turnbuckle::stdio::{Command, StderrMode};
use turnbuckle_types::base::secrets::url_without_query;

use super::config::open_file_of_found_config;
use super::handshake_error::StderrTail;
use super::target::{ConfigEntry, Target};
use crate::args::limits::limit_http;
use crate::args::{CommonArgs, ServerArgs};
use crate::authorization::{LoginProfile, PageLogin, StoredLoginOnly, UserStore, build_oauth};
use crate::error::CliError;
use crate::input::{open_file, read_env_file, read_file, read_variable};
use crate::observe::{ExchangeObserver, KnownSecrets, Trace};
use crate::output::{Console, Style, shell_quote};

/// A connector that has not been opened yet.
pub(crate) struct PreparedConnector {
    pub(crate) connector: Arc<dyn Connector>,
    /// True if the server is known to speak HTTP+SSE, and so a legacy revision.
    pub(crate) is_legacy: bool,
    /// The end of the standard error of a command.
    pub(crate) stderr: StderrTail,
    pub(crate) authorization: Authorization,
}

/// The authorization that the requests of a connection carry.
#[derive(Clone)]
pub(crate) enum Authorization {
    Absent,
    /// A header that the user gave.
    Header,
    /// The credentials of a login, if there are any.
    Login(Box<OAuth>),
}

/// The authorization of requests over HTTP.
pub(crate) enum LoginLayer {
    /// Requests carry the stored credentials of the server.
    Stored,
    /// Requests carry no credentials but those of the command line.
    Absent,
    /// Requests go through this layer.
    Given(Box<OAuth>),
    /// Requests carry the stored credentials, or those of a login whose address a page shows.
    Page(PageLogin),
}

/// Builds the connector for a target. Nothing is opened yet. The secrets that it sends are added to
/// `secrets`. HTTP exchanges and lines of standard error are written to `trace`.
pub(crate) async fn prepare(
    target: Target,
    layer: LoginLayer,
    common: &CommonArgs,
    console: &Console,
    secrets: &KnownSecrets,
    trace: Option<Arc<Trace>>,
) -> Result<PreparedConnector, CliError> {
    match target {
        Target::Url {
            url,
            headers,
            sse,
            entry,
        } => {
            let entry = entry.as_ref();
            let observer =
                trace.map(|trace| ExchangeObserver::new(move |it| trace.on_exchange(&it)));
            let built = http_connector(&url, headers, entry, layer, common, secrets, observer);
            let (connector, authorization) = built.await?;
            let connector: Arc<dyn Connector> = if sse {
                Arc::new(SseConnector::new(connector))
            } else {
                Arc::new(connector)
            };
            Ok(PreparedConnector {
                connector,
                is_legacy: sse,
                stderr: StderrTail::default(),
                authorization,
            })
        }
        Target::Command { .. } => {
            let (command, stderr) = prepare_command(target, common, console, secrets, trace)?;
            Ok(PreparedConnector {
                connector: Arc::new(command),
                is_legacy: false,
                stderr,
                authorization: Authorization::Absent,
            })
        }
    }
}

/// Builds the command of a server, and the end of its standard error, whose lines are written to `trace`.
pub(crate) fn prepare_command(
    target: Target,
    common: &CommonArgs,
    console: &Console,
    secrets: &KnownSecrets,
    trace: Option<Arc<Trace>>,
) -> Result<(Command, StderrTail), CliError> {
    let command = server_command(target, common, console, secrets)?;
    let tail = StderrTail::new(trace);
    let (stderr, console) = (tail.clone(), console.clone());
    let command = command.stderr(StderrMode::lines(move |line| {
        tail.push(line);
        if console.args.verbose {
            console.print_server_line("server:", line);
        }
    }));
    Ok((command, stderr))
}

/// Refuses to send headers of the command line to a URL that the user did not write.
fn refuse_headers_to_found_url(
    entry: Option<&ConfigEntry>,
    server_args: &ServerArgs,
) -> Result<(), CliError> {
    let has_headers = !server_args.headers.is_empty()
        || !server_args.header_env.is_empty()
        || server_args.bearer_env.is_some();
    match entry {
        Some(entry) if entry.found && has_headers && !server_args.headers_to_found_url => {
            Err(CliError::usage(format!(
                "headers of the command line are not sent to the URL that {} has for {:?}",
                entry.file.display(),
                entry.name
            ))
            .hint(
                "write the URL itself or name the file with `--config`, or pass \
                 `--headers-to-found-url`",
            ))
        }
        _ => Ok(()),
    }
}

/// Builds the HTTP client of a URL, with all that the command line says of its requests.
pub(crate) async fn http_connector(
    url: &str,
    headers: BTreeMap<String, String>,
    entry: Option<&ConfigEntry>,
    layer: LoginLayer,
    common: &CommonArgs,
    secrets: &KnownSecrets,
    observer: Option<ExchangeObserver>,
) -> Result<(HttpConnector, Authorization), CliError> {
    refuse_headers_to_found_url(entry, &common.server)?;
    let CommonArgs {
        server: server_args,
        protocol,
        ..
    } = common;
    let wrong = |error: turnbuckle::http::ConnectorError| {
        CliError::usage(format!("the server's URL: {error}"))
    };
    let options = HttpClientOptions::new()
        .connect_timeout(protocol.connect_timeout)
        .max_message_bytes(protocol.max_message_bytes)
        .allow_unencrypted_headers(server_args.insecure_http);
    let options = limit_http(options, &protocol.limits);
    let mut connector = HttpConnector::new(url).map_err(wrong)?.options(options);
    let mut headers: Vec<(String, String)> = headers.into_iter().collect();
    headers.extend(server_args.headers.iter().cloned());
    for (name, variable) in &server_args.header_env {
        headers.push((name.clone(), read_variable(variable)?));
    }
    if let Some(variable) = &server_args.bearer_env {
        headers.push((
            "Authorization".into(),
            format!("Bearer {}", read_variable(variable)?),
        ));
    }
    let is_unencrypted_remote = connector.is_unencrypted_remote();
    if !headers.is_empty() && !server_args.insecure_http && is_unencrypted_remote {
        return Err(CliError::usage(format!(
            "the headers for {} would be sent without encryption",
            url_without_query(url)
        ))
        .hint("use https, or pass `--insecure-http` to allow this"));
    }
    if let Some(file) = &server_args.ca {
        connector = connector
            .ca_certificate_pem(&read_file(file)?)
            .map_err(wrong)?;
    }
    if let Some(file) = &server_args.client_cert {
        connector = connector
            .client_identity_pem(&read_file(file)?)
            .map_err(wrong)?;
    }
    let has_authorization = headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    for (name, value) in headers {
        connector = connector.header(&name, &value).map_err(wrong)?;
        secrets.add(value.split_whitespace().map(ToOwned::to_owned));
        secrets.add([value]);
    }
    if let Some(observer) = observer {
        connector = connector.layer(observer);
    }
    // Tokens are never sent without encryption, except to this machine. They belong to a URL, which a
    // server on a Unix socket lacks.
    let has_login = !is_unencrypted_remote && !url.trim_start().starts_with("unix:");
    let mut authorization = match has_authorization {
        true => Authorization::Header,
        false => Authorization::Absent,
    };
    if !has_authorization && has_login {
        let oauth = match layer {
            LoginLayer::Absent => None,
            LoginLayer::Given(oauth) => Some(oauth),
            LoginLayer::Stored | LoginLayer::Page(_) => {
                let store = UserStore::new(secrets.clone());
                let profile = LoginProfile::load(&store, url).await.unwrap_or_default();
                let oauth = match layer {
                    LoginLayer::Page(ui) => {
                        let ui = ui.redirect_uri(profile.redirect_uri.clone());
                        build_oauth(url, store, &profile, server_args, ui)?
                    }
                    _ => build_oauth(url, store, &profile, server_args, StoredLoginOnly)?,
                };
                Some(Box::new(oauth))
            }
        };
        if let Some(oauth) = oauth {
            connector = connector.layer(OAuth::clone(&oauth));
            authorization = Authorization::Login(oauth);
        }
    }
    Ok((connector, authorization))
}

/// Returns whether a URL leads to another machine without encryption.
pub(crate) fn is_unencrypted_remote(url: &str) -> bool {
    HttpConnector::new(url).is_ok_and(|connector| connector.is_unencrypted_remote())
}

/// Builds the command of a server, with all that the command line says of its environment. A command of
/// a configuration file is shown.
pub(crate) fn server_command(
    target: Target,
    common: &CommonArgs,
    console: &Console,
    secrets: &KnownSecrets,
) -> Result<Command, CliError> {
    let server_args = &common.server;
    let Target::Command {
        program,
        args,
        mut env,
        env_file,
        cwd,
        entry,
    } = target
    else {
        return Err(CliError::new("the target is not a command"));
    };
    let named = server_args.env_file.iter().map(|file| (file, None));
    let of_entry = env_file.iter().map(|file| (file, entry.as_ref()));
    for (file, entry) in of_entry.chain(named) {
        let opened = match entry.filter(|entry| entry.found) {
            Some(entry) => open_file_of_found_config(file, &workspace_of(&entry.file))?,
            None => open_file(file)?,
        };
        // Variables given directly override those of files.
        let direct = std::mem::replace(&mut env, read_env_file(opened, file)?);
        env.extend(direct);
    }
    env.extend(server_args.env.iter().cloned());
    let cwd = server_args.cwd.clone().or(cwd);
    if let Some(ConfigEntry { file, .. }) = entry {
        let mut words = vec![program.to_string_lossy()];
        words.extend(args.iter().map(|arg| arg.to_string_lossy()));
        let mut shown = format!(
            "{} {}",
            console.style_stderr(
                Style::Warning,
                &format!("{} runs:", shell_quote([&*file.to_string_lossy()]))
            ),
            shell_quote(words.iter().map(|word| &**word)),
        );
        if let Some(cwd) = &cwd {
            shown += &format!("\n  in {}", shell_quote([&*cwd.to_string_lossy()]));
        }
        if !env.is_empty() {
            shown += &format!("\n  with {}", shell_quote(env.keys().map(String::as_str)));
        }
        console.print_message(&shown);
    }
    let mut command = Command::new(program)
        .args(args)
        .envs(&env)
        .inherit_env(server_args.inherit_env)
        .max_message_bytes(common.protocol.max_message_bytes);
    if let Some(cwd) = cwd {
        command = command.current_dir(cwd);
    }
    secrets.add(env.into_values());
    Ok(command)
}
