use proptest::prelude::*;

use super::*;
use crate::GatewayFile;

fn policy(rules: &str) -> Policy {
    let file = GatewayFile::parse_toml(&format!("[upstream.a]\n{rules}")).unwrap();
    Policy::new(&file.upstream["a"]).unwrap()
}

fn is_offered(policy: &Policy, subject: Subject<'_>) -> bool {
    policy.scopes(subject).is_some()
}

#[test]
fn what_is_denied_is_not_offered_although_it_is_allowed() {
    let policy = policy("allow = ['issues_*', 'search']\ndeny = ['issues_delete']");
    for (name, expected) in [
        ("issues_list", true),
        ("search", true),
        ("issues_delete", false),
        ("searches", false),
        ("repos_list", false),
    ] {
        assert_eq!(is_offered(&policy, Subject::Name(name)), expected, "{name}");
    }
}

#[test]
fn an_empty_list_allows_nothing_and_no_list_all() {
    let is_offered = |rules| is_offered(&policy(rules), Subject::Name("a"));
    assert!(!is_offered("allow = []"));
    assert!(is_offered(""));
    assert!(!is_offered("deny = ['*']"));
}

#[test]
fn a_uri_counts_with_and_without_its_escapes() {
    let policy = policy("allow = ['file:///srv/*']\ndeny = ['file:///srv/secret*']");
    for (uri, expected) in [
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
        assert_eq!(is_offered(&policy, Subject::Uri(uri)), expected, "{uri}");
    }
}

#[test]
fn a_template_is_offered_if_it_can_have_an_allowed_uri() {
    let policy = policy("allow = ['file:///srv/*', 'note']\ndeny = ['db://*']");
    for (template, expected) in [
        ("file:///{+path}", true),
        ("file:///srv/docs/{name}", true),
        ("file:///etc/{name}", false),
        ("db://{table}", false),
        ("git://{repo}", false),
    ] {
        assert_eq!(
            is_offered(&policy, Subject::Template(template)),
            expected,
            "{template}"
        );
    }
}

/// The spellings of `file:///srv/priv/b`, of `https://internal.example/x` and of `db://secrets/1`.
const SPELLINGS: [(&str, &[&str]); 3] = [
    (
        "file:///srv/priv/*",
        &[
            "file:///srv/priv/b",
            "FILE:///srv/priv/b",
            "file:/srv/priv/b",
            "file:srv/priv/b",
            "file://localhost/srv/priv/b",
            "file://LOCALHOST/srv/priv/b",
            "file://127.0.0.1/srv/priv/b",
            "file:////srv/priv/b",
            "file:///srv//priv/b",
            "file:///srv/priv//b",
            "file:///./srv/./priv/b",
            "file:///srv/%70riv/b",
            "file:///srv/%2570riv/b",
            "file:///srv/%25%37%30riv/b",
            "file:///srv/priv%2Fb",
            "file:///srv%2F/priv/b",
            "file:///srv/%2Fpriv/b",
            "file:///srv/priv%5Cb",
            "file:///srv%5Cpriv%5Cb",
            "file:\\\\\\srv\\priv\\b",
            "file:///srv/priv/b?x",
            "file:///srv/priv/b#x",
            " file:///srv/priv/b",
        ],
    ),
    (
        "https://internal.example/*",
        &[
            "https://internal.example/x",
            "https://INTERNAL.example/x",
            "HTTPS://internal.example/x",
            "https://internal.example:443/x",
            "https://internal.example:0443/x",
            "https://internal.example:/x",
            "https://u@internal.example/x",
            "https://u:p@internal.example/x",
            "https://internal.example./x",
            "https://internal%2Eexample/x",
            "https://internal.example",
            "https://internal.example?x",
            "https://internal.example#x",
            "https://internal.example//x",
            "https:///internal.example/x",
            "https:/internal.example/x",
            "https:internal.example/x",
            "https:\\\\internal.example\\x",
            "https://internal.example%2Fx@other.example/",
            "https://other.example%2F@internal.example/x",
            "https://internal.example\\@other.example/x",
        ],
    ),
    (
        "db://secrets/*",
        &[
            "db://secrets/1",
            "db://Secrets/1",
            "DB://secrets/1",
            "db://secrets//1",
            "db:///secrets/1",
            "db:/secrets/1",
            "db:secrets/1",
            "db://u@secrets/1",
        ],
    ),
];

#[test]
fn a_rule_that_forbids_or_demands_scopes_holds_for_every_spelling_of_a_uri() {
    for (pattern, uris) in SPELLINGS {
        let upper = pattern
            .replace("internal", "InterNal")
            .replace("db:", "DB:");
        for pattern in [pattern, &upper] {
            let deny = policy(&format!("deny = ['{pattern}']"));
            let scopes = policy(&format!("scopes = {{ '{pattern}' = ['adm'] }}"));
            for uri in uris {
                assert_eq!(deny.scopes(Subject::Uri(uri)), None, "{pattern} {uri}");
                let needed = scopes.scopes(Subject::Uri(uri));
                assert_eq!(needed, Some(vec!["adm"]), "{pattern} {uri}");
            }
        }
    }
    let deny = policy("deny = ['file:///srv/priv/b']");
    for uri in [
        "file:///srv/priv/b?x",
        "file:///srv/priv/b/",
        "file:///srv/priv/b/#x",
    ] {
        assert!(!is_offered(&deny, Subject::Uri(uri)), "{uri}");
    }
}

#[test]
fn a_uri_that_leads_anywhere_is_not_offered_where_there_are_rules() {
    for rules in [
        "deny = ['db://secrets/*']",
        "scopes = { 'db://secrets/*' = ['adm'] }",
        "allow = ['*']",
    ] {
        let policy = policy(rules);
        for uri in [
            "file:///pub/../priv/b",
            "file:///pub/%2e%2e/priv/b",
            "file:///pub/..",
            "file:///pub/..%3Fx",
            "file:///pub\\..\\priv/b",
            "file:///pub/b%00",
            "file:///pub/b\n",
            "file:///pub/%0Ab",
            "file:///pub/%C0%AE",
            "file:///pub/%ff",
        ] {
            assert!(!is_offered(&policy, Subject::Uri(uri)), "{rules} {uri}");
        }
        for uri in ["file:///pub/a..b", "file:///pub/...", "mem:thing", "note"] {
            assert!(is_offered(&policy, Subject::Uri(uri)), "{rules} {uri}");
        }
    }
}

#[test]
fn a_rule_that_permits_holds_only_for_a_uri_that_it_matches_in_all_forms() {
    let policy = policy(
        "allow = ['https://Open.example/*', 'file:///srv/a b*', 'db://main', 'https://*.web.example/*']",
    );
    for (uri, expected) in [
        ("https://open.example/x", true),
        ("https://OPEN.example:443/x?y=//", true),
        ("https://open.example", true),
        ("https://open.example/a%2Fb", true),
        ("https://a.web.example/x", true),
        ("file:///srv/a%20b.txt", true),
        ("file://localhost//srv/a b.txt", true),
        ("db://main", true),
        ("db://main/", true),
        ("db://main?x", false),
        ("https://u@open.example/x", false),
        ("https://open.example:8443/x", false),
        ("https://open.example%2F@internal.example/x", false),
        ("https://open.example%23@internal.example/x", false),
        ("https://open.example%2F.internal.example/x", false),
        ("https://open.example%252F.internal.example/x", false),
        ("https://open.example\\@internal.example/x", false),
        ("https://internal.example%2F@open.example/x", false),
        ("https://internal.example/.web.example/x", true),
    ] {
        assert_eq!(is_offered(&policy, Subject::Uri(uri)), expected, "{uri}");
    }
}

#[test]
fn a_template_needs_the_scopes_that_all_of_its_uris_need() {
    let policy = policy("scopes = { 'db://secrets/*' = ['adm'], 'db://*' = ['db'] }");
    for (template, needed) in [
        ("db://{table}/{id}", vec!["db"]),
        ("db://Secrets/{id}", vec!["adm", "db"]),
        ("db://{+path}", vec!["db"]),
        ("mem:{id}", vec![]),
    ] {
        let scopes = policy.scopes(Subject::Template(template)).unwrap();
        let scopes: std::collections::BTreeSet<&str> = scopes.into_iter().collect();
        assert_eq!(scopes.into_iter().collect::<Vec<_>>(), needed, "{template}");
    }
}

#[test]
fn rules_without_an_effect_are_reported() {
    let policy = policy(
        "allow = ['issues_*', 'saerch', 'db://*']\ndeny = ['isues_delete', 'db://secrets/*', 'mem:*']\n\
         rename = { issues_list = 'issues', issues_get = 'issues', old = 'new' }\n\
         scopes = { 'issues_*' = ['a'], 'isues_*' = ['a'] }",
    );
    for name in ["issues_list", "issues_get"] {
        policy.mark_used(Subject::Name(name));
        assert_eq!(policy.new_name(name), Some("issues"));
    }
    policy.mark_used(Subject::Template("db://{table}/{id}"));
    let is_offered = |name: &str| name == "issues_list";
    assert_eq!(
        policy.faults(is_offered),
        [
            RuleFault::Unused("allow", "saerch"),
            RuleFault::Unused("deny", "isues_delete"),
            RuleFault::Unused("deny", "mem:*"),
            RuleFault::Unused("scopes", "isues_*"),
            RuleFault::RefusedName("issues_get", "issues"),
            RuleFault::UnusedName("old"),
        ]
    );
}

#[test]
fn scopes_of_all_matching_patterns_are_needed() {
    let policy = policy("scopes = { 'issues_*' = ['issues'], '*_delete' = ['admin'] }");
    let scopes = |name| policy.scopes(Subject::Name(name)).unwrap();
    assert_eq!(scopes("issues_delete"), ["admin", "issues"]);
    assert!(scopes("search").is_empty());
}

#[test]
fn a_rule_about_an_operation_that_is_the_name_of_no_tool_is_refused() {
    for rules in [
        "deny = ['GET /admin/*']",
        "allow = ['/pets']",
        "scopes = { 'GET *' = ['a'] }",
    ] {
        let file = format!("[upstream.a]\nopenapi = 'pets.json'\n{rules}");
        let file = GatewayFile::parse_toml(&file).unwrap();
        let error = Policy::new(&file.upstream["a"]).unwrap_err().to_string();
        assert!(error.contains("is the name of no tool"), "{error}");
    }
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
        prop_assert!(!is_offered(&policy, Subject::Uri(&escaped)));
    }
}
