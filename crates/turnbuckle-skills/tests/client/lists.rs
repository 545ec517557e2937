//! Lists of skills: pages, bounds, invalid entries and names.

use serde_json::{Value, json};
use turnbuckle_client::Client;
use turnbuckle_session::transport::ClientLimits;
use turnbuckle_skills::client::{SkillError, SkillOrigin, SkillsClient as _, name_collisions};

use crate::scripted::{SKILL, SkillServer, entry};

/// Returns a dynamic entry: the shortest one.
pub(crate) fn dynamic(uri: &str) -> Value {
    let name = uri.rsplit('/').nth(1).unwrap();
    json!({"uri": uri, "frontmatter": {"name": name, "description": "d"}, "resources": "dynamic"})
}

#[tokio::test(start_paused = true)]
async fn all_pages_are_read_in_their_order() {
    let server = SkillServer::new();
    let uris: Vec<_> = (0..10_000)
        .map(|number| format!("skill://s{number}/SKILL.md"))
        .collect();
    server.change(|state| {
        state.pages = uris
            .chunks(500)
            .map(|uris| uris.iter().map(|uri| dynamic(uri)).collect())
            .collect();
    });
    let client = server.connect().await;
    let listing = client.list_skills().fetch_all().await.unwrap();
    let listed: Vec<_> = listing.iter().map(|skill| skill.uri().as_str()).collect();
    assert_eq!(listed, uris);
    let list = client.list_skills();
    let first = list.page(None).await.unwrap();
    let second = list.page(first.next_cursor.as_deref()).await.unwrap();
    assert_eq!(second.skills[0].uri().as_str(), uris[500]);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_bounded_in_pages_items_bytes_and_cursors() {
    let limits = ClientLimits::new();
    for (limits, setting) in [
        (limits.clone().max_list_pages(3), "max_list_pages"),
        (limits.clone().max_list_items(3), "max_list_items"),
        (limits.clone().max_list_bytes(1000), "max_list_bytes"),
    ] {
        let server = SkillServer::empty();
        server.change(|state| state.pages = vec![vec![entry()]; 5]);
        let client = server
            .connect_by(Client::builder("host", "1").limits(limits))
            .await;
        let error = client.list_skills().fetch_all().await.unwrap_err();
        assert!(matches!(error, SkillError::EndlessList { .. }));
        assert!(error.to_string().contains(setting), "{error}");
        assert!(server.peer.messages_of("skills/list").len() <= 4);
        // At the limit, the list is whole.
        server.change(|state| {
            state.pages.truncate(match setting {
                "max_list_bytes" => 1,
                _ => 3,
            })
        });
        client.list_skills().fetch_all().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_repeats_ends_the_list() {
    let peer =
        turnbuckle_it::peer::Peer::new(turnbuckle_wire::revision::Revision::NEWEST, |heard| {
            let result = match heard.method() {
                "skills/list" => {
                    json!({"resultType": "complete", "skills": [], "nextCursor": "again",
                "ttlMs": 0, "cacheScope": "private"})
                }
                "server/discover" => json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"],
                    "capabilities": {"extensions": {turnbuckle_skills::EXTENSION_ID: {}}},
                    "ttlMs": 0, "cacheScope": "private",
                }),
                _ => return None,
            };
            Some(vec![heard.answer(result)])
        });
    let client = turnbuckle_it::faults::PeerTransport::Web
        .connect(&peer)
        .await;
    let error = client.list_skills().fetch_all().await.unwrap_err();
    assert!(error.to_string().contains("repeats a cursor"), "{error}");
    assert_eq!(peer.messages_of("skills/list").len(), 2);
}

// requirement: 34abfb18fc20
#[tokio::test(start_paused = true)]
async fn an_invalid_entry_is_named_and_hides_no_other() {
    let mut without_resources = entry();
    without_resources
        .as_object_mut()
        .unwrap()
        .remove("resources");
    let with = |member: &str, value: Value| {
        let mut entry = entry();
        entry[member] = value;
        entry
    };
    let invalid = [
        without_resources,
        with("resources", Value::Null),
        with("resources", "static".into()),
        with("resources", json!({})),
        with("resources", json!([])),
        with("uri", "skill://acme/other/SKILL.md".into()),
        with("frontmatter", json!({"name": "pdf-processing"})),
    ];
    let server = SkillServer::empty();
    server.change(|state| {
        let mut page = invalid.to_vec();
        page.push(entry());
        state.pages = vec![page];
    });
    let reader = server.reader().await;
    let listing = reader.list().fetch_all().await.unwrap();
    assert_eq!(listing.len(), 1);
    assert_eq!(listing.rejected.len(), invalid.len());
    assert_eq!(listing.rejected[0].uri.as_deref(), Some(SKILL));
    for entry in invalid {
        let uri = entry["uri"].as_str().unwrap().to_owned();
        server.change(|state| state.pages = vec![vec![entry.clone()]]);
        let error = reader.load_at(&uri).await.unwrap_err();
        assert!(
            matches!(error, SkillError::InvalidEntry { .. }),
            "{entry}: {error}"
        );
    }
    assert!(server.reads().is_empty());
}

// requirement: 09bc06f5a9f9 af58f721aec9 d29434af1b24 d46cebaa2259
#[tokio::test(start_paused = true)]
async fn names_are_labels_and_collisions_are_told() {
    let (billing, support) = (
        "skill://acme/billing/refunds/SKILL.md",
        "skill://acme/support/refunds/SKILL.md",
    );
    let server = SkillServer::empty();
    server.change(|state| {
        state.pages = vec![vec![
            dynamic(billing),
            dynamic(support),
            dynamic("skill://other/SKILL.md"),
        ]];
    });
    let listing = server.reader().await.list().fetch_all().await.unwrap();
    assert_eq!(listing.len(), 3);
    let collisions = listing.name_collisions("docs");
    assert_eq!(collisions.len(), 1);
    assert_eq!(collisions[0].name, "refunds");
    assert_eq!(
        collisions[0].origins,
        [
            SkillOrigin::new("docs", billing),
            SkillOrigin::new("docs", support)
        ]
    );

    let origins = [
        SkillOrigin::new("docs", billing),
        SkillOrigin::new("shop", billing),
        SkillOrigin::new("docs", billing),
    ];
    let across = name_collisions(origins.iter().map(|origin| ("refunds", origin.clone())));
    assert_eq!(across[0].origins, origins[..2]);
    assert!(
        name_collisions([
            ("refunds", origins[0].clone()),
            ("refunds", origins[0].clone())
        ])
        .is_empty()
    );
}
