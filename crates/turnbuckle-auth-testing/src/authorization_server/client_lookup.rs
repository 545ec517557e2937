//! The lookup of a client by its id.

use super::answer::Refusal;
use super::client::Client;
use super::client_metadata;
use super::server::Server;

/// Finds a client: of the settings, registered, or by its metadata document.
///
/// # Errors
/// Refuses with `invalid_client`.
pub(super) async fn find_client(server: &Server, id: &str) -> Result<Client, Refusal> {
    let settings = &server.settings;
    if let Some(client) = settings.clients.iter().find(|client| client.id == id) {
        return Ok(client.clone());
    }
    if let Some(client) = server.tables().registered_clients.get(id) {
        return Ok(client.clone());
    }
    if settings.client_metadata_documents && client_metadata::is_url(id) {
        return client_metadata::find(server, id).await;
    }
    Err(Refusal::new("invalid_client", "there is no such client"))
}
