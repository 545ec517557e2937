//! The checks of the settings, and the resource server that they make.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderName;
use turnbuckle_types::RequiredScopes;
use url::Url;

use super::{JwtIssuerSetting, OpaqueSetting, ResourceServerBuilder, ResourceServerError};
use crate::dpop;
use crate::jws::JwtAlgorithm;
use crate::metadata::ProtectedResourceMetadata;
use crate::outbound::is_https_or_loopback;
use crate::outbound::{Outbound, OutboundSettings};
use crate::server::authenticator::{Authenticator, OpaqueVerifier};
use crate::server::denial::ChallengeTemplate;
use crate::server::dpop::{DpopChecker, DpopMode, NonceIssuer};
use crate::server::jwt::{IssuerKeys, JwtIssuer};
use crate::server::layer::Shared;
use crate::server::resource_metadata::MetadataDocument;
use crate::server::resource_uri::ResourceUri;
use crate::server::scopes::is_scope;
use crate::server::token::{Introspection, StaticTokens, TokenCache};
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
        let is_short = self.leeway <= MAX_LEEWAY;
        ensure(is_short, "leeway", || "it is longer than 5 minutes")?;
        let leeway = self.leeway.as_secs();
        let api_key_header = self.take_api_key_header()?;
        let static_tokens = self.take_static_tokens()?;
        let jwt_issuers = self.take_jwt_issuers(leeway)?;
        let opaque = self.take_opaque(leeway)?;
        let has_source = !static_tokens.is_empty() || !jwt_issuers.is_empty() || opaque.is_some();
        let reason = "there is no issuer, introspection, verifier or static token";
        ensure(has_source, "issuer", || reason)?;
        for issuer in &self.authorization_servers {
            issuer_url("authorization_server", issuer)?;
        }
        self.authorization_servers.dedup();
        let named = self.audiences.iter().filter_map(|it| it.issuer.as_ref());
        for issuer in named {
            let is_known = self.authorization_servers.contains(issuer);
            let reason = || format!("{issuer} is no issuer of this server");
            ensure(is_known, "issuer_audience", reason)?;
        }

        let metadata = self.metadata_document(&resource)?;
        let challenge = ChallengeTemplate {
            resource_metadata: metadata
                .as_ref()
                .map(|metadata| format!("{}{}", resource.origin(), metadata.path)),
            required_scopes: self.required_scopes.clone(),
            dpop: self.dpop,
        };
        let nonces = self
            .has_dpop_nonces
            .then(|| NonceIssuer::new(self.keys.as_ref()));
        let nonces = nonces.transpose();
        let nonces =
            nonces.map_err(|error| ResourceServerError::new("dpop_nonces", error.to_string()))?;
        let mut authenticator = Authenticator {
            resource,
            extra_audiences: self.audiences,
            required_scopes: RequiredScopes::new(self.required_scopes),
            hierarchy: self.hierarchy,
            api_key_header,
            static_tokens,
            static_identities: Vec::new(),
            jwt_issuers,
            opaque: opaque.map(|verifier| {
                let queue = verifier.new_queue();
                (verifier, queue)
            }),
            cache: TokenCache::new(self.max_cached_tokens),
            dpop: DpopChecker::new(self.dpop, nonces, self.proof_store),
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
                audit: self.audit,
            }),
            metadata: metadata.map(Arc::new),
            has_explicit_scopes: self.scopes_supported.is_some(),
        })
    }

    fn check_scopes(&self) -> Result<(), ResourceServerError> {
        let mut required = self.required_scopes.iter();
        let needs_offline = required.any(|scope| scope == "offline_access");
        let reason = "`offline_access` is no need of a resource";
        ensure(!needs_offline, "required_scopes", || reason)?;
        let supported = self.scopes_supported.iter().flatten();
        for scope in self.required_scopes.iter().chain(supported) {
            let reason = || format!("{scope:?} is not a scope of OAuth");
            ensure(is_scope(scope), "required_scopes", reason)?;
        }
        Ok(())
    }

    fn take_api_key_header(&mut self) -> Result<Option<HeaderName>, ResourceServerError> {
        let Some(name) = self.api_key_header.take() else {
            return Ok(None);
        };
        let name: HeaderName = name
            .parse()
            .map_err(|_| ResourceServerError::new("api_key_header", "it is not a header name"))?;
        let is_other = name != http::header::AUTHORIZATION;
        ensure(
            is_other,
            "api_key_header",
            || "`Authorization` is read anyway",
        )?;
        Ok(Some(name))
    }

    fn take_static_tokens(&mut self) -> Result<StaticTokens, ResourceServerError> {
        let mut tokens = StaticTokens::default();
        for setting in self.static_tokens.drain(..) {
            let added = tokens.add(&setting.name, setting.token.expose(), setting.scopes);
            added.map_err(|error| {
                let reason = format!("{}: {error}", setting.name);
                ResourceServerError::new("static_token", reason)
            })?;
        }
        Ok(tokens)
    }

    fn take_jwt_issuers(&mut self, leeway: u64) -> Result<Vec<JwtIssuer>, ResourceServerError> {
        let algorithms = match &self.algorithms {
            None => JwtAlgorithm::ALL.map(|(_, algorithm)| algorithm).to_vec(),
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
            let is_new = issuers.iter().all(|known| known.issuer() != issuer);
            ensure(is_new, "issuer", || format!("{issuer} stands twice"))?;
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
        let servers = &mut self.authorization_servers;
        if !servers.iter().any(|known| known == issuer) {
            servers.push(issuer.to_owned());
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
            dpop_signing_alg_values_supported: dpop::ALGORITHMS
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

/// Fails with the reason unless a rule for a setting holds.
fn ensure<R: Into<String>>(
    is_met: bool,
    setting: &'static str,
    reason: impl FnOnce() -> R,
) -> Result<(), ResourceServerError> {
    if is_met {
        Ok(())
    } else {
        Err(ResourceServerError::new(setting, reason()))
    }
}

fn issuer_url(setting: &'static str, issuer: &str) -> Result<Url, ResourceServerError> {
    let url = https_url(setting, issuer)?;
    let is_plain = url.query().is_none() && url.fragment().is_none();
    ensure(is_plain, setting, || {
        format!("{issuer} has a query or fragment")
    })?;
    Ok(url)
}

fn https_url(setting: &'static str, text: &str) -> Result<Url, ResourceServerError> {
    let url = Url::parse(text)
        .map_err(|_| ResourceServerError::new(setting, format!("{text} is not a URL")))?;
    let reason = || format!("{text} is not https, nor http on a loopback host");
    ensure(is_https_or_loopback(&url), setting, reason)?;
    Ok(url)
}
