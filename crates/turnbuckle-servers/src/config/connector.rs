//! The connector to a server that a configuration file names.

use std::path::Path;
use std::sync::Arc;

use turnbuckle_session::transport::Connector;

#[cfg(feature = "stdio")]
use super::file::{error_in, read_bounded};
use super::{ConfigError, ResolvedServer};
use crate::builder::ServersBuilder;

/// A connector, and the knowledge that its server speaks the legacy era.
pub(crate) struct ConfiguredConnector {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) is_legacy: bool,
}

/// Wraps the connector of a server at a URL, for instance in a layer that logs in.
#[cfg(feature = "http")]
pub(crate) type HttpHook = dyn Fn(&str, turnbuckle_http::HttpConnector) -> Result<turnbuckle_http::HttpConnector, ConfigError>
    + Send
    + Sync;

impl ServersBuilder {
    /// Lets the commands of configuration files write to the standard error of this process. Otherwise the end of
    /// what a command has written is part of the error when it ends.
    pub fn inherit_stderr(mut self) -> Self {
        self.inherits_stderr = true;
        self
    }
}

/// Builds the connector to a server. Relative paths start at `workspace`. Nothing is opened yet. A command writes to
/// the standard error of this process if `inherits_stderr`.
pub(crate) fn build_connector(
    name: &str,
    server: ResolvedServer,
    workspace: &Path,
    inherits_stderr: bool,
    #[cfg(feature = "http")] hook: Option<&HttpHook>,
) -> Result<ConfiguredConnector, ConfigError> {
    let _ = (name, inherits_stderr);
    match server {
        #[cfg(feature = "stdio")]
        ResolvedServer::Command {
            program,
            args,
            mut env,
            env_file,
            cwd,
        } => {
            if let Some(file) = env_file {
                // Variables given directly override those of the file.
                let direct = std::mem::replace(&mut env, read_env_file(&workspace.join(file))?);
                env.extend(direct);
            }
            let mut command = turnbuckle_stdio::Command::new(program).args(args).envs(env);
            if let Some(cwd) = cwd {
                command = command.current_dir(workspace.join(cwd));
            }
            if inherits_stderr {
                command = command.stderr(turnbuckle_stdio::StderrMode::Inherit);
            }
            Ok(ConfiguredConnector {
                connector: Arc::new(command),
                is_legacy: false,
            })
        }
        #[cfg(not(feature = "stdio"))]
        ResolvedServer::Command { .. } => {
            let _ = workspace;
            Err(ConfigError::new(
                "servers that are commands need the cargo feature `stdio`",
            ))
        }
        #[cfg(feature = "http")]
        ResolvedServer::Url { url, headers, sse } => {
            let wrong = |error: turnbuckle_http::ConnectorError| {
                ConfigError::new(format!("the server's URL: {error}"))
            };
            let mut connector = turnbuckle_http::HttpConnector::new(&url).map_err(wrong)?;
            if !headers.is_empty() && connector.is_unencrypted_remote() {
                return Err(ConfigError::new(
                    "its headers would be sent without encryption: use https",
                ));
            }
            for (header, value) in headers {
                connector = connector.header(&header, &value).map_err(wrong)?;
            }
            if let Some(hook) = hook {
                connector = hook(name, connector)?;
            }
            let connector: Arc<dyn Connector> = match sse {
                true => Arc::new(turnbuckle_http::SseConnector::new(connector)),
                false => Arc::new(connector),
            };
            Ok(ConfiguredConnector {
                connector,
                is_legacy: sse,
            })
        }
        #[cfg(not(feature = "http"))]
        ResolvedServer::Url { .. } => Err(ConfigError::new(
            "servers at URLs need the cargo feature `http`",
        )),
    }
}

/// Reads a file of variables of at most [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
#[cfg(feature = "stdio")]
fn read_env_file(file: &Path) -> Result<std::collections::BTreeMap<String, String>, ConfigError> {
    let text = read_bounded(file)?;
    super::parse_env_file(&text).map_err(|error| error_in(file, &error))
}

#[cfg(all(test, feature = "stdio"))]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_variables_over_the_limit_is_refused_and_not_cut() {
        let name = format!("turnbuckle-env-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, format!("A=1\nB={}", "x".repeat(4 << 20))).unwrap();
        let error = read_env_file(&file).unwrap_err().to_string();
        std::fs::remove_file(&file).unwrap();
        assert!(error.contains("MAX_FILE_BYTES"), "{error}");
    }
}
