//! From a target to a connector.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use turnbuckle::http::{HttpConnector, SseConnector};
use turnbuckle::session::Connector;
use turnbuckle::stdio::{Command, StderrTo};

use crate::args::{Reach, Speak};
use crate::config::env_file;
use crate::failure::Failure;
use crate::output::{Ink, Screen, shell};
use crate::target::{Target, is_local};

/// A way to the server, and the values on it that nobody else may see.
pub(crate) struct Way {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) secrets: Vec<String>,
    /// Whether the server is known to speak the oldest transport, and so the legacy era.
    pub(crate) is_legacy: bool,
}

/// The way to a server. Nothing is opened yet.
pub(crate) fn way(
    target: Target,
    reach: &Reach,
    speak: &Speak,
    screen: &Screen,
) -> Result<Way, Failure> {
    match target {
        Target::Url { url, headers, sse } => over_http(&url, headers, sse, reach, speak),
        Target::Command { .. } => by_command(target, reach, screen),
    }
}

fn over_http(
    url: &str,
    headers: BTreeMap<String, String>,
    sse: bool,
    reach: &Reach,
    speak: &Speak,
) -> Result<Way, Failure> {
    let wrong = |error: turnbuckle::http::InvalidTarget| {
        Failure::usage(format!("the server's URL: {error}"))
    };
    let mut connector = HttpConnector::new(url)
        .map_err(wrong)?
        .connect_timeout(speak.connect_timeout);
    let mut headers: Vec<(String, String)> = headers.into_iter().collect();
    headers.extend(reach.headers.iter().cloned());
    for (name, variable) in &reach.header_env {
        headers.push((name.clone(), from_env(variable)?));
    }
    if let Some(variable) = &reach.bearer_env {
        headers.push((
            "Authorization".into(),
            format!("Bearer {}", from_env(variable)?),
        ));
    }
    if !headers.is_empty() && !reach.insecure_http && goes_open(url) {
        return Err(
            Failure::usage(format!("headers for {url} could be read on their way"))
                .hint("use https, or say `--insecure-http` if they may be"),
        );
    }
    if let Some(file) = &reach.ca {
        connector = connector.ca_certificate_pem(&bytes(file)?).map_err(wrong)?;
    }
    if let Some(file) = &reach.client_cert {
        connector = connector
            .client_identity_pem(&bytes(file)?)
            .map_err(wrong)?;
    }
    let mut secrets = Vec::new();
    for (name, value) in headers {
        connector = connector.header(&name, &value).map_err(wrong)?;
        secrets.extend(value.split_whitespace().map(ToOwned::to_owned));
        secrets.push(value);
    }
    let connector: Arc<dyn Connector> = match sse {
        true => Arc::new(SseConnector::new(connector)),
        false => Arc::new(connector),
    };
    Ok(Way {
        connector,
        secrets,
        is_legacy: sse,
    })
}

/// Whether a URL leads to another machine without encryption.
fn goes_open(url: &str) -> bool {
    let rest = url
        .get(..7)
        .filter(|scheme| scheme.eq_ignore_ascii_case("http://"));
    rest.is_some() && !is_local(&url[7..])
}

fn bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|error| Failure::usage(format!("{}: {error}", file.display())))
}

fn from_env(variable: &str) -> Result<String, Failure> {
    std::env::var(variable)
        .map_err(|_| Failure::usage(format!("the environment variable {variable} is not set")))
}

fn by_command(target: Target, reach: &Reach, screen: &Screen) -> Result<Way, Failure> {
    let Target::Command {
        program,
        args,
        mut env,
        env_file,
        cwd,
        from,
    } = target
    else {
        return Err(Failure::new("this is no command"));
    };
    for file in env_file.iter().chain(&reach.env_file) {
        // What is said outright wins over what a file says.
        let said = std::mem::replace(&mut env, read_env(file)?);
        env.extend(said);
    }
    env.extend(reach.env.iter().cloned());
    let cwd = reach.cwd.clone().or(cwd);
    if let Some(from) = from {
        let mut words = vec![program.to_string_lossy()];
        words.extend(args.iter().map(|arg| arg.to_string_lossy()));
        let mut shown = format!(
            "{} {}",
            screen.err_ink(
                Ink::Warn,
                &format!("{} runs:", shell([&*from.to_string_lossy()]))
            ),
            shell(words.iter().map(|word| &**word)),
        );
        if let Some(cwd) = &cwd {
            shown += &format!("\n  in {}", shell([&*cwd.to_string_lossy()]));
        }
        if !env.is_empty() {
            shown += &format!("\n  with {}", shell(env.keys().map(String::as_str)));
        }
        screen.say(&shown);
    }
    let mut command = Command::new(program)
        .args(args)
        .envs(&env)
        .inherit_env(reach.inherit_env);
    if let Some(cwd) = cwd {
        command = command.current_dir(cwd);
    }
    if screen.look.verbose {
        let screen = screen.clone();
        command = command.stderr(StderrTo::lines(move |line| {
            screen.server_says("server:", line)
        }));
    }
    Ok(Way {
        connector: Arc::new(command),
        secrets: env.into_values().collect(),
        is_legacy: false,
    })
}

fn read_env(file: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let failed = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    env_file(&text).map_err(failed)
}
