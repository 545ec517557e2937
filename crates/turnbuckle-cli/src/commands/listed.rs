//! Tools and prompts that a command line names, found in the lists of the server.

use turnbuckle::client::{Error, List, ListMethod};

use crate::connection::ServerConnection;
use crate::error::{CliError, ExitStatus};
use turnbuckle_types::base::nearest::did_you_mean;

/// The most names that are compared with a name that no item has.
const MAX_SUGGESTIONS: usize = 10_000;

/// An item that a command line names.
pub(super) enum NamedItem<T> {
    Listed(T),
    /// An item that is not in the server's list, which may show it to callers with more scopes only.
    Unlisted {
        /// The advice if the server does not know it either.
        hint: String,
    },
}

impl<T> NamedItem<T> {
    /// Returns the item, if it is listed.
    pub(super) fn item(&self) -> Option<&T> {
        match self {
            Self::Listed(item) => Some(item),
            Self::Unlisted { .. } => None,
        }
    }

    /// Converts the error of a request for the item.
    pub(super) fn explain(self, error: Error) -> CliError {
        match (error, self) {
            (error @ Error::ErrorResponse(_), Self::Unlisted { hint }) => {
                CliError::from(error).hint(hint)
            }
            (error, _) => error.into(),
        }
    }
}

/// Finds an item in a list of the server. `kind` is a word for it, such as `tool`.
///
/// # Errors
/// An item that cannot be used. An item that is not listed, unless the server is used with
/// authorization.
pub(super) async fn find_item<M: ListMethod>(
    connection: &ServerConnection,
    kind: &str,
    name: &str,
    mut list: List<M>,
    name_of: fn(&M::Item) -> &str,
) -> Result<NamedItem<M::Item>, CliError> {
    let mut names = Vec::new();
    while let Some(item) = list.next().await {
        let item = item?;
        if name_of(&item) == name {
            return Ok(NamedItem::Listed(item));
        }
        if names.len() < MAX_SUGGESTIONS {
            names.push(name_of(&item).to_owned());
        }
    }
    if let Some(fault) = connection.fault_of(name) {
        let text = format!("the {kind} {name:?} cannot be used: {fault}");
        return Err(CliError::new(text).status(ExitStatus::ProtocolViolation));
    }
    let names = names.iter().map(String::as_str);
    let hint = did_you_mean(name, names)
        .unwrap_or_else(|| format!("`turnbuckle list` shows the {kind}s of the server"));
    if connection.has_authorization().await {
        return Ok(NamedItem::Unlisted { hint });
    }
    let text = format!("{} has no {kind} {name:?}", connection.server_name());
    Err(CliError::new(text).status(ExitStatus::Refused).hint(hint))
}
