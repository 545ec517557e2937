//! `serve openapi`.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use turnbuckle_serve::openapi::{Credential, Document, Options, server_with_left_out};

use super::program::{options_error, serve};
use crate::args::{parse_pair, parse_size, parse_time};
use crate::error::CliError;
use crate::input::read_variable;
use crate::serving::ServingArgs;

/// Options of `serve openapi`.
#[derive(Args)]
pub(crate) struct OpenApiOptions {
    /// The OpenAPI document, in JSON or YAML
    document: PathBuf,

    /// The URL of the API, instead of the one in the document
    #[arg(long, value_name = "URL")]
    server_url: Option<String>,

    /// Serve only these operations: a pattern like `issues_*` or `GET /pets/*`
    #[arg(long, value_name = "PATTERN")]
    allow: Vec<String>,

    /// Do not serve these operations
    #[arg(long, value_name = "PATTERN")]
    deny: Vec<String>,

    /// Send a header whose value an environment variable holds
    #[arg(long, value_name = "NAME=VAR", value_parser = parse_pair)]
    header_env: Vec<(String, String)>,

    /// Send the token that an environment variable holds
    #[arg(long, value_name = "VAR")]
    bearer_env: Option<String>,

    /// Send the user and password, as `user:password`, that an environment variable holds
    #[arg(long, value_name = "VAR")]
    basic_env: Option<String>,

    /// Send a parameter of the query whose value an environment variable holds
    #[arg(long, value_name = "NAME=VAR", value_parser = parse_pair)]
    query_env: Vec<(String, String)>,

    /// Serve at most this many operations
    #[arg(long, value_name = "COUNT", default_value_t = 500)]
    max_operations: usize,

    /// Read at most this much of a response
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1M")]
    max_response: usize,

    /// Give a request up after this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "30s")]
    request_timeout: Duration,

    #[command(flatten)]
    serving: ServingArgs,
}

impl OpenApiOptions {
    /// Reads the credentials from the environment.
    fn credentials(&self) -> Result<Vec<Credential>, CliError> {
        let mut all = Vec::new();
        for (name, variable) in &self.header_env {
            all.push(Credential::header(name, &read_variable(variable)?));
        }
        if let Some(variable) = &self.bearer_env {
            all.push(Credential::bearer(&read_variable(variable)?));
        }
        if let Some(variable) = &self.basic_env {
            let text = read_variable(variable)?;
            let Some((user, password)) = text.split_once(':') else {
                let reason =
                    format!("the variable {variable} of --basic-env is not `user:password`");
                return Err(CliError::usage(reason));
            };
            all.push(Credential::basic(user, password));
        }
        for (name, variable) in &self.query_env {
            all.push(Ok(Credential::query(name, &read_variable(variable)?)));
        }
        all.into_iter()
            .map(|one| one.map_err(options_error))
            .collect()
    }
}

/// Serves until the client or the user ends it.
pub(super) async fn run(options: OpenApiOptions) -> Result<(), CliError> {
    let document = Document::read(&options.document).map_err(options_error)?;
    let mut api = Options::new()
        .allow(&options.allow)
        .deny(&options.deny)
        .max_operations(options.max_operations)
        .max_response_bytes(options.max_response)
        .timeout(options.request_timeout);
    if let Some(url) = &options.server_url {
        api = api.server_url(url);
    }
    for credential in options.credentials()? {
        api = api.credential(credential);
    }
    let (server, left_out) = server_with_left_out(&document, api).map_err(options_error)?;
    // At a terminal, and in the log of a host.
    if !left_out.is_empty() {
        let _ = writeln!(io::stderr(), "{left_out}");
    }
    let summary = format!("The API of {}", options.document.display());
    serve(server, &options.serving, "serve openapi", &summary).await
}
