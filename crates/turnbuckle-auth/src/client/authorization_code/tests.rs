use super::*;
use crate::metadata::AuthorizationServerMetadata;

const ISSUER: &str = "https://as.example/tenant";

fn discovery() -> Discovery {
    Discovery {
        resource: Some("https://mcp.example".to_owned()),
        resource_scopes: None,
        issuer: ISSUER.to_owned(),
        server: AuthorizationServerMetadata {
            issuer: ISSUER.to_owned(),
            authorization_endpoint: Some("https://as.example/authorize?tenant=1".to_owned()),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..AuthorizationServerMetadata::default()
        },
        is_legacy: false,
    }
}

const REQUEST: AuthorizationRequest<'static> = AuthorizationRequest {
    client_id: "client",
    redirect_uri: "http://127.0.0.1:1234/callback",
    scopes: &[],
    resource: "https://mcp.example",
    dpop_thumbprint: None,
};

fn attempt(change: impl FnOnce(&mut Discovery)) -> Result<AuthorizationAttempt, AttemptError> {
    let mut discovery = discovery();
    change(&mut discovery);
    AuthorizationAttempt::new(&discovery, REQUEST)
}

/// Reads a redirect with the attempt's state and these parameters.
fn redirect(attempt: &AuthorizationAttempt, parameters: &str) -> Result<Secret, RedirectError> {
    let state = attempt.state.expose();
    attempt.read_redirect(&format!("http://x/callback?state={state}&{parameters}"))
}

// requirement: 00c4e276eb4f 1c70e7d84209 256b5231af6c 378b35bc3977 45decc3ef68f 49ea5114d240
// requirement: 671d1d24494a e48d5e551f7b
#[test]
fn the_request_has_all_parameters_and_keeps_those_of_the_endpoint() {
    let attempt = attempt(|_| {}).unwrap();
    let url = Url::parse(attempt.url()).unwrap();
    let get = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    assert_eq!(get("tenant").as_deref(), Some("1"));
    assert_eq!(get("resource").as_deref(), Some("https://mcp.example"));
    assert_eq!(get("code_challenge_method").as_deref(), Some("S256"));
    let challenge = pkce::sha256_base64url(attempt.verifier().expose());
    assert_eq!(get("code_challenge"), Some(challenge));
    assert_eq!(get("scope"), None);
    assert_eq!(get("prompt"), None);
}

// requirement: 2a9fab7eac31
#[test]
fn attempts_differ_in_state_and_verifier() {
    let (one, two) = (attempt(|_| {}).unwrap(), attempt(|_| {}).unwrap());
    assert_ne!(one.state.expose(), two.state.expose());
    assert_ne!(one.verifier.expose(), two.verifier.expose());
}

// requirement: 378b35bc3977 49ea5114d240 4c23ed895e37 5f2fb62faae3 6746d7f83be7 83a513aaf0da
// requirement: 8c66547c0824 98361036fb4f 9a20eba2434e cd58ea0d15ae fff65cbd5786
#[test]
fn pkce_that_is_not_advertised_is_refused() {
    let none = attempt(|discovery| discovery.server.code_challenge_methods_supported = None);
    assert_eq!(none.err(), Some(AttemptError::NoPkce));
    let plain = vec!["plain".to_owned()];
    let plain =
        attempt(|discovery| discovery.server.code_challenge_methods_supported = Some(plain));
    assert_eq!(plain.err(), Some(AttemptError::NoPkce));
    let legacy = attempt(|discovery| {
        discovery.is_legacy = true;
        discovery.server.code_challenge_methods_supported = None;
    });
    assert!(legacy.is_ok());
}

// requirement: 416eda68887e 565b3abb9385 9bdfa1558048 b2719fd95e8f b4ed9af096d1 cde76d7ac36b
// requirement: d7ddb3258974 dde4cbbc51b3
#[test]
fn a_browser_opens_only_https_or_this_machine() {
    for (endpoint, opened) in [
        ("https://as.example/a", true),
        ("http://localhost:9/a", true),
        ("http://[::1]:9/a", true),
        ("http://as.example/a", false),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
        ("https://me:pw@as.example/a", false),
        ("calc.exe", false),
    ] {
        let attempt = attempt(|discovery| {
            discovery.server.authorization_endpoint = Some(endpoint.to_owned());
        });
        assert_eq!(attempt.is_ok(), opened, "{endpoint}");
    }
}

// requirement: 2a9fab7eac31
#[test]
fn a_redirect_with_another_state_is_refused() {
    let attempt = attempt(|_| {}).unwrap();
    for other in ["?code=c", "?code=c&state=", "?code=c&state=guess", "code=c"] {
        let read = attempt.read_redirect(other);
        assert_eq!(read.err(), Some(RedirectError::WrongState), "{other}");
    }
}

// requirement: 0870de85907e 3e4360dd43c4 6adbd9ac8244
#[test]
fn the_issuer_is_compared_byte_for_byte_whether_or_not_it_was_promised() {
    let encoded = "https%3A%2F%2Fas.example%2Ftenant";
    for promised in [true, false] {
        let attempt = attempt(|discovery| {
            discovery
                .server
                .authorization_response_iss_parameter_supported = promised;
        })
        .unwrap();
        let code = redirect(&attempt, &format!("code=c&iss={encoded}")).unwrap();
        assert_eq!(code.expose(), "c");
        for wrong in [
            "https%3A%2F%2Fevil.example",
            "https%3A%2F%2Fas.example%2Ftenant%2F",
            "https%3A%2F%2FAS.example%2Ftenant",
            "",
        ] {
            let read = redirect(&attempt, &format!("code=c&iss={wrong}"));
            assert_eq!(read.err(), Some(RedirectError::WrongIssuer), "{wrong}");
        }
        let missing = redirect(&attempt, "code=c").err();
        let expected = promised.then_some(RedirectError::MissingIssuer);
        assert_eq!(missing, expected);
    }
}

// requirement: 539ce341176a
#[test]
fn an_error_of_another_issuer_is_not_shown() {
    let attempt = attempt(|_| {}).unwrap();
    let read = redirect(
        &attempt,
        "error=access_denied&iss=https%3A%2F%2Fevil.example",
    );
    assert_eq!(read.err(), Some(RedirectError::WrongIssuer));
}

#[test]
fn a_refusal_is_shown_without_control_characters() {
    let attempt = attempt(|_| {}).unwrap();
    let read = redirect(
        &attempt,
        "error=access_denied&error_description=no%1B%5B31m",
    );
    let Some(RedirectError::Refused { error, description }) = read.err() else {
        panic!("not refused");
    };
    assert_eq!(error, "access_denied");
    assert_eq!(description.as_deref(), Some("no [31m"));
}

#[test]
fn a_repeated_parameter_is_refused() {
    let attempt = attempt(|_| {}).unwrap();
    for twice in ["code=a&code=b", "code=a&state=x", "code=a&iss=x&iss=y"] {
        let read = redirect(&attempt, twice);
        assert_eq!(read.err(), Some(RedirectError::Malformed), "{twice}");
    }
    let huge = format!("code={}", "c".repeat(MAX_REDIRECT_BYTES));
    assert_eq!(
        redirect(&attempt, &huge).err(),
        Some(RedirectError::Malformed)
    );
    assert_eq!(redirect(&attempt, "").err(), Some(RedirectError::NoCode));
}
