//! The metadata of clients, and clients whose id is the URL of a metadata document.
//!
//! Specification: RFC 7591, section 2; basic/authorization/client-registration (2026-07-28);
//! draft-ietf-oauth-client-id-metadata-document-00.

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::answer::Refusal;
use super::client::{Client, ClientAuthMethod, ClientKeys};
use super::redirect_uri::{self, ApplicationType};
use super::server::Server;
use super::state::CachedDocument;

/// The seconds for which a document is kept.
const DOCUMENT_TTL: u64 = 60;

/// The longest client id, in bytes.
const MAX_URL_BYTES: usize = 2_048;

/// The metadata by which a client describes itself.
#[derive(Debug, Deserialize)]
pub(super) struct ClientMetadata {
    client_id: Option<String>,
    client_secret: Option<Value>,
    pub(super) client_name: Option<String>,
    #[serde(default)]
    pub(super) redirect_uris: Vec<String>,
    pub(super) grant_types: Option<Vec<String>>,
    pub(super) response_types: Option<Vec<String>>,
    pub(super) token_endpoint_auth_method: Option<ClientAuthMethod>,
    pub(super) application_type: Option<ApplicationType>,
    pub(super) scope: Option<String>,
    jwks: Option<Value>,
    jwks_uri: Option<String>,
}

impl ClientMetadata {
    /// Returns the keys of a client that authenticates itself by `private_key_jwt`.
    pub(super) fn keys(
        &mut self,
        auth_method: ClientAuthMethod,
    ) -> Result<Option<ClientKeys>, String> {
        if auth_method != ClientAuthMethod::PrivateKeyJwt {
            return Ok(None);
        }
        match (self.jwks.take(), self.jwks_uri.take()) {
            (Some(keys), None) => Ok(Some(ClientKeys::Inline(keys))),
            (None, Some(url)) => Ok(Some(ClientKeys::Url(url))),
            _ => Err("private_key_jwt needs either jwks or jwks_uri".to_owned()),
        }
    }
}

/// Returns true if a client id is meant as a URL.
pub(super) fn is_url(id: &str) -> bool {
    id.starts_with("https://") || id.starts_with("http://")
}

/// Finds the client whose metadata document is at the URL `id`.
///
/// # Errors
/// Refuses with `invalid_client` and the reason.
pub(super) async fn find(server: &Server, id: &str) -> Result<Client, Refusal> {
    let refuse = |reason: String| {
        let description = format!("the client metadata document: {reason}");
        Refusal::new("invalid_client", description)
    };
    check_url(id, server.settings.allow_http_client_ids).map_err(refuse)?;
    let now = server.now();
    if let Some(cached) = server.tables().metadata_documents.get(id)
        && now < cached.fetched_at.saturating_add(DOCUMENT_TTL)
    {
        return Ok(cached.client.clone());
    }
    let fetched = server.documents.fetch(id).await;
    let fetched = fetched.map_err(|error| refuse(error.to_string()))?;
    // A redirect could lead to the document of somebody else.
    if id != fetched.url {
        return Err(refuse("its server redirects to another URL".to_owned()));
    }
    let client = read(id, fetched.value).map_err(refuse)?;
    let document = CachedDocument {
        client: client.clone(),
        fetched_at: now,
    };
    let documents = &mut server.tables().metadata_documents;
    documents.insert(id.to_owned(), document);
    Ok(client)
}

/// Checks a client id that is a URL.
fn check_url(id: &str, is_http_allowed: bool) -> Result<(), String> {
    let url = Url::parse(id).map_err(|_| "the client id is no URL".to_owned())?;
    let is_local_http = is_http_allowed && url.scheme() == "http" && redirect_uri::is_local(&url);
    let fault = if id.len() > MAX_URL_BYTES {
        "the client id is too long"
    } else if url.scheme() != "https" && !is_local_http {
        "the client id is no https URL"
    } else if url.as_str() != id {
        // The library resolves "." and ".." and writes names in lower case: only its own form is
        // compared by everybody alike.
        "the client id is not in its normal form"
    } else if url.path() == "/" {
        "the client id has no path"
    } else if url.fragment().is_some() {
        "the client id has a fragment"
    } else if !url.username().is_empty() || url.password().is_some() {
        "the client id has a user name or a password"
    } else {
        return Ok(());
    };
    Err(fault.to_owned())
}

/// Reads a metadata document.
fn read(id: &str, document: Value) -> Result<Client, String> {
    let malformed = |error| format!("it is malformed: {error}");
    let mut metadata: ClientMetadata = serde_json::from_value(document).map_err(malformed)?;
    if metadata.client_id.as_deref() != Some(id) {
        return Err("its client_id is not its URL".to_owned());
    }
    let name = metadata.client_name.take().filter(|name| !name.is_empty());
    let name = name.ok_or("it has no client_name")?;
    if metadata.redirect_uris.is_empty() {
        return Err("it has no redirect_uris".to_owned());
    }
    for uri in &metadata.redirect_uris {
        redirect_uri::check(uri, None)?;
    }
    if metadata.client_secret.is_some() {
        return Err("it has a client_secret, which anyone could read".to_owned());
    }
    let auth_method = metadata.token_endpoint_auth_method;
    let auth_method = auth_method.unwrap_or(ClientAuthMethod::None);
    if auth_method.has_secret() {
        return Err("its token_endpoint_auth_method needs a secret".to_owned());
    }
    Ok(Client {
        name: Some(name),
        keys: metadata.keys(auth_method)?,
        grant_types: metadata.grant_types,
        ..Client::new(id.to_owned(), auth_method, metadata.redirect_uris)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_client_id_is_an_https_url_with_a_path() {
        assert_eq!(check_url("https://app.example/client.json", false), Ok(()));
        assert_eq!(check_url("http://127.0.0.1:1/client.json", true), Ok(()));
        for id in [
            "http://127.0.0.1:1/client.json",
            "https://app.example",
            "https://app.example/",
            "https://app.example/a/../client.json",
            "https://app.example/client.json#x",
            "https://u@app.example/client.json",
            "https://APP.example/client.json",
        ] {
            assert!(check_url(id, false).is_err(), "{id}");
        }
        assert!(check_url("http://app.example/client.json", true).is_err());
    }

    #[test]
    fn a_document_names_its_own_url_and_has_no_secret() {
        let id = "https://app.example/client.json";
        let good = json!({
            "client_id": id, "client_name": "App", "redirect_uris": ["http://127.0.0.1/cb"],
        });
        assert!(read(id, good.clone()).is_ok());
        for (name, value) in [
            ("client_id", json!("https://app.example/client.json/")),
            ("client_name", json!(null)),
            ("redirect_uris", json!([])),
            ("redirect_uris", json!("http://127.0.0.1/cb")),
            ("redirect_uris", json!(["http://evil.example/cb"])),
            ("client_secret", json!("x")),
            ("token_endpoint_auth_method", json!("client_secret_basic")),
            ("token_endpoint_auth_method", json!("private_key_jwt")),
        ] {
            let mut bad = good.clone();
            bad[name] = value;
            assert!(read(id, bad.clone()).is_err(), "{bad}");
        }
    }
}
