//! The methods of the extension, and the resources.

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::{Resource, Server};
use turnbuckle_skills::server::{ServingLimits, SkillBuilder, Skills};
use turnbuckle_skills::{Digest, Skill};

use crate::support::{
    Tree, ask, client, entries, files, pages, read, refuse, server, skill_file, uris,
};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("pdf/SKILL.md", "---\r\nname: pdf\r\ndescription: PDF\r\nlicense: MIT\r\nmetadata:\r\n  version: 2\r\n---\r\ntext");
    tree.write("pdf/references/FORMS.md", "# Forms");
    tree.write("pdf/scripts/run.py", "print()");
    tree.write("pdf/assets/logo.png", b"\x89PNG\r\n\x1a\n\0\xff");
    tree.skill("acme/billing/refunds");
    tree.write("acme/README.md", "not part of a skill");
    std::fs::create_dir(tree.path().join("pdf/empty")).unwrap();
    tree
}

// requirement: 5eebb984ea73 6c361ebedab6 75984a8d27ec 8c7034f61e77 a0c650a03f14 bbeb3326908f
#[tokio::test(start_paused = true)]
async fn an_entry_has_the_frontmatter_and_every_file_with_its_digest() {
    let tree = tree();
    let mut client = client(tree.skills()).await;
    let listed = entries(&mut client).await;
    assert_eq!(
        listed
            .iter()
            .map(|entry| entry["uri"].as_str().unwrap())
            .collect::<Vec<_>>(),
        [
            "skill://acme/billing/refunds/SKILL.md",
            "skill://pdf/SKILL.md"
        ]
    );
    let pdf = &listed[1];
    let frontmatter =
        json!({"name": "pdf", "description": "PDF", "license": "MIT", "metadata": {"version": 2}});
    assert_eq!(pdf["frontmatter"], frontmatter);
    assert_eq!(
        files(pdf),
        [
            "skill://pdf/SKILL.md",
            "skill://pdf/assets/logo.png",
            "skill://pdf/references/FORMS.md",
            "skill://pdf/scripts/run.py"
        ]
    );
    for file in pdf["resources"].as_array().unwrap() {
        let path = file["uri"]
            .as_str()
            .unwrap()
            .strip_prefix("skill://")
            .unwrap();
        let bytes = std::fs::read(tree.path().join(path)).unwrap();
        assert_eq!(file["digest"], Digest::compute(&bytes).to_string());
        assert_eq!(file["size"], bytes.len());
    }
    assert!(serde_json::from_value::<Value>(pdf.clone()).is_ok());
    assert!(serde_json::from_str::<Skill>(&pdf.to_string()).is_ok());
}

// requirement: 049f9dcc5fd7 0e7ce3880638 133af628b6df 39d5e71c6459 4af4c0127cd6 6dcb4c4b10c1
// requirement: bba84e4d5918
#[tokio::test(start_paused = true)]
async fn results_are_complete_and_say_how_they_may_be_cached() {
    let tree = tree();
    let skills = tree.skills().cache(
        std::time::Duration::from_secs(300),
        turnbuckle_types::CacheScope::Public,
    );
    let mut client = client(skills).await;
    let list = ask(&mut client, "skills/list", json!({})).await;
    let get = ask(
        &mut client,
        "skills/get",
        json!({"uri": "skill://pdf/SKILL.md"}),
    )
    .await;
    for result in [&list, &get] {
        assert_eq!(result["resultType"], "complete");
        assert_eq!(result["ttlMs"], 300_000);
        assert_eq!(result["cacheScope"], "public");
    }
    assert!(get.get("nextCursor").is_none());
    assert_eq!(get["skill"], list["skills"][1]);
    let directory = ask(
        &mut client,
        "resources/directory/read",
        json!({"uri": "skill://pdf"}),
    )
    .await;
    assert_eq!(directory["resultType"], "complete");
}

// requirement: 4af4c0127cd6
#[tokio::test(start_paused = true)]
async fn a_server_says_nothing_about_caching_but_that_nobody_may() {
    let mut client = client(tree().skills()).await;
    let list = ask(&mut client, "skills/list", json!({})).await;
    assert_eq!(
        (list["ttlMs"].clone(), list["cacheScope"].clone()),
        (json!(0), json!("private"))
    );
}

// requirement: 29ad9de2d23f 64e9ad6bc68c 650abfc8625a f1b9dc9ea66e
#[tokio::test(start_paused = true)]
async fn an_unknown_skill_is_refused_with_its_uri() {
    let mut client = client(tree().skills()).await;
    for uri in [
        "skill://pdf/references/FORMS.md",
        "skill://pdf",
        "skill://none/SKILL.md",
        "skill://PDF/SKILL.md",
        "skill://pdf/./SKILL.md",
        "pdf",
        "",
    ] {
        let (code, message) = refuse(&mut client, "skills/get", json!({"uri": uri})).await;
        assert_eq!(
            (code, message),
            (-32602, format!("No skill is served at {uri}"))
        );
    }
    for params in [json!({}), json!({"uri": 1}), json!({"uri": null})] {
        assert_eq!(refuse(&mut client, "skills/get", params).await.0, -32602);
    }
    let long = format!("skill://{}/SKILL.md", "x".repeat(100_000));
    let (code, message) = refuse(&mut client, "skills/get", json!({"uri": long})).await;
    assert!(code == -32602 && message.len() < 400, "{message}");
}

// requirement: 0e7ce3880638 99d2f198b8a9
#[tokio::test(start_paused = true)]
async fn a_skill_that_is_not_listed_is_served_all_the_same() {
    let hidden = SkillBuilder::new("hidden", "d")
        .hide_from_list()
        .build()
        .unwrap();
    let shown = SkillBuilder::new("shown", "d").build().unwrap();
    let mut client = client(Skills::new().skill(hidden).skill(shown)).await;
    assert_eq!(uris(&mut client).await, ["skill://shown/SKILL.md"]);
    let uri = json!({"uri": "skill://hidden/SKILL.md"});
    let got = ask(&mut client, "skills/get", uri.clone()).await;
    assert_eq!(got["skill"]["frontmatter"]["name"], "hidden");
    assert!(ask(&mut client, "resources/read", uri).await["contents"][0]["text"].is_string());
}

// requirement: 3068185d9eb6
#[tokio::test(start_paused = true)]
async fn files_are_read_as_they_are() {
    let tree = tree();
    let mut client = client(tree.skills()).await;
    let skill = read(&mut client, "skill://pdf/SKILL.md").await;
    assert_eq!(skill["mimeType"], "text/markdown");
    assert_eq!(
        skill["text"],
        String::from_utf8(std::fs::read(tree.path().join("pdf/SKILL.md")).unwrap()).unwrap()
    );
    let logo = read(&mut client, "skill://pdf/assets/logo.png").await;
    assert_eq!(
        (logo["mimeType"].clone(), logo["blob"].clone()),
        (json!("image/png"), json!("iVBORw0KGgoA/w=="))
    );
    assert_eq!(
        read(&mut client, "skill://pdf/scripts/run.py").await["text"],
        "print()"
    );
    for uri in [
        "skill://pdf/none.md",
        "skill://pdf",
        "skill://pdf/../pdf/SKILL.md",
        "skill://acme/README.md",
    ] {
        assert_eq!(
            refuse(&mut client, "resources/read", json!({"uri": uri}))
                .await
                .0,
            -32602,
            "{uri}"
        );
    }
}

// requirement: 643bef5ae8ca 8613942d64ef ef203915ee90
#[tokio::test(start_paused = true)]
async fn the_resource_of_a_skill_has_its_name_and_description() {
    let mut client = client(tree().skills()).await;
    let (listed, _) = pages(&mut client, "resources/list", json!({}), "resources").await;
    let find = |uri: &str| {
        listed
            .iter()
            .find(|resource| resource["uri"] == uri)
            .unwrap()
            .clone()
    };
    let skill = find("skill://acme/billing/refunds/SKILL.md");
    assert_eq!(
        (&skill["name"], &skill["description"], &skill["mimeType"]),
        (
            &json!("refunds"),
            &json!("Does refunds"),
            &json!("text/markdown")
        )
    );
    assert_eq!(skill["size"], skill_file("refunds").len());
    let forms = find("skill://pdf/references/FORMS.md");
    assert_eq!(
        (&forms["name"], forms.get("description")),
        (&json!("FORMS.md"), None)
    );
    assert_eq!(listed.len(), 5);
}

// requirement: 1e398f645b79 92b5eb478919
#[tokio::test(start_paused = true)]
async fn every_directory_is_listed() {
    let mut client = client(tree().skills()).await;
    let mut children = async |uri: &str| -> Vec<(String, String)> {
        let (listed, _) = pages(
            &mut client,
            "resources/directory/read",
            json!({"uri": uri}),
            "resources",
        )
        .await;
        let pair = |child: &Value| {
            (
                child["uri"].as_str().unwrap().to_owned(),
                child["mimeType"].as_str().unwrap().to_owned(),
            )
        };
        listed.iter().map(pair).collect()
    };
    let owned = |pairs: &[(&str, &str)]| -> Vec<_> {
        pairs
            .iter()
            .map(|(uri, kind)| ((*uri).to_owned(), (*kind).to_owned()))
            .collect()
    };
    let directory = "inode/directory";
    assert_eq!(
        children("skill://pdf").await,
        owned(&[
            ("skill://pdf/SKILL.md", "text/markdown"),
            ("skill://pdf/assets", directory),
            ("skill://pdf/empty", directory),
            ("skill://pdf/references", directory),
            ("skill://pdf/scripts", directory),
        ])
    );
    assert_eq!(
        children("skill://pdf/references").await,
        owned(&[("skill://pdf/references/FORMS.md", "text/markdown")])
    );
    assert_eq!(children("skill://pdf/empty").await, owned(&[]));
    assert_eq!(
        children("skill://acme").await,
        owned(&[("skill://acme/billing", directory)])
    );
    assert_eq!(
        children("skill://acme/billing").await,
        owned(&[("skill://acme/billing/refunds", directory)])
    );
    let whole = ask(
        &mut client,
        "resources/directory/read",
        json!({"uri": "skill://pdf"}),
    )
    .await;
    assert_eq!(whole["resources"][0]["name"], "pdf");
    assert_eq!(
        whole["resources"][1],
        json!({"uri": "skill://pdf/assets", "name": "assets", "mimeType": directory})
    );
}

// requirement: 29ad9de2d23f 4b17e2ce00f2 a4ed7d701062
#[tokio::test(start_paused = true)]
async fn something_else_than_a_directory_is_refused() {
    let mut client = client(tree().skills()).await;
    let method = "resources/directory/read";
    let (code, message) = refuse(&mut client, method, json!({"uri": "skill://pdf/SKILL.md"})).await;
    assert_eq!(
        (code, message.as_str()),
        (-32602, "skill://pdf/SKILL.md is not a directory resource")
    );
    for uri in [
        "skill://none",
        "skill://pdf/",
        "skill://",
        "skill:/",
        "",
        "skill://pdf/references/..",
        "skill://pdf/none",
    ] {
        let (code, message) = refuse(&mut client, method, json!({"uri": uri})).await;
        assert_eq!(
            (code, message),
            (-32602, format!("No directory is served at {uri}"))
        );
    }
    for cursor in ["", "x", "skill://acme/billing", "skill://pdfx"] {
        let params = json!({"uri": "skill://pdf", "cursor": cursor});
        assert_eq!(
            refuse(&mut client, method, params).await.0,
            -32602,
            "{cursor}"
        );
    }
}

// requirement: 5eebb984ea73
#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_that_split_no_entry() {
    let tree = Tree::new();
    for number in 0..25 {
        tree.skill(&format!("s-{number:02}"));
        tree.write(&format!("s-{number:02}/{number}.md"), "x");
        tree.write(&format!("all/{number:02}.md"), "x");
    }
    tree.skill("all");
    let limits = ServingLimits::new().page_size(10.try_into().unwrap());
    let mut client = client(tree.skills().limits(limits)).await;
    let (skills, count) = pages(&mut client, "skills/list", json!({}), "skills").await;
    assert_eq!((skills.len(), count), (26, 3));
    assert_eq!(files(&skills[1]).len(), 2);
    let uri = json!({"uri": "skill://all"});
    let (children, count) = pages(&mut client, "resources/directory/read", uri, "resources").await;
    assert_eq!((children.len(), count), (26, 3));
    for cursor in ["", "x", "skill://s-01", "skill://s-01/1.md"] {
        assert_eq!(
            refuse(&mut client, "skills/list", json!({"cursor": cursor}))
                .await
                .0,
            -32602,
            "{cursor}"
        );
    }
    // A cursor whose skill is gone meanwhile leads to those behind it.
    let behind = ask(
        &mut client,
        "skills/list",
        json!({"cursor": "skill://s-23x/SKILL.md"}),
    )
    .await;
    assert_eq!(behind["skills"][0]["uri"], "skill://s-24/SKILL.md");
}

#[tokio::test(start_paused = true)]
async fn a_page_ends_when_it_has_enough_bytes() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.skill(name);
        tree.write(&format!("{name}/x.md"), "x");
    }
    let limits = ServingLimits::new().max_page_bytes(1);
    let (skills, count) = pages(
        &mut client(tree.skills().limits(limits)).await,
        "skills/list",
        json!({}),
        "skills",
    )
    .await;
    assert_eq!((skills.len(), count), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_skills_come_in_pages() {
    let mut skills = Skills::new();
    for number in 0..10_000 {
        skills = skills.skill(
            SkillBuilder::new(format!("s-{number:05}"), "d")
                .build()
                .unwrap(),
        );
    }
    let mut client = client(skills).await;
    let (skills, count) = pages(&mut client, "skills/list", json!({}), "skills").await;
    assert_eq!((skills.len(), count), (10_000, 100));
    assert_eq!(skills[9_999]["uri"], "skill://s-09999/SKILL.md");
}

// requirement: 1e398f645b79 3f603e37c1a6
#[tokio::test(start_paused = true)]
async fn every_client_of_the_newest_revision_is_served() {
    for case in Case::modern() {
        let mut client = Client::connect(case, &server(tree().skills())).await;
        let declared = ask(&mut client, "server/discover", json!({})).await["capabilities"].clone();
        assert_eq!(
            declared["extensions"]["io.modelcontextprotocol/skills"],
            json!({"directoryRead": true}),
            "{case}"
        );
        assert!(declared["resources"].is_object(), "{case}: {declared}");
        assert_eq!(uris(&mut client).await.len(), 2, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn older_clients_see_ordinary_resources() {
    for case in Case::legacy() {
        let mut client = Client::connect(case, &server(tree().skills())).await;
        let capabilities = client.handshake().unwrap()["capabilities"].clone();
        assert!(
            capabilities["resources"].is_object() && capabilities.get("extensions").is_none(),
            "{case}"
        );
        let (listed, _) = pages(&mut client, "resources/list", json!({}), "resources").await;
        assert_eq!(listed.len(), 5, "{case}");
        let text = read(&mut client, "skill://acme/billing/refunds/SKILL.md").await;
        assert_eq!(text["text"], skill_file("refunds"), "{case}");
        assert_eq!(
            refuse(&mut client, "skills/list", json!({})).await.0,
            -32601,
            "{case}"
        );
    }
}

// requirement: 3f603e37c1a6
#[tokio::test(start_paused = true)]
async fn a_server_without_skills_declares_resources_and_lists_none() {
    let mut client = client(Skills::new()).await;
    let declared = ask(&mut client, "server/discover", json!({})).await["capabilities"].clone();
    assert!(declared["resources"].is_object());
    assert_eq!(
        ask(&mut client, "skills/list", json!({})).await["skills"],
        json!([])
    );
}

#[tokio::test(start_paused = true)]
async fn directories_can_be_left_out() {
    let mut client = client(tree().skills().directories(false)).await;
    let declared = ask(&mut client, "server/discover", json!({})).await["capabilities"].clone();
    assert_eq!(
        declared["extensions"]["io.modelcontextprotocol/skills"],
        json!({"directoryRead": false})
    );
    assert_eq!(
        refuse(
            &mut client,
            "resources/directory/read",
            json!({"uri": "skill://pdf"})
        )
        .await
        .0,
        -32601
    );
}

#[tokio::test(start_paused = true)]
async fn other_resources_stand_beside_skills() {
    let note = Resource::builder("note:1", "note").handler(|| "text");
    let server = Server::new("both", "1")
        .resource(note)
        .extension(tree().skills())
        .build()
        .unwrap();
    let mut client = Client::connect(
        Case::pipe(turnbuckle_wire::revision::Revision::NEWEST),
        &server,
    )
    .await;
    let (listed, _) = pages(&mut client, "resources/list", json!({}), "resources").await;
    assert_eq!((listed.len(), &listed[0]["uri"]), (6, &json!("note:1")));
}
