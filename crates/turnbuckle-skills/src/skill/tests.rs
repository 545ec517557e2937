use serde_json::{Value, json};

use super::*;

fn entry(resources: Value) -> Value {
    json!({
        "uri": "skill://acme/refunds/SKILL.md",
        "frontmatter": {"name": "refunds", "description": "Refunds"},
        "resources": resources,
    })
}

fn file(uri: &str, size: u64) -> Value {
    json!({"uri": uri, "digest": Digest::compute(b""), "size": size})
}

fn decode(entry: Value) -> Result<Skill, serde_json::Error> {
    serde_json::from_str(&entry.to_string())
}

// requirement: f1ba40a72ae6
#[test]
fn an_entry_survives_a_round_trip() {
    let listed = entry(json!([
        file("skill://acme/refunds/SKILL.md", 10),
        file("skill://acme/refunds/a/b.md", 5),
    ]));
    let skill = decode(listed.clone()).unwrap();
    assert_eq!(skill.total_bytes(), Some(15));
    assert_eq!(skill.file("skill://acme/refunds/a/b.md").unwrap().size, 5);
    assert_eq!(serde_json::to_value(&skill).unwrap(), listed);
    let dynamic = decode(entry(json!("dynamic"))).unwrap();
    assert_eq!((dynamic.files(), dynamic.total_bytes()), (None, None));
    assert_eq!(
        serde_json::to_value(&dynamic).unwrap(),
        entry(json!("dynamic"))
    );
}

// requirement: 34abfb18fc20 482a04fbbea6 8c7034f61e77 bbeb3326908f f1ba40a72ae6
#[test]
fn an_entry_with_other_resources_is_invalid() {
    let root = file("skill://acme/refunds/SKILL.md", 1);
    for resources in [
        json!(null),
        json!("static"),
        json!({}),
        json!([]),
        json!([file("skill://acme/refunds/a.md", 1)]),
        json!([root, root]),
        json!([
            root,
            file("skill://acme/refunds/a", 1),
            file("skill://acme/refunds/%61", 1)
        ]),
        json!([root, file("skill://acme/other/a.md", 1)]),
        json!([root, file("skill://acme/refunds/../a.md", 1)]),
        json!([root, file("skill://acme/refunds/%2e%2e/a.md", 1)]),
        json!([root, file("skill://acme/refunds/a%2fb.md", 1)]),
        json!([root, file("skill://acme/refunds/a", u64::MAX)]),
        json!([{"uri": "skill://acme/refunds/SKILL.md", "size": 1}]),
        json!([{"uri": "skill://acme/refunds/SKILL.md", "digest": Digest::compute(b"")}]),
        json!([{"uri": "skill://acme/refunds/SKILL.md", "digest": Digest::compute(b""), "size": -1}]),
        json!([{"uri": "skill://acme/refunds/SKILL.md", "digest": "sha256:00", "size": 1}]),
    ] {
        assert!(decode(entry(resources.clone())).is_err(), "{resources}");
    }
    let mut none = entry(json!([]));
    none.as_object_mut().unwrap().remove("resources");
    assert!(decode(none).is_err());
}

// requirement: 1f901c802fdb 91798b12c24c
#[test]
fn the_name_is_the_last_segment_of_the_path() {
    let mut other = entry(json!("dynamic"));
    other["frontmatter"]["name"] = json!("refund");
    assert!(
        decode(other)
            .unwrap_err()
            .to_string()
            .contains("is not the last segment")
    );
}

#[test]
fn a_manifest_of_a_million_files_is_refused_while_it_is_read() {
    let mut text = entry(json!([])).to_string();
    let end = text.rfind("[]").unwrap() + 1;
    let item = file("skill://acme/refunds/SKILL.md", 1).to_string();
    text.insert_str(end, &vec![item; 1_000_000].join(","));
    let error = serde_json::from_str::<Skill>(&text).unwrap_err();
    assert!(
        error.to_string().contains("more than 65536 files"),
        "{error}"
    );
}
