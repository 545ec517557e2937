//! The checks of the settings, and the resource server that they make.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use turnbuckle_types::RequiredScopes;
use url::Url;

use super::{JwtIssuerSetting, OpaqueSetting, ResourceServerBuilder, ResourceServerError};
use crate::metadata::ProtectedResourceMetadata;
use crate::outbound::is_https_or_loopback;
use crate::outbound::{Outbound, OutboundSettings};
use crate::server::authenticator::{Authenticator, OpaqueVerifier};
use crate::server::denial::{ChallengeTemplate, DPOP_ALGORITHMS};
use crate::server::dpop::{DpopChecker, DpopMode, NonceIssuer};
use crate::server::jwt::{IssuerKeys, JwtAlgorithm, JwtIssuer};
use crate::server::layer::Shared;
use crate::server::resource_metadata::MetadataDocument;
use crate::server::resource_uri::ResourceUri;
use crate::server::scopes::is_scope;
use crate::server::token::{Introspection, StaticTokenError, StaticTokens, TokenCache};
use crate::server::{ResourceServer, scopes_of_metadata};

const MAX_LEEWAY: Duration = Duration::from_secs(300);
/// A request of a client waits for this long.
const OUTBOUND_TIMEOUT: Duration = Duration::from_secs(5);

impl ResourceServerBuilder {
    /// Checks the settings and creates the resource server. Nothing is fetched before the first
    /// request.
    ///
    /// # Errors
    /// Names the setting that is wrong.
    pub fn build(mut self) -> Result<ResourceServer, ResourceServerError> {
        let mut resource = ResourceUri::parse(&self.resource)
            .map_err(|reason| ResourceServerError::new("resource", reason))?;
        if let Some(base) = &self.public_base_url {
            resource
                .set_public_base(base)
                .map_err(|reason| ResourceServerError::new("public_base_url", reason))?;
        }
        self.check_scopes()?;
        if self.leeway > MAX_LEEWAY {
            return Err(ResourceServerError::new(
                "leeway",
                "it is longer than 5 minutes",
            ));
        }
        let leeway = self.leeway.as_secs();
        let api_key_header = self.take_api_key_header()?;
        let static_tokens = self.take_static_tokens()?;
        let jwt_issuers = self.take_jwt_issuers(leeway)?;
        let opaque = self.take_opaque(leeway)?;
        if static_tokens.is_empty() && jwt_issuers.is_empty() && opaque.is_none() {
            let reason = "there is no issuer, introspection, verifier or static token";
            return Err(ResourceServerError::new("issuer", reason));
        }
        for issuer in &self.authorization_servers {
            issuer_url("authorization_server", issuer)?;
        }
        self.authorization_servers.dedup();
        let named = self.audiences.iter().filter_map(|it| it.issuer.as_ref());
        for issuer in named {
            if !self.authorization_servers.contains(issuer) {
                let reason = format!("{issuer} is no issuer of this server");
                return Err(ResourceServerError::new("issuer_audience", reason));
            }
        }

        let metadata = self.metadata_document(&resource)?;
        let challenge = ChallengeTemplate {
            resource_metadata: metadata
                .as_ref()
                .map(|metadata| format!("{}{}", resource.origin(), metadata.path)),
            required_scopes: self.required_scopes.clone(),
            dpop: self.dpop,
        };
        let nonces = if self.has_dpop_nonces {
            let secret = crate::pkce::random_token()
                .map_err(|error| ResourceServerError::new("dpop_nonces", error.to_string()))?;
            Some(NonceIssuer::new(secret))
        } else {
            None
        };
        let mut authenticator = Authenticator {
            resource,
            extra_audiences: self.audiences,
            required_scopes: RequiredScopes::new(self.required_scopes),
            hierarchy: self.hierarchy,
            api_key_header,
            static_tokens,
            static_identities: Vec::new(),
            jwt_issuers,
            opaque,
            cache: TokenCache::new(self.max_cached_tokens),
            dpop: DpopChecker::new(self.dpop, nonces),
            clock: self.clock,
            leeway,
        };
        let principals = authenticator.static_tokens.principals().cloned();
        authenticator.static_identities = principals
            .map(|principal| Arc::new(authenticator.identity(principal, None)))
            .collect();
        Ok(ResourceServer {
            shared: Arc::new(Shared {
                leases: Arc::default(),
                authenticator,
                challenge,
            }),
            metadata: metadata.map(Arc::new),
            has_explicit_scopes: self.scopes_supported.is_some(),
        })
    }

    fn check_scopes(&self) -> Result<(), ResourceServerError> {
        if self
            .required_scopes
            .iter()
            .any(|scope| scope == "offline_access")
        {
            let reason = "`offline_access` is no need of a resource";
            return Err(ResourceServerError::new("required_scopes", reason));
        }
        let supported = self.scopes_supported.iter().flatten();
        match self
            .required_scopes
            .iter()
            .chain(supported)
            .find(|scope| !is_scope(scope))
        {
            Some(scope) => {
                let reason = format!("{scope:?} is not a scope of OAuth");
                Err(ResourceServerError::new("required_scopes", reason))
            }
            None => Ok(()),
        }
    }

    fn take_api_key_header(&mut self) -> Result<Option<HeaderName>, ResourceServerError> {
        let Some(name) = self.api_key_header.take() else {
            return Ok(None);
        };
        let name: HeaderName = name
            .parse()
            .map_err(|_| ResourceServerError::new("api_key_header", "it is not a header name"))?;
        if name == http::header::AUTHORIZATION {
            let reason = "`Authorization` is read anyway";
            return Err(ResourceServerError::new("api_key_header", reason));
        }
        Ok(Some(name))
    }

    fn take_static_tokens(&mut self) -> Result<StaticTokens, ResourceServerError> {
        let mut tokens = StaticTokens::default();
        for setting in self.static_tokens.drain(..) {
            let added = tokens.add(&setting.name, setting.token.expose(), setting.scopes);
            added.map_err(|error| {
                let reason = match error {
                    StaticTokenError::TooShort => "it has less than 16 characters",
                    StaticTokenError::InvalidHash => "after `sha256:` come 64 hexadecimal digits",
                    StaticTokenError::DuplicateName => "another token has this name",
                    StaticTokenError::DuplicateToken => "it is the same as another token",
                };
                ResourceServerError::new("static_token", format!("{}: {reason}", setting.name))
            })?;
        }
        Ok(tokens)
    }

    fn take_jwt_issuers(&mut self, leeway: u64) -> Result<Vec<JwtIssuer>, ResourceServerError> {
        let algorithms = match &self.algorithms {
            None => JwtAlgorithm::ALL.to_vec(),
            Some(names) => names
                .iter()
                .map(|name| {
                    JwtAlgorithm::from_name(name).ok_or_else(|| {
                        let reason = format!("{name:?} is not a known asymmetric algorithm");
                        ResourceServerError::new("algorithms", reason)
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let mut issuers: Vec<JwtIssuer> = Vec::new();
        for setting in std::mem::take(&mut self.jwt_issuers) {
            let JwtIssuerSetting { issuer, jwks_url } = setting;
            if issuers.iter().any(|known| known.issuer() == issuer) {
                return Err(ResourceServerError::new(
                    "issuer",
                    format!("{issuer} stands twice"),
                ));
            }
            let url = issuer_url("issuer", &issuer)?;
            let url = match &jwks_url {
                Some(jwks_url) => https_url("jwks", jwks_url)?,
                None => url,
            };
            let outbound = self.outbound(&url)?;
            let keys = IssuerKeys::new(issuer.clone(), jwks_url, outbound, self.clock.clone());
            self.advertise(&issuer);
            let algorithms = algorithms.clone();
            issuers.push(JwtIssuer::new(
                issuer,
                keys,
                algorithms,
                self.clock.clone(),
                leeway,
            ));
        }
        Ok(issuers)
    }

    fn take_opaque(&mut self, leeway: u64) -> Result<Option<OpaqueVerifier>, ResourceServerError> {
        let mut settings = std::mem::take(&mut self.opaque).into_iter();
        match (settings.next(), settings.next()) {
            (None, _) => Ok(None),
            (Some(_), Some(_)) => {
                let reason = "there can be one introspection or verifier: an opaque token does not \
                              say whom it is for, and must not be shown to others";
                Err(ResourceServerError::new("introspection", reason))
            }
            (Some(OpaqueSetting::Custom(verifier)), None) => {
                Ok(Some(OpaqueVerifier::Custom(verifier)))
            }
            (
                Some(OpaqueSetting::Introspection {
                    issuer,
                    url,
                    client_id,
                    client_secret,
                }),
                None,
            ) => {
                issuer_url("introspection", &issuer)?;
                let outbound = self.outbound(&https_url("introspection", &url)?)?;
                self.advertise(&issuer);
                let endpoint = Introspection::new(
                    issuer,
                    url,
                    &client_id,
                    &client_secret,
                    outbound,
                    self.clock.clone(),
                    leeway,
                );
                Ok(Some(OpaqueVerifier::Introspection(Box::new(endpoint))))
            }
        }
    }

    fn advertise(&mut self, issuer: &str) {
        if !self
            .authorization_servers
            .iter()
            .any(|known| known == issuer)
        {
            self.authorization_servers.push(issuer.to_owned());
        }
    }

    fn outbound(&self, url: &Url) -> Result<Outbound, ResourceServerError> {
        let settings = OutboundSettings {
            timeout: OUTBOUND_TIMEOUT,
            extra_roots_pem: self.extra_roots_pem.clone(),
            ..OutboundSettings::default()
        };
        Outbound::new(url, settings)
            .map_err(|error| ResourceServerError::new("root_certificates_pem", error.to_string()))
    }

    /// Returns the metadata, if there is an authorization server to name.
    fn metadata_document(
        &self,
        resource: &ResourceUri,
    ) -> Result<Option<MetadataDocument>, ResourceServerError> {
        if self.authorization_servers.is_empty() {
            return Ok(None);
        }
        let is_dpop = self.dpop != DpopMode::Off;
        let scopes = self
            .scopes_supported
            .as_ref()
            .unwrap_or(&self.required_scopes);
        let metadata = ProtectedResourceMetadata {
            resource: resource.as_str().to_owned(),
            authorization_servers: self.authorization_servers.clone(),
            scopes_supported: scopes_of_metadata(scopes),
            bearer_methods_supported: vec!["header".to_owned()],
            resource_name: self.resource_name.clone(),
            resource_documentation: self.resource_documentation.clone(),
            dpop_signing_alg_values_supported: DPOP_ALGORITHMS
                .iter()
                .filter(|_| is_dpop)
                .map(|name| (*name).to_owned())
                .collect(),
            dpop_bound_access_tokens_required: self.dpop == DpopMode::Required,
        };
        MetadataDocument::new(metadata, resource.metadata_path())
            .map(Some)
            .map_err(|error| ResourceServerError::new("resource", error.to_string()))
    }
}

fn issuer_url(setting: &'static str, issuer: &str) -> Result<Url, ResourceServerError> {
    let url = https_url(setting, issuer)?;
    if url.query().is_some() || url.fragment().is_some() {
        let reason = format!("{issuer} has a query or fragment");
        return Err(ResourceServerError::new(setting, reason));
    }
    Ok(url)
}

fn https_url(setting: &'static str, text: &str) -> Result<Url, ResourceServerError> {
    match Url::parse(text) {
        Ok(url) if is_https_or_loopback(&url) => Ok(url),
        Ok(_) => {
            let reason = format!("{text} is not https, nor http on a loopback host");
            Err(ResourceServerError::new(setting, reason))
        }
        Err(_) => Err(ResourceServerError::new(
            setting,
            format!("{text} is not a URL"),
        )),
    }
}
