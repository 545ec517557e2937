//! The settings of a store in PostgreSQL.

use std::time::Duration;

use turnbuckle_store::{StoreError, StoreErrorKind};

/// The most bytes of the name of a schema: PostgreSQL cuts longer names.
const MAX_SCHEMA_BYTES: usize = 63;

/// The settings of a [`PostgresStore`](crate::PostgresStore).
#[derive(Debug, Clone)]
pub struct PostgresStoreOptions {
    pub(crate) schema: String,
    pub(crate) max_connections: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) statement_timeout: Duration,
    #[cfg(feature = "tls")]
    pub(crate) roots: Vec<rustls::pki_types::CertificateDer<'static>>,
}

impl Default for PostgresStoreOptions {
    fn default() -> Self {
        Self {
            schema: "turnbuckle".to_owned(),
            max_connections: 4,
            connect_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_millis(900),
            #[cfg(feature = "tls")]
            roots: Vec::new(),
        }
    }
}

impl PostgresStoreOptions {
    /// Returns the default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the schema of the tables: `turnbuckle` unless set. Servers with schemas of their own share one
    /// database. The name has up to 63 lower-case letters, digits and underscores.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// Sets the most connections for operations: 4 unless set, at least 1. They are opened when operations
    /// run side by side. One more connection listens to topics, once there are subscribers.
    #[must_use]
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Sets the time in which a connection is made: 5 s unless set.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// Sets the time after which the database gives up a statement: 900 ms unless set, at least 1 ms. A
    /// connection that has not answered a second later is closed.
    #[must_use]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// Adds certificates, as PEM text, to those of the system that may have signed the certificate of the
    /// server.
    ///
    /// # Errors
    /// If there is no certificate in the text.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    pub fn add_roots(mut self, pem: &[u8]) -> Result<Self, StoreError> {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject as _;

        let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let roots = read.ok().filter(|roots| !roots.is_empty());
        let roots = roots.ok_or_else(|| {
            let text = "there is no certificate in this PEM text: give it BEGIN CERTIFICATE";
            StoreError::new(StoreErrorKind::Misconfigured, text)
        })?;
        self.roots.extend(roots);
        Ok(self)
    }

    /// Checks the name of the schema, which stands in SQL.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let name = self.schema.as_bytes();
        let starts_well = name.first().is_some_and(|first| !first.is_ascii_digit());
        if starts_well && name.len() <= MAX_SCHEMA_BYTES && name.iter().copied().all(is_plain) {
            return Ok(());
        }
        let text = format!(
            "PostgresStoreOptions::schema must be 1 to {MAX_SCHEMA_BYTES} lower-case letters, digits and \
             underscores, and begin with no digit"
        );
        Err(StoreError::new(StoreErrorKind::Misconfigured, text))
    }
}
