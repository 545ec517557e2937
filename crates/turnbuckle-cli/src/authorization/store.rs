//! The credential store of the user, opened at its first use.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::OnceCell;
use turnbuckle::auth::Secret;
use turnbuckle::auth::client::store::{BoxFuture, CredentialStore, FileStore, StoreLock};
use turnbuckle::auth::{AuthError, AuthErrorKind};
use turnbuckle_types::base::secrets::is_secret_name;

use crate::observe::KnownSecrets;

/// The credential store of the user.
///
/// Its directory is made by the first write: a user who never logged in has none, and reads find
/// nothing. All secrets that pass are added to those that the trace file hides.
#[derive(Clone)]
pub(crate) struct UserStore {
    opened: Arc<OnceCell<FileStore>>,
    secrets: KnownSecrets,
}

impl UserStore {
    pub(crate) fn new(secrets: KnownSecrets) -> Self {
        Self {
            opened: Arc::default(),
            secrets,
        }
    }

    /// Returns whether the store has been made.
    pub(crate) fn exists(&self) -> bool {
        self.opened.initialized() || FileStore::user_dir().is_ok_and(|dir| dir.is_dir())
    }

    async fn open(&self) -> Result<&FileStore, AuthError> {
        let open = || async {
            let opening = tokio::task::spawn_blocking(FileStore::user).await;
            opening.unwrap_or_else(|_| {
                let message = "opening the store was interrupted";
                Err(AuthError::new(AuthErrorKind::Store, message))
            })
        };
        self.opened.get_or_try_init(open).await
    }

    fn note_secrets(&self, value: &Secret) {
        if let Ok(value) = serde_json::from_str(value.expose()) {
            collect_secrets(&value, &self.secrets);
        }
    }
}

impl CredentialStore for UserStore {
    fn load<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(async move {
            if !self.exists() {
                return Ok(None);
            }
            let value = self.open().await?.load(key).await?;
            if let Some(value) = &value {
                self.note_secrets(value);
            }
            Ok(value)
        })
    }

    fn save<'a>(&'a self, key: &'a str, value: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            self.note_secrets(value);
            self.open().await?.save(key, value).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), AuthError>> {
        Box::pin(async move {
            if self.exists() {
                self.open().await?.remove(key).await
            } else {
                Ok(())
            }
        })
    }

    fn keys(&self) -> BoxFuture<'_, Result<Vec<String>, AuthError>> {
        Box::pin(async move {
            if self.exists() {
                self.open().await?.keys().await
            } else {
                Ok(Vec::new())
            }
        })
    }

    fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<StoreLock, AuthError>> {
        Box::pin(async move { self.open().await?.lock(key).await })
    }
}

/// Adds the secrets of a stored value to `secrets`.
fn collect_secrets(value: &Value, secrets: &KnownSecrets) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if is_secret_name(name) => {
                        secrets.add([text.clone()]);
                    }
                    value => collect_secrets(value, secrets),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_secrets(item, secrets)),
        _ => {}
    }
}
