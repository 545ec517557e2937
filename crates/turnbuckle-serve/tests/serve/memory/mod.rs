//! The graph: changed, read, kept in its file, also by two servers at once.

mod kept;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle_serve::memory::{Options, server};

struct Remembered {
    scratch: TempDir,
    client: TestClient,
}

impl Remembered {
    async fn new() -> Self {
        let scratch = TempDir::new().unwrap();
        let options = Options::new(scratch.path().join("memory.jsonl"));
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        let remembered = Self { scratch, client };
        let entities = json!([
            {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
            {"name": "Engine", "entityType": "machine", "observations": []},
            {"name": "Ada", "entityType": "again", "observations": []},
        ]);
        remembered
            .call("create_entities", json!({"entities": entities}))
            .await;
        let relation = json!({"from": "Ada", "to": "Engine", "relationType": "programs"});
        remembered
            .call(
                "create_relations",
                json!({"relations": [relation, relation]}),
            )
            .await;
        remembered
    }

    fn file(&self) -> PathBuf {
        self.scratch.path().join("memory.jsonl")
    }

    /// Calls a tool, and returns its structured content, or the text of its error.
    async fn try_call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let result = self.client.call_tool(tool, &arguments).await.unwrap();
        match result.structured_content {
            Some(structured) => Ok(structured.decode().unwrap()),
            None => Err(result.text().into_owned()),
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.try_call(tool, arguments).await.unwrap()
    }
}

#[tokio::test]
async fn what_exists_is_not_created_again() {
    let remembered = Remembered::new().await;
    let graph = remembered.call("read_graph", json!({})).await;
    assert_eq!(
        graph,
        json!({
            "entities": [
                {"name": "Ada", "entityType": "person", "observations": ["writes programs"]},
                {"name": "Engine", "entityType": "machine", "observations": []},
            ],
            "relations": [{"from": "Ada", "to": "Engine", "relationType": "programs"}],
        })
    );
    let again = json!({"entities": [{"name": "Ada", "entityType": "x", "observations": []}]});
    assert_eq!(
        remembered.call("create_entities", again).await,
        json!({"entities": []})
    );
    let lines = fs::read_to_string(remembered.file()).unwrap();
    assert_eq!(
        lines,
        "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[\"writes programs\"]}\n\
         {\"type\":\"entity\",\"name\":\"Engine\",\"entityType\":\"machine\",\"observations\":[]}\n\
         {\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Engine\",\"relationType\":\"programs\"}"
    );
}

#[tokio::test]
async fn observations_are_added_all_or_none() {
    let remembered = Remembered::new().await;
    let add = |contents: &[&str], other: &str| {
        json!({"observations": [
            {"entityName": "Ada", "contents": contents}, {"entityName": other, "contents": ["big"]},
        ]})
    };
    let error = remembered
        .try_call("add_observations", add(&["new"], "Nobody"))
        .await
        .unwrap_err();
    assert_eq!(error, "Entity with name Nobody not found");
    let added = remembered
        .call(
            "add_observations",
            add(&["writes programs", "new", "new"], "Engine"),
        )
        .await;
    assert_eq!(
        added,
        json!({"results": [
            {"entityName": "Ada", "addedObservations": ["new"]},
            {"entityName": "Engine", "addedObservations": ["big"]},
        ]})
    );
}

#[tokio::test]
async fn nodes_are_found_with_the_relations_of_either_end() {
    let remembered = Remembered::new().await;
    let names = |view: &Value| {
        let names = view["entities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entity| entity["name"].to_string());
        (
            names.collect::<String>(),
            view["relations"].as_array().unwrap().len(),
        )
    };
    for (query, found) in [
        ("WRITES", ("\"Ada\"", 1)),
        ("mach", ("\"Engine\"", 1)),
        ("nothing", ("", 0)),
    ] {
        let view = remembered
            .call("search_nodes", json!({"query": query}))
            .await;
        assert_eq!(names(&view), (found.0.to_owned(), found.1), "{query}");
    }
    let view = remembered
        .call("open_nodes", json!({"names": ["Engine", "Nobody"]}))
        .await;
    assert_eq!(names(&view), ("\"Engine\"".to_owned(), 1));
}

#[tokio::test]
async fn deletions_take_the_relations_along() {
    let remembered = Remembered::new().await;
    let deletion = json!({"deletions": [{"entityName": "Ada", "observations": ["writes programs", "no"]}, {"entityName": "No", "observations": []}]});
    let deleted = remembered.call("delete_observations", deletion).await;
    assert_eq!(
        deleted,
        json!({"success": true, "message": "Observations deleted successfully"})
    );
    remembered
        .call("delete_entities", json!({"entityNames": ["Engine"]}))
        .await;
    let graph = remembered.call("read_graph", json!({})).await;
    assert_eq!(
        graph,
        json!({"entities": [{"name": "Ada", "entityType": "person", "observations": []}], "relations": []})
    );
    let relation = json!({"from": "a", "to": "b", "relationType": "c"});
    remembered
        .call("create_relations", json!({"relations": [relation]}))
        .await;
    remembered
        .call("delete_relations", json!({"relations": [relation]}))
        .await;
    assert_eq!(
        remembered.call("read_graph", json!({})).await["relations"],
        json!([])
    );
    let read = remembered
        .client
        .read_resource("memory://knowledge-graph")
        .await
        .unwrap();
    let read = serde_json::to_value(read).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(read["contents"][0]["text"].as_str().unwrap()).unwrap(),
        graph
    );
}

#[tokio::test]
async fn relations_are_found_from_either_end() {
    let remembered = Remembered::new().await;
    let more =
        json!([{"name": "Bo", "entityType": "person", "observations": ["reads", "Reads aloud"]}]);
    let entities = json!({"entities": more});
    remembered.call("create_entities", entities).await;
    let relation =
        |from: &str, kind: &str, to: &str| json!({"from": from, "to": to, "relationType": kind});
    let relations = [
        relation("Bo", "knows", "Ada"),
        relation("Bo", "uses", "Engine"),
        relation("Bo", "knows", "Cy"),
    ];
    let relations = json!({"relations": relations});
    remembered.call("create_relations", relations).await;
    // A tool, its arguments, and what it returns: names of entities, and relations as they are written.
    let (open, search) = ("open_nodes", "search_nodes");
    for (tool, arguments, entities, relations) in [
        (
            open,
            json!({"names": ["Bo"]}),
            "Bo",
            "Bo knows Ada, Bo uses Engine, Bo knows Cy",
        ),
        (
            open,
            json!({"names": ["Ada", "Bo"]}),
            "Ada, Bo",
            "Ada programs Engine, Bo knows Ada, Bo uses Engine, Bo knows Cy",
        ),
        (
            open,
            json!({"names": ["Engine"]}),
            "Engine",
            "Ada programs Engine, Bo uses Engine",
        ),
        (open, json!({"names": ["Cy"]}), "", ""),
        (open, json!({"names": ["Nobody"]}), "", ""),
        (open, json!({"names": []}), "", ""),
        (
            search,
            json!({"query": "bo"}),
            "Bo",
            "Bo knows Ada, Bo uses Engine, Bo knows Cy",
        ),
        (
            search,
            json!({"query": "PERSON"}),
            "Ada, Bo",
            "Ada programs Engine, Bo knows Ada, Bo uses Engine, Bo knows Cy",
        ),
        (
            search,
            json!({"query": "aloud"}),
            "Bo",
            "Bo knows Ada, Bo uses Engine, Bo knows Cy",
        ),
        (search, json!({"query": "knows"}), "", ""),
    ] {
        let view = remembered.call(tool, arguments.clone()).await;
        let list = |key: &str, show: fn(&Value) -> String| {
            let items = view[key].as_array().unwrap().iter();
            items.map(show).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            list("entities", |entity| entity["name"]
                .as_str()
                .unwrap()
                .to_owned()),
            entities,
            "{tool} {arguments}"
        );
        let shown = list("relations", |relation| {
            let part = |key: &str| relation[key].as_str().unwrap();
            format!("{} {} {}", part("from"), part("relationType"), part("to"))
        });
        assert_eq!(shown, relations, "{tool} {arguments}");
        // The kind of a line in the file is no part of it.
        assert!(
            view["entities"]
                .as_array()
                .unwrap()
                .iter()
                .chain(view["relations"].as_array().unwrap())
                .all(|item| item.get("type").is_none())
        );
    }
}

#[tokio::test]
async fn empty_lists_and_unknown_names_change_nothing() {
    let remembered = Remembered::new().await;
    let before = fs::read_to_string(remembered.file()).unwrap();
    let relation = json!({"from": "Ada", "to": "Engine", "relationType": "sells"});
    for (tool, arguments, result) in [
        (
            "create_entities",
            json!({"entities": []}),
            json!({"entities": []}),
        ),
        (
            "create_relations",
            json!({"relations": []}),
            json!({"relations": []}),
        ),
        (
            "add_observations",
            json!({"observations": []}),
            json!({"results": []}),
        ),
        (
            "delete_entities",
            json!({"entityNames": ["Nobody"]}),
            json!(null),
        ),
        (
            "delete_observations",
            json!({"deletions": [{"entityName": "Nobody", "observations": ["x"]}]}),
            json!(null),
        ),
        (
            "delete_relations",
            json!({"relations": [relation]}),
            json!(null),
        ),
    ] {
        let returned = remembered.call(tool, arguments).await;
        assert!(result.is_null() || returned == result, "{tool}: {returned}");
        assert!(
            !result.is_null() || returned["success"] == true,
            "{tool}: {returned}"
        );
        assert_eq!(
            fs::read_to_string(remembered.file()).unwrap(),
            before,
            "{tool}"
        );
    }
    // A server that is started anew reads the same.
    let options = Options::new(remembered.file());
    let again = testing::connect(server(options).unwrap()).await.unwrap();
    let graph = again.call_tool("read_graph", &json!({})).await.unwrap();
    let graph: Value = graph.structured_content.unwrap().decode().unwrap();
    assert_eq!(graph, remembered.call("read_graph", json!({})).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_at_one_file_lose_nothing() {
    let remembered = Remembered::new().await;
    let work = async |prefix: &'static str| {
        let server = server(Options::new(remembered.file())).unwrap();
        let client = testing::connect(server).await.unwrap();
        for number in 0..50 {
            let entity =
                json!({"name": format!("{prefix}{number}"), "entityType": "", "observations": []});
            let result = client
                .call_tool("create_entities", &json!({"entities": [entity]}))
                .await
                .unwrap();
            assert_ne!(result.is_error, Some(true), "{}", result.text());
        }
    };
    tokio::join!(work("a"), work("b"), work("c"));
    let graph = remembered.call("read_graph", json!({})).await;
    assert_eq!(graph["entities"].as_array().unwrap().len(), 152);
}

#[tokio::test]
async fn a_large_graph_is_read_as_a_small_one_is() {
    let remembered = Remembered::new().await;
    let text = "x".repeat(1_000);
    let entity = |number: usize| json!({"name": format!("{number}"), "entityType": "large", "observations": [&text]});
    let entities: Vec<_> = (0..100).map(entity).collect();
    remembered
        .call("create_entities", json!({"entities": entities}))
        .await;
    assert!(fs::metadata(remembered.file()).unwrap().len() > 100_000);
    let all = remembered.call("read_graph", json!({})).await;
    assert_eq!(all["entities"].as_array().unwrap().len(), 102);
    let found = remembered
        .call("search_nodes", json!({"query": "LARGE"}))
        .await;
    assert_eq!(found["entities"], json!(entities));
    let opened = remembered.call("open_nodes", json!({"names": ["7"]})).await;
    assert_eq!(opened["entities"], json!([entities[7]]));
}

#[tokio::test]
async fn a_broken_file_is_neither_served_nor_written() {
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("memory.jsonl");
    for broken in [
        "{\"type\":\"entity\"}",
        "not json",
        "\u{feff}{}",
        // The file of another program.
        "{\"mcpServers\":{}}",
        "{\"type\":\"note\",\"text\":\"mine\"}",
        "[]",
        "7",
    ] {
        fs::write(&file, broken).unwrap();
        let error = server(Options::new(&file)).unwrap_err().to_string();
        assert!(error.contains("line 1 is no entity or relation"), "{error}");
        assert_eq!(fs::read_to_string(&file).unwrap(), broken);
    }
    assert!(
        server(Options::new(scratch.path())).is_err(),
        "a directory is no file"
    );
    assert!(server(Options::new(scratch.path().join("no/file"))).is_err());
}

#[tokio::test]
async fn a_file_that_another_program_writes_is_left_as_it_is() {
    let remembered = Remembered::new().await;
    let foreign = "{\"mcpServers\":{}}";
    fs::write(remembered.file(), foreign).unwrap();
    let entity = json!({"name": "a", "entityType": "b", "observations": []});
    let changed = remembered.try_call("create_entities", json!({"entities": [entity]}));
    assert!(changed.await.unwrap_err().contains("no entity"));
    assert_eq!(fs::read_to_string(remembered.file()).unwrap(), foreign);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_pipe_is_refused_at_once() {
    use std::time::Duration;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let remembered = Remembered::new().await;
    let mode = Mode::RUSR | Mode::WUSR;
    let lock = remembered.scratch.path().join("memory.jsonl.lock");
    fs::remove_file(&lock).unwrap();
    for path in [lock, remembered.scratch.path().join("pipe")] {
        mknodat(CWD, path, FileType::Fifo, mode, 0).unwrap();
    }
    let options = Options::new(remembered.scratch.path().join("pipe"));
    // To open a pipe would wait for its writer.
    let (sender, answer) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(server(options).map(|_| ())));
    let error = answer.recv_timeout(Duration::from_secs(20)).unwrap();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no regular file"), "{error}");
    let changed = remembered.try_call("create_entities", json!({"entities": []}));
    let error = changed.await.unwrap_err();
    assert!(error.contains("no regular file"), "{error}");
}

#[tokio::test]
async fn the_size_is_bounded() {
    let scratch = TempDir::new().unwrap();
    let file = scratch.path().join("memory.jsonl");
    let server = server(Options::new(&file).max_file_bytes(200)).unwrap();
    let client = testing::connect(server).await.unwrap();
    let create =
        |name: String| json!({"entities": [{"name": name, "entityType": "", "observations": []}]});
    let result = client
        .call_tool("create_entities", &create("x".to_owned()))
        .await
        .unwrap();
    assert_ne!(result.is_error, Some(true), "{}", result.text());
    let before = fs::read_to_string(&file).unwrap();
    let result = client
        .call_tool("create_entities", &create("y".repeat(100)))
        .await
        .unwrap();
    assert!(result.text().contains("may have 200"), "{}", result.text());
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[tokio::test]
async fn the_check_is_clean() {
    let scratch = TempDir::new().unwrap();
    let options = Options::new(scratch.path().join("memory.jsonl"));
    let checked = Checker::new(server(options).unwrap()).run().await.unwrap();
    checked.assert_clean();
}
