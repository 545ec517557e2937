//! The `add` command: writes a server into the configuration file of a host.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use clap::Args;
use turnbuckle_types::base::quote::shell_quote;

use super::change::{FileArgs, HostChange};
use super::edit::{Change, to_object};
use super::entry::{NewServer, ServerAddress};
use super::host::{Host, Scope};
use crate::args::{parse_header, parse_pair};
use crate::error::CliError;

/// The longest name of a server, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Options of `add`.
#[derive(Args)]
pub(crate) struct Options {
    /// The name by which the host knows the server
    name: String,

    /// The URL of the server
    url: Option<String>,

    /// The server's command, instead of a URL
    #[arg(
        last = true,
        value_name = "COMMAND",
        hide = true,
        conflicts_with = "url"
    )]
    command: Vec<OsString>,

    /// Set a variable of the command's environment
    #[arg(short, long = "env", value_name = "NAME=VALUE", value_parser = parse_pair, conflicts_with = "url")]
    env: Vec<(String, String)>,

    /// Send this header with every request
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_header, requires = "url", conflicts_with = "command")]
    headers: Vec<(String, String)>,

    /// The URL speaks HTTP+SSE of 2024-11-05
    #[arg(long, requires = "url", conflicts_with = "command")]
    sse: bool,

    /// Replace a server of the same name
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    pub(crate) file: FileArgs,
}

/// Writes the server, after the user has seen the change and agreed.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let Options { name, replace, .. } = &options;
    check_name(name)?;
    let host = options.file.host()?;
    let mut server = options.server()?;
    if !server.is_direct(host) {
        server = server.use_bridge(&tool()?);
    }
    let mut edit = HostChange::read(&options.file, host)?;
    let entry = server.to_entry(host);
    match edit.servers.get(name) {
        Some(former) if *former == to_object(&entry) => {
            return edit.report_nothing(&format!("{name:?} is there already, as it is wanted"));
        }
        Some(_) if !replace => {
            let message = format!("{} has a server {name:?} already", edit.describe());
            return Err(CliError::usage(message).hint("pass `--replace`, or choose another name"));
        }
        _ => {}
    }
    if let ServerAddress::Command { program, .. } = &server.address {
        warn_of_missing(program, &edit);
    }
    edit.apply(name, &Change::Set(entry)).await
}

impl Options {
    fn server(&self) -> Result<NewServer, CliError> {
        let pairs = |pairs: &[(String, String)]| pairs.iter().cloned().collect::<BTreeMap<_, _>>();
        let address = match (&self.url, &self.command[..]) {
            (Some(url), _) => ServerAddress::Url {
                url: parse_url(url)?,
                headers: pairs(&self.headers),
                is_sse: self.sse,
            },
            (None, [program, args @ ..]) => {
                let mut program = to_text(program)?;
                let is_path = Path::new(&program).components().count() > 1;
                // A host starts its servers in a directory of its own.
                if is_path && self.file.scope == Scope::User {
                    let path = std::path::absolute(&program)
                        .map_err(|error| CliError::usage(format!("{program}: {error}")))?;
                    program = to_text(path.as_os_str())?;
                }
                ServerAddress::Command {
                    program,
                    args: args
                        .iter()
                        .map(|arg| to_text(arg))
                        .collect::<Result<_, _>>()?,
                }
            }
            (None, []) => {
                return Err(
                    CliError::usage("neither a URL nor a command was given").hint(format!(
                        "`turnbuckle add {name} https://…` or `turnbuckle add {name} -- COMMAND`",
                        name = shell_quote([&*self.name])
                    )),
                );
            }
        };
        Ok(NewServer {
            address,
            env: pairs(&self.env),
        })
    }
}

/// Checks a name: hosts put it before the names of tools.
fn check_name(name: &str) -> Result<(), CliError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match !name.is_empty() && name.len() <= MAX_NAME_CHARS && name.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(CliError::usage(format!(
            "{name:?} is not a name: letters, digits, '-', '_' and '.', at most {MAX_NAME_CHARS}"
        ))),
    }
}

fn parse_url(text: &str) -> Result<String, CliError> {
    let is_http = |url: &url::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match url::Url::parse(text) {
        Ok(url) if is_http(&url) => Ok(text.to_owned()),
        _ => Err(
            CliError::usage(format!("{text:?} is not an http or https URL"))
                .hint("a command follows after `--`"),
        ),
    }
}

fn to_text(word: &std::ffi::OsStr) -> Result<String, CliError> {
    let text = word.to_str();
    text.map(str::to_owned)
        .ok_or_else(|| CliError::usage(format!("{} is not UTF-8", word.display())))
}

/// Returns the path of this program, for a host that reaches no URLs.
fn tool() -> Result<String, CliError> {
    let path = std::env::current_exe()
        .map_err(|error| CliError::new(format!("the path of this program: {error}")))?;
    to_text(path.as_os_str())
}

/// Warns of a program that is not there: the host would only say that the server has ended.
fn warn_of_missing(program: &str, edit: &HostChange) {
    let path = Path::new(program);
    let exists = match path.components().count() > 1 {
        true => path.exists(),
        false => {
            let search = std::env::var_os("PATH").unwrap_or_default();
            let suffixes: &[&str] = if cfg!(windows) {
                &["", ".exe", ".cmd", ".bat"]
            } else {
                &[""]
            };
            std::env::split_paths(&search).any(|directory| {
                let mut names = suffixes.iter().map(|suffix| format!("{program}{suffix}"));
                names.any(|name| directory.join(name).is_file())
            })
        }
    };
    if !exists {
        edit.console
            .print_warning(&format!("there is no program {program:?}"));
    }
}

/// Returns the hosts, for the description of an option.
pub(super) fn host_list(hosts: &[Host]) -> String {
    let hosts: Vec<_> = hosts.iter().map(|host| host.option()).collect();
    hosts.join(", ")
}
