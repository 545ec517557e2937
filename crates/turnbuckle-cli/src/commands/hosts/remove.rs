//! The `remove` command: removes a server from the configuration file of a host.

use clap::Args;
use turnbuckle_types::base::nearest::did_you_mean;

use super::add::host_list;
use super::change::{FileArgs, HostChange};
use super::edit::Change;
use super::host::Host;
use crate::error::CliError;

/// Options of `remove`.
#[derive(Args)]
pub(crate) struct Options {
    /// The name by which the host knows the server
    name: String,

    #[command(flatten)]
    pub(crate) file: FileArgs,
}

/// Removes the server, after the user has seen the change and agreed. Without `--host`, the host whose file
/// has the server is meant.
pub(crate) async fn run(options: Options) -> Result<(), CliError> {
    let Options { name, file } = &options;
    let mut edit = match file.host {
        Some(host) => HostChange::read(file, host)?,
        None => find(name, file)?,
    };
    if !edit.servers.contains_key(name) {
        let failure = CliError::usage(format!("{} has no server {name:?}", edit.describe()));
        let names = edit.servers.keys().map(String::as_str);
        return Err(match did_you_mean(name, names) {
            Some(hint) => failure.hint(hint),
            None => failure,
        });
    }
    edit.apply(name, &Change::Remove).await
}

/// Finds the one file that has the server.
fn find(name: &str, file: &FileArgs) -> Result<HostChange, CliError> {
    let places = file.places()?;
    let hosts = Host::all().iter().copied();
    let mut found = Vec::new();
    for host in hosts.filter(|host| places.file(*host, file.scope).is_some()) {
        // A broken file of another host is no reason to stop.
        if let Ok(edit) = HostChange::read(file, host)
            && edit.servers.contains_key(name)
        {
            found.push((host, edit));
        }
    }
    match found.len() {
        0 => Err(
            CliError::usage(format!("no host has a server {name:?}")).hint(format!(
                "name the host with `--host`: {}",
                host_list(Host::all())
            )),
        ),
        1 => Ok(found.swap_remove(0).1),
        _ => {
            let hosts: Vec<_> = found.iter().map(|(host, _)| *host).collect();
            let message = format!(
                "several hosts have a server {name:?}: {}",
                host_list(&hosts)
            );
            let hint = format!("name one: `--host {}`", hosts[0].option());
            Err(CliError::usage(message).hint(hint))
        }
    }
}
