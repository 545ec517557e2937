//! Connections with TLS, behind the feature `tls`.

use tokio_postgres::Socket;
use tokio_postgres::tls::MakeTlsConnect;
use turnbuckle_store::StoreError;

use crate::options::PostgresStoreOptions;

/// The maker of TLS sessions.
#[cfg(feature = "tls")]
pub(crate) type Connector = tokio_postgres_rustls::MakeRustlsConnect;

/// The maker of TLS sessions: it makes none.
#[cfg(not(feature = "tls"))]
pub(crate) type Connector = tokio_postgres::NoTls;

/// A connection of the library, which has to be polled.
pub(crate) type Driver =
    tokio_postgres::Connection<Socket, <Connector as MakeTlsConnect<Socket>>::Stream>;

/// Returns the maker of TLS sessions. The certificate of the server must be signed by one that the system or
/// the options trust, and name the host.
#[cfg(feature = "tls")]
pub(crate) fn connector(options: &PostgresStoreOptions) -> Result<Connector, StoreError> {
    use std::sync::Arc;

    use rustls::ClientConfig;
    use rustls_platform_verifier::Verifier;
    use turnbuckle_store::StoreErrorKind;

    // The provider of cryptography is named: the one of the process belongs to the program.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = Verifier::new_with_extra_roots(options.roots.clone(), provider.clone()).and_then(
        |verifier| {
            let builder = ClientConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()?
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier));
            Ok(builder.with_no_client_auth())
        },
    );
    let mut config = config.map_err(|error| {
        let text = format!("TLS cannot be used: {error}");
        StoreError::new(StoreErrorKind::Misconfigured, text)
    })?;
    config.alpn_protocols = vec![b"postgresql".to_vec()];
    Ok(Connector::new(config))
}

#[cfg(not(feature = "tls"))]
pub(crate) fn connector(_: &PostgresStoreOptions) -> Result<Connector, StoreError> {
    Ok(tokio_postgres::NoTls)
}
