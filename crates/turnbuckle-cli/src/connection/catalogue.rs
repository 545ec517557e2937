//! The servers of the configuration files, as a user chooses from them.

use std::path::PathBuf;

use turnbuckle::servers::config::ServerEntry;

use super::config::all_servers;
use super::consent::{NeededConsent, needed_consent};
use super::target::Target;
use crate::args::ServerArgs;
use crate::authorization::UserStore;
use crate::error::CliError;

/// A server of a configuration file.
pub(crate) struct CatalogueEntry {
    pub(crate) name: String,
    /// The file that has the server.
    pub(crate) file: PathBuf,
    pub(crate) entry: ServerEntry,
    /// The server, or the reason why it cannot be used.
    pub(crate) target: Result<Target, String>,
    /// The consent that the server needs; none if the file was named by the user.
    pub(crate) consent: Option<NeededConsent>,
}

/// Returns the servers of the file of `--config`, or else of the files that are found.
///
/// # Errors
/// Fails if a file cannot be read.
pub(crate) async fn list_catalogue(
    server_args: &ServerArgs,
    store: &UserStore,
) -> Result<Vec<CatalogueEntry>, CliError> {
    let mut entries = Vec::new();
    for server in all_servers(server_args.config.as_deref())? {
        let (name, file) = (server.name.clone(), server.file.clone());
        let entry = server.entry.clone();
        let target = Target::from_configured(server, server_args);
        let target = target.map_err(|error| error.text().to_owned());
        let consent = match &target {
            Ok(target) => needed_consent(target, store).await,
            Err(_) => None,
        };
        entries.push(CatalogueEntry {
            name,
            file,
            entry,
            target,
            consent,
        });
    }
    Ok(entries)
}
