//! The grant types that the test server supports.

/// The grant of the `jwt-bearer` profile (RFC 7523).
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The grant of token exchange (RFC 8693).
pub(super) const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The grants that a client may register.
pub(super) const GRANT_TYPES: [&str; 5] = [
    "authorization_code",
    "refresh_token",
    "client_credentials",
    JWT_BEARER,
    TOKEN_EXCHANGE,
];
