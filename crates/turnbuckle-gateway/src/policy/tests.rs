use proptest::prelude::*;

use super::*;
use crate::GatewayFile;

fn policy(rules: &str) -> Policy {
    let file = GatewayFile::parse_toml(&format!("[upstream.a]\n{rules}")).unwrap();
    Policy::new(&file.upstream["a"]).unwrap()
}

#[test]
fn what_is_denied_is_not_offered_although_it_is_allowed() {
    let policy = policy("allow = ['issues_*', 'search']\ndeny = ['issues_delete']");
    for (name, is_offered) in [
        ("issues_list", true),
        ("search", true),
        ("issues_delete", false),
        ("searches", false),
        ("repos_list", false),
    ] {
        assert_eq!(policy.permits(name), is_offered, "{name}");
    }
}

#[test]
fn an_empty_list_allows_nothing_and_no_list_all() {
    assert!(!policy("allow = []").permits("a"));
    assert!(policy("").permits("a"));
    assert!(!policy("deny = ['*']").permits("a"));
}

#[test]
fn a_uri_counts_with_and_without_its_escapes() {
    let policy = policy("allow = ['file:///srv/*']\ndeny = ['file:///srv/secret*']");
    for (uri, is_offered) in [
        ("file:///srv/a.txt", true),
        ("file:///srv/a%20b.txt", true),
        ("file:///etc/passwd", false),
        ("file:///srv/secret.txt", false),
        ("file:///srv/%73ecret.txt", false),
        ("file:///srv/%2573ecret.txt", false),
        ("file:///srv/../etc/passwd", false),
        ("file:///srv/%2e%2e/etc/passwd", false),
        ("file:///srv/%252e%252e/etc/passwd", false),
        ("file:///srv/..%2fetc/passwd", false),
        ("file:///srv/..\\etc", false),
        ("file:///srv/%ff", false),
        ("file:///srv/%25252525252541", false),
    ] {
        assert_eq!(policy.permits_uri(uri), is_offered, "{uri}");
    }
}

#[test]
fn a_template_is_offered_if_it_can_have_an_allowed_uri() {
    let policy = policy("allow = ['file:///srv/*', 'note']\ndeny = ['db://*']");
    for (template, is_offered) in [
        ("file:///{+path}", true),
        ("file:///srv/docs/{name}", true),
        ("file:///etc/{name}", false),
        ("db://{table}", false),
        ("git://{repo}", false),
    ] {
        assert_eq!(policy.permits_template(template), is_offered, "{template}");
    }
}

#[test]
fn rules_without_an_item_are_reported() {
    let policy =
        policy("allow = ['issues_*', 'saerch']\nrename = { issues_list = 'issues', old = 'new' }");
    policy.mark_used("issues_list", false);
    assert_eq!(policy.new_name("issues_list"), Some("issues"));
    let unused = policy.unused_rules();
    assert_eq!(
        unused,
        [UnusedRule::Allow("saerch"), UnusedRule::Rename("old")]
    );
}

#[test]
fn scopes_of_all_matching_patterns_are_needed() {
    let policy = policy("scopes = { 'issues_*' = ['issues'], '*_delete' = ['admin'] }");
    let scopes = |name| policy.scopes(name).collect::<Vec<_>>();
    assert_eq!(scopes("issues_delete"), ["admin", "issues"]);
    assert!(scopes("search").is_empty());
}

#[test]
fn the_number_and_length_of_rules_are_bounded() {
    let refusal = |rules: &str| {
        let file = GatewayFile::parse_toml(&format!("[upstream.a]\n{rules}")).unwrap();
        Policy::new(&file.upstream["a"]).unwrap_err().to_string()
    };
    let many = vec!["'a'"; 1_001].join(",");
    assert_eq!(
        refusal(&format!("deny = [{many}]")),
        "1001 rules are more than 1000"
    );
    let long = "a".repeat(257);
    for rules in ["deny = ['']".to_owned(), format!("allow = ['{long}']")] {
        assert!(refusal(&rules).contains("1 to 256 characters"));
    }
}

proptest! {
    /// Escapes of any characters never make a denied URI readable.
    #[test]
    fn escapes_do_not_get_around_a_rule(
        path in "[a-z/.]{0,12}",
        escaped in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let policy = policy("deny = ['file:///secret*']");
        let uri = format!("file:///secret{path}");
        let escaped: String = uri
            .bytes()
            .zip(escaped)
            .map(|(byte, escape)| match escape {
                true => format!("%{byte:02x}"),
                false => char::from(byte).to_string(),
            })
            .collect();
        prop_assert!(!policy.permits_uri(&escaped));
    }
}
