//! Errors carry a kind, never a number, and do not show what they should not.

use turnbuckle_types::*;

#[test]
fn an_error_is_as_large_as_a_pointer() {
    assert_eq!(size_of::<ProtocolError>(), size_of::<usize>());
    fn crosses_threads<T: Send + Sync + 'static>() {}
    crosses_threads::<ProtocolError>();
}

#[test]
fn a_kind_brings_its_data() {
    let data = |error: ProtocolError| error.data().map(ToString::to_string).unwrap_or_default();
    assert_eq!(
        data(ProtocolError::new(
            ErrorKind::UnsupportedProtocolVersion {
                supported: vec!["b".to_owned(), "a".to_owned()],
                requested: "z".to_owned(),
            },
            "m"
        )),
        r#"{"supported":["b","a"],"requested":"z"}"#
    );
    let needed = ClientCapabilities::new().sampling(SamplingCapability::new());
    assert_eq!(
        data(ProtocolError::missing_required_client_capability(
            needed, "m"
        )),
        r#"{"requiredCapabilities":{"sampling":{}}}"#
    );
    let url = ElicitRequestUrlParams::new("m", "u").elicitation_id("e");
    assert_eq!(
        data(ProtocolError::url_elicitation_required([url], "m")),
        r#"{"elicitations":[{"mode":"url","message":"m","url":"u","elicitationId":"e"}]}"#
    );
    assert_eq!(
        data(ProtocolError::resource_not_found("file:///a")),
        r#"{"uri":"file:///a"}"#
    );
    assert_eq!(data(ProtocolError::invalid_params("m")), "");
    assert_eq!(
        data(ProtocolError::application(-1, "m").with_data(&[1])),
        "[1]"
    );
}

#[test]
fn a_constructor_makes_the_kind_of_its_name() {
    let needed = ClientCapabilities::new();
    let scopes = RequiredScopes::new(["a", "b"]);
    let errors = [
        (ProtocolError::parse_error("x"), ErrorKind::ParseError),
        (
            ProtocolError::invalid_request("x"),
            ErrorKind::InvalidRequest,
        ),
        (
            ProtocolError::invalid_envelope("x"),
            ErrorKind::InvalidEnvelope,
        ),
        (
            ProtocolError::header_mismatch("x"),
            ErrorKind::HeaderMismatch,
        ),
        (
            ProtocolError::missing_required_client_capability(needed.clone(), "x"),
            ErrorKind::MissingRequiredClientCapability(Box::new(needed)),
        ),
        (
            ProtocolError::method_not_found("x"),
            ErrorKind::MethodNotFound,
        ),
        (
            ProtocolError::resource_not_found("x"),
            ErrorKind::ResourceNotFound,
        ),
        (ProtocolError::invalid_params("x"), ErrorKind::InvalidParams),
        (
            ProtocolError::forbidden(scopes.clone()),
            ErrorKind::Forbidden(scopes),
        ),
        (ProtocolError::internal("x"), ErrorKind::Internal),
        (
            ProtocolError::application(7, "x"),
            ErrorKind::Application(7),
        ),
    ];
    for (error, kind) in errors {
        assert_eq!(*error.kind(), kind);
    }
}

#[test]
fn the_source_stays_at_home_and_the_data_out_of_the_log() {
    let cause = std::io::Error::other("disk on fire");
    let error = ProtocolError::internal("could not read")
        .with_data("hunter2")
        .with_source(cause);
    assert_eq!(error.to_string(), "could not read");
    assert_eq!(error.cause().unwrap().to_string(), "disk on fire");
    assert!(!format!("{error:?}").contains("hunter2"));
}

#[test]
fn a_principal_does_not_show_its_claims() {
    let claims = r#"{"email":"a@b.c"}"#.parse::<RawObject>().unwrap();
    let principal = Principal::new("https://issuer", "alice")
        .client("app")
        .scopes(["read"])
        .claims(claims);
    let shown = format!("{principal:?}");
    assert!(shown.contains("alice") && shown.contains("read"));
    assert!(!shown.contains("a@b.c"));
    assert_eq!(
        principal.claims.as_ref().unwrap().as_str(),
        r#"{"email":"a@b.c"}"#
    );
}

#[test]
fn scopes_are_needed_all_together() {
    let principal = Principal::new("i", "s").scopes(["read", "list"]);
    assert!(RequiredScopes::new(["read", "list"]).is_met_by(Some(&principal)));
    assert!(!RequiredScopes::new(["read", "write"]).is_met_by(Some(&principal)));
    assert!(!RequiredScopes::new(["read"]).is_met_by(None));
    assert!(RequiredScopes::new(Vec::<String>::new()).is_met_by(None));
    assert_eq!(
        RequiredScopes::new(["a", "b"]).to_string(),
        "needs the scopes: a b"
    );
}
