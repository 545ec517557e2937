use std::cell::Cell;

use super::super::{MAX_MATCHED_URI, UriTemplate};
use super::*;
use proptest::prelude::*;

thread_local! {
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn count_step(count: usize) {
    STEPS.set(STEPS.get() + count);
}

fn template(text: &str) -> UriTemplate {
    UriTemplate::parse(text).unwrap()
}

/// Returns the variables as one line: `a=text b=[item,item] c={name:text}`.
fn found(text: &str, uri: &str) -> Option<String> {
    let variables = template(text).matches(uri)?;
    let shown = variables.iter().map(|(name, value)| match value {
        TemplateValue::Text(text) => format!("{name}={text}"),
        TemplateValue::List(items) => format!("{name}=[{}]", items.join(",")),
        TemplateValue::Map(pairs) => {
            let pairs: Vec<_> = pairs.iter().map(|(n, t)| format!("{n}:{t}")).collect();
            format!("{name}={{{}}}", pairs.join(","))
        }
    });
    Some(shown.collect::<Vec<_>>().join(" "))
}

#[test]
fn templates_match_uris_with_these_variables() {
    for (text, uri, expected) in [
        ("file:///a", "file:///a", Some("")),
        ("file:///a", "file:///ab", None),
        ("file:///{x}", "file:///a", Some("x=a")),
        ("file:///{x}", "file:///", None),
        ("file:///{x}", "file:///a/b", None),
        ("file:///{x}", "file:///a%2Fb", Some("x=a/b")),
        ("file:///{x}", "file:///%C3%A9%20", Some("x=é ")),
        ("file:///{x}", "file:///é b", Some("x=é b")),
        (
            "file:///{x}",
            "file:///ada@example.com:1",
            Some("x=ada@example.com:1"),
        ),
        ("file:///{x}", "file:///a?b", None),
        ("file:///{x}", "file:///a#b", None),
        ("file:///{+x}", "file:///a/b?c#d", Some("x=a/b?c#d")),
        ("file:///{+x}", "file:///", None),
        (
            "test://template/{id}/data",
            "test://template/123/data",
            Some("id=123"),
        ),
        (
            "test://template/{id}/data",
            "test://template/1/2/data",
            None,
        ),
        ("{name}.{ext}", "a.tar.gz", Some("ext=gz name=a.tar")),
        ("{a}{b}", "xyz", Some("a=xy b=z")),
        ("{a}-{a}", "x-x", Some("a=x")),
        ("{a}-{a}", "x-y", None),
        ("{+dir}/{file}", "a/b/c", Some("dir=a/b file=c")),
        ("{x,y}", "1,2", Some("x=1 y=2")),
        ("{x,y}", "1", Some("x=1")),
        ("{x,y}", "1,2,3", None),
        ("geo:{x}", "geo:1,2", Some("x=1,2")),
        ("{list*}", "a,b,c", Some("list=[a,b,c]")),
        ("{+x,y}", "a/b,c", Some("x=a/b y=c")),
        ("a{#x}", "a#b/c", Some("x=b/c")),
        ("a{#x}", "a", Some("")),
        ("a{#x}", "a#", Some("x=")),
        ("{+x}{#y}", "a/b#c#d", Some("x=a/b y=c#d")),
        ("X{.f}", "X.tar.gz", Some("f=tar.gz")),
        ("X{.f,g}", "X.tar.gz", Some("f=tar g=gz")),
        ("X{.f,g}", "X.a.b.c", None),
        ("X{.dom*}", "X.a.b.c", Some("dom=[a,b,c]")),
        ("X{/a,b}", "X/1/2", Some("a=1 b=2")),
        ("X{/a,b}", "X/1", Some("a=1")),
        ("X{/a,b}", "X/1/", Some("a=1 b=")),
        ("X{/a,b}", "X/1/2/3", None),
        ("X{/p*}", "X", Some("")),
        ("X{/p*}", "X/1/2%2F/3", Some("p=[1,2/,3]")),
        ("X{/p*,last}", "X/1/2/3", Some("last=3 p=[1,2]")),
        ("X{/p*}/end", "X/1/end", Some("p=[1]")),
        ("X{;a,b}", "X;b=2;a=1", Some("a=1 b=2")),
        ("X{;a}/y", "X;a/y", Some("a=")),
        ("X{;a}", "X;ab=1", None),
        ("X{?a,b}", "X?b=2&a=1", Some("a=1 b=2")),
        ("X{?a,b}", "X?a=1", Some("a=1")),
        ("X{?a,b}", "X", Some("")),
        ("X{?a,b}", "X?", None),
        ("X{?a,b}", "X?c=1", None),
        ("X{?a,b}", "X?a=1&c=1", None),
        ("X{?a,b}", "X?a=1&a=2", None),
        ("X{?a}", "X?a=http://h/?q", Some("a=http://h/?q")),
        ("X{?a}", "X?a=1%262", Some("a=1&2")),
        ("X{?l*}", "X?l=1&l=2", Some("l=[1,2]")),
        ("X{?m*}", "X?a=1&b=2", Some("m={a:1,b:2}")),
        ("X{?a,m*}", "X?b=2&a=1&c=3", Some("a=1 m={b:2,c:3}")),
        ("X?fixed=1{&a}", "X?fixed=1&a=2", Some("a=2")),
        ("X{?a}{&b}{#c}", "X?a=1&b=2#3", Some("a=1 b=2 c=3")),
        ("{+x}{?q}", "a/b?q=1", Some("q=1 x=a/b")),
        ("{+x}{?q}", "a/b?r=1", None),
        ("{/x:1,x}", "/v/value", Some("x=value")),
        ("{/x:1,x}", "/w/value", None),
        ("x:{a-b}{?c-d}", "x:1?c-d=2", Some("a-b=1 c-d=2")),
        ("{x:3}", "abc", Some("x=abc")),
        ("{x:3}", "abcd", None),
        ("{x:3}{y}", "abcd", Some("x=abc y=d")),
        ("a:%7Eb", "a:~b", Some("")),
        ("a:%2fb", "a:/b", None),
        ("a:%2fb", "a:%2Fb", Some("")),
        ("", "", Some("")),
    ] {
        assert_eq!(found(text, uri).as_deref(), expected, "{text} {uri}");
    }
}

#[test]
fn invalid_uris_match_nothing() {
    for uri in [
        "a:%", "a:%4", "a:%zz", "a:%ff", "a:%C3", "a:\n", "a:\u{0}", "a:\u{7f}",
    ] {
        assert_eq!(template("a:{+x}").matches(uri), None, "{uri:?}");
    }
    let longest = format!("a:{}", "x".repeat(MAX_MATCHED_URI - 2));
    assert!(template("a:{x}").matches(&longest).is_some());
    assert!(template("a:{x}").matches(&(longest + "x")).is_none());
}

/// Returns the number of steps of a match.
fn steps(template: &UriTemplate, uri: &str) -> usize {
    STEPS.set(0);
    let _ = template.matches(uri);
    STEPS.get()
}

#[test]
fn the_work_is_bounded_by_template_times_uri() {
    for (text, uri) in [
        ("{a}{b}{c}{d}{e}{f}{g}{h}/x", "a".repeat(1024)),
        ("{+a}/{+b}/{+c}/{+d}/{+e}/{+f}!", "/".repeat(1024)),
        ("{a*}{b*}{c*}{d*}{e*}!", ",".repeat(1024)),
        ("{/a*}{/b*}{/c*}{/d*}!", "/".repeat(1024)),
        ("{.a,b,c}{.d,e,f}{.g*}!", ".".repeat(1024)),
        ("{;a*}{;b*}{;c*}!", ";a".repeat(512)),
        ("{?a,b}{&c}{&d*}{&e*}!", "?a=&&&&".repeat(146)),
        ("aaaaaaaaaaaaaaaa{x}aaaaaaaaaaaaaaaa!", "a".repeat(1024)),
    ] {
        let template = template(text);
        assert_eq!(template.matches(&uri), None, "{text}");
        let named = text.matches(['?', ';', '&']).count();
        let bound = 2 * (text.len() + 1 + named * MAX_ITEMS) * (uri.len() + 1);
        let steps = steps(&template, &uri);
        assert!(steps > uri.len() && steps < bound, "{text}: {steps} steps");
    }
}

#[test]
fn twice_the_uri_is_twice_the_work() {
    for (text, start, unit) in [
        ("{+a}{b}{+c}{/d*}{.e,f}!", "", "a/"),
        ("repo://{owner}/{+path}{?rev}", "repo://", "?"),
        ("repo://{owner}/{+path}{?rev}", "repo://a/", "?rev="),
        ("x:{+path}{?rev,other*}", "x:", "?="),
        ("x:{+path}{;rev}", "x:", ";rev="),
        ("x:{+path}{&any*}", "x:", "&a"),
        ("x:{+path}{&any*}", "x:", "&ab=c=&d"),
    ] {
        let template = template(text);
        let steps = |length: usize| {
            let uri = start.to_owned() + &unit.repeat((length - start.len()) / unit.len());
            steps(&template, &uri)
        };
        let (half, whole) = (steps(MAX_MATCHED_URI / 2), steps(MAX_MATCHED_URI));
        assert!(half > MAX_MATCHED_URI / 2, "{text} {unit}: {half}");
        // Near the end of a URI, fewer items follow than an expression may take.
        let most = 2 * half + MAX_ITEMS * MAX_ITEMS;
        assert!(whole <= most, "{text} {unit}: {half} {whole}");
    }
}

proptest! {
    #[test]
    fn expanded_uris_match_with_the_same_variables(
        a in ".{1,8}", b in ".{1,8}", items in prop::collection::vec(".{0,5}", 1..4),
        query in prop::option::of(".{0,8}"), fragment in prop::option::of("[^%]{0,8}"),
    ) {
        let mut variables = TemplateVariables::new().with("a", a).with("b", b).with("items", items);
        query.into_iter().for_each(|text| variables.insert("query", text));
        fragment.into_iter().for_each(|text| variables.insert("fragment", text));
        for text in [
            "x://{a}/{b}{/items*}{?query}{#fragment}",
            "x://{a,b}{/items*}{?query}{#fragment}",
            "x://{a}:{b,items*}{;query}{#fragment}",
            "x:{?query,a,b,items*}{#fragment}",
            "x:{;items*}?c=1{&b,query,a}{#fragment}",
            "x:{b}{/a:2,a}{?items*,query}{#fragment}",
        ] {
            let uri = template(text).expand(&variables);
            prop_assert_eq!(template(text).matches(&uri), Some(variables.clone()), "{}", uri);
        }
    }

    #[test]
    fn expanded_reserved_values_match_again(path in "[a-zé :/@,;=&!]{1,12}", rev in ".{0,6}") {
        let variables = TemplateVariables::new().with("path", path).with("rev", rev);
        let template = template("x://{+path}{?rev}");
        let uri = template.expand(&variables);
        prop_assert_eq!(template.matches(&uri), Some(variables), "{}", uri);
    }

    #[test]
    fn expanded_maps_match_again(
        pairs in prop::collection::btree_map(".{1,4}", ".{0,4}", 1..4),
    ) {
        prop_assume!(!pairs.contains_key("map"));
        let pairs = pairs.into_iter().collect();
        let variables = TemplateVariables::new().with("map", "").with("x", "1");
        let variables = { let mut v = variables; v.insert("map", TemplateValue::Map(pairs)); v };
        for text in ["a:{x}{?map*}", "a:{x}{;map*}", "a:{x}?b{&map*}"] {
            let uri = template(text).expand(&variables);
            prop_assert_eq!(template(text).matches(&uri), Some(variables.clone()), "{}", uri);
        }
    }

    #[test]
    fn a_match_defines_variables_of_the_template_only(
        text in "(a|/|\\{x\\}|\\{\\+y\\}|\\{/z\\*\\}|\\{\\?q,r\\}|\\{#f\\}|\\{\\.e\\}){0,6}",
        uri in "[a-c/.?=&#%2Fqr]{0,16}",
    ) {
        let template = template(&text);
        if let Some(variables) = template.matches(&uri) {
            let names = template.variables();
            prop_assert!(variables.iter().all(|(name, _)| names.contains(&name)));
            prop_assert_eq!(template.matches(&uri), Some(variables));
        }
    }
}
