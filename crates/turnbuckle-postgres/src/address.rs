//! Addresses of databases: URLs, and lists of keys and values.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, TargetSessionAttrs};
use turnbuckle_store::{StoreError, StoreErrorKind};

/// The time without traffic after which a connection is tested: PostgreSQL's own default of two hours would
/// leave subscribers without news for as long.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);

/// The default of the library, which says that the address names no other time.
const UNSET_KEEPALIVE_IDLE: Duration = Duration::from_secs(2 * 60 * 60);

/// Parses an address.
pub(crate) fn parse(address: &str) -> Result<Config, StoreError> {
    // The cause is not shown: it may quote a part of the password.
    let mut config: Config = address.parse().map_err(|_| {
        address_error(
            "the address of the database cannot be read: use postgres://USER:PASSWORD@HOST:PORT/DATABASE \
             with special characters as %XX, or keys and values such as host=/run/postgresql dbname=mcp \
             user=mcp",
        )
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(address_error(
            "the address of the database names no host: add one, or a folder of a Unix socket such as \
             host=/run/postgresql",
        ));
    }
    if config.get_ssl_mode() == SslMode::Require && !cfg!(feature = "tls") {
        return Err(address_error(
            "the address of the database demands TLS (sslmode=require): switch on the feature `tls` of \
             turnbuckle-postgres",
        ));
    }
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    if hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
        // Of several hosts one is the primary.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
    }
    if config.get_keepalives_idle() == UNSET_KEEPALIVE_IDLE {
        config.keepalives_idle(KEEPALIVE_IDLE);
    }
    if config.get_application_name().is_none() {
        config.application_name("turnbuckle");
    }
    Ok(config)
}

fn address_error(text: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Misconfigured, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_urls_and_lists_of_keys() {
        for address in [
            "postgres://mcp:secret@db.example.com:5433/mcp",
            "postgresql://mcp@db.example.com/mcp?application_name=x",
            "host=/run/postgresql dbname=mcp user=mcp",
            "postgres://mcp@%2Frun%2Fpostgresql/mcp",
        ] {
            assert!(parse(address).is_ok(), "{address}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_shown() {
        for address in [
            "host=x password=hush hush=1",
            "postgres://u:hush@h/d?hush=1",
            "postgres://u:hush@h:hush/d",
            "hush",
            "user=u password=hush",
        ] {
            let error = parse(address).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::Misconfigured);
            assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
        }
    }

    #[test]
    fn of_several_hosts_the_primary_is_used() {
        let several = parse("postgres://u@a,b/d").unwrap();
        let attributes = several.get_target_session_attrs();
        assert_eq!(attributes, TargetSessionAttrs::ReadWrite);
        let named = parse("postgres://u@a,b/d?target_session_attrs=read-only").unwrap();
        let attributes = named.get_target_session_attrs();
        assert_eq!(attributes, TargetSessionAttrs::ReadOnly);
    }

    #[cfg(not(feature = "tls"))]
    #[test]
    fn tls_without_its_feature_is_refused_by_name() {
        let refused = parse("postgres://u@h/d?sslmode=require").unwrap_err();
        assert!(refused.to_string().contains("feature `tls`"), "{refused}");
    }
}
