use super::*;

fn parse(value: &str) -> Vec<Challenge> {
    Challenge::parse_all([value].into_iter())
}

fn params(challenge: &Challenge) -> Vec<(&str, &str)> {
    challenge.params().collect()
}

// requirement: 78cc07722237
#[test]
fn a_challenge_of_the_specification_is_parsed() {
    let all = parse(
        "Bearer error=\"insufficient_scope\",\t scope=\"files:read files:write files:read\",   \
         resource_metadata=\"https://mcp.example.com/.well-known/oauth-protected-resource\", \
         error_description=\"Additional file write permission required\"",
    );
    assert_eq!(all.len(), 1);
    let challenge = &all[0];
    assert!(challenge.is_scheme("bearer"));
    assert_eq!(challenge.error(), Some("insufficient_scope"));
    assert_eq!(
        challenge.scope(),
        Some(vec!["files:read".to_owned(), "files:write".to_owned()])
    );
    assert_eq!(
        challenge.resource_metadata(),
        Some("https://mcp.example.com/.well-known/oauth-protected-resource")
    );
    assert_eq!(
        challenge.error_description(),
        Some("Additional file write permission required")
    );
}

// requirement: 78cc07722237
#[test]
fn several_challenges_in_one_header_are_told_apart() {
    let all = parse(
        "Basic realm=\"a, b\", Negotiate, NTLM TlRMTVNTUAAB==, DPoP algs=\"ES256 RS256\", Bearer scope=x, error=invalid_token",
    );
    let schemes: Vec<_> = all.iter().map(Challenge::scheme).collect();
    assert_eq!(schemes, ["Basic", "Negotiate", "NTLM", "DPoP", "Bearer"]);
    assert_eq!(params(&all[0]), [("realm", "a, b")]);
    assert_eq!(all[2].token68(), Some("TlRMTVNTUAAB=="));
    assert_eq!(
        params(&all[4]),
        [("scope", "x"), ("error", "invalid_token")]
    );
}

#[test]
fn challenges_of_several_headers_are_joined() {
    let all = Challenge::parse_all(["Bearer", "DPoP error=\"use_dpop_nonce\""].into_iter());
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].error(), Some("use_dpop_nonce"));
    // A parameter at the start of a header belongs to no challenge of the header before.
    let all = Challenge::parse_all(["Bearer", "error=\"x\""].into_iter());
    assert_eq!(all, [Challenge::new("Bearer")]);
}

#[test]
fn escapes_and_spaces_are_read() {
    let all = parse(r#"Bearer Error_Description = "say \"hi\", \\ok\n" , realm="" "#);
    assert_eq!(all[0].error_description(), Some(r#"say "hi", \okn"#));
    assert_eq!(all[0].param("realm"), Some(""));
}

#[test]
fn leniency_towards_real_servers() {
    // No comma between the parameters, and an unquoted URL.
    let all = parse("Bearer realm=\"x\" resource_metadata=https://h/.well-known/x?a=b error=y");
    assert_eq!(
        all[0].resource_metadata(),
        Some("https://h/.well-known/x?a=b")
    );
    assert_eq!(all[0].error(), Some("y"));
}

#[test]
fn the_first_of_two_equal_names_counts() {
    let all = parse("Bearer resource_metadata=\"https://a\", Resource_Metadata=\"https://b\"");
    assert_eq!(all[0].resource_metadata(), Some("https://a"));
}

#[test]
fn garbage_is_left_out() {
    assert!(parse("").is_empty());
    assert!(parse(" , ,, ").is_empty());
    assert!(parse("realm=\"x\"").is_empty());
    assert!(parse("\"\"\"\"").is_empty());
    assert_eq!(
        parse("Bearer realm=\"never closed, error=x")[0],
        Challenge::new("Bearer")
    );
    assert_eq!(
        parse("Bearer realm=\"ends in \\")[0],
        Challenge::new("Bearer")
    );
    let all = parse("(what, \"ever, it\" is), Bearer error=a\"b, scope=c");
    assert_eq!(all.last().map(params), Some(vec![("scope", "c")]));
    assert!(
        parse("Bearer ===, x=, NTLM ===")
            .iter()
            .all(|it| it.token68().is_none())
    );
    assert!(parse("Bearer scope=\"  \"")[0].scope().is_none());
    assert_eq!(
        parse("Bearer scope=\"ä ö\"")[0]
            .scope()
            .map(|all| all.len()),
        Some(2)
    );
}

#[test]
fn every_truncation_and_byte_is_survived() {
    let whole = r#"Basic abc==, Bearer a="b\"c", d=e, "x", DPoP, =, ä="ö" "#;
    for end in (0..=whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let _ = parse(&whole[..end]);
        let _ = parse(&whole[end..]);
    }
    for byte in 0..=255u8 {
        let part = char::from(byte);
        let _ = parse(&format!("{part}Bearer{part}a{part}={part}b{part},"));
    }
}

#[test]
fn sizes_are_bounded() {
    assert_eq!(parse(&"A b=c, ".repeat(1_000)).len(), 16);
    let many: String = (0..1_000).map(|n| format!("p{n}=v,")).collect();
    assert_eq!(params(&parse(&format!("Bearer {many}"))[0]).len(), 32);
    let long = format!("Bearer a=\"{}\", b=c", "x".repeat(5_000));
    assert_eq!(params(&parse(&long)[0]), [("b", "c")]);
    let too_long = format!("Bearer a=b, c=\"{}", "ä".repeat(100_000));
    assert_eq!(params(&parse(&too_long)[0]), [("a", "b")]);
    let long_name = format!("Bearer {}=b, c=d", "x".repeat(100));
    assert_eq!(params(&parse(&long_name)[0]), [("c", "d")]);
}

#[test]
fn a_written_challenge_is_read_back() {
    let challenge = Challenge::new("Bearer")
        .with("resource_metadata", "https://h/x?a=b,c")
        .with("error_description", r#"a "quoted" \ text"#);
    assert_eq!(parse(&challenge.to_string()), [challenge]);
}

#[test]
fn nothing_can_be_injected_by_a_value() {
    let challenge = Challenge::new("Bea\r\nrer")
        .with("x\r\ny", "z")
        .with("scope", "a\r\nSet-Cookie: b\u{7f}\u{1F600}\"");
    let value = challenge.to_header_value();
    assert_eq!(
        value.to_str().ok(),
        Some("Bearer xy=\"z\", scope=\"aSet-Cookie: b?\\\"\"")
    );
}
