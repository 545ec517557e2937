//! A database file: queries, tables, the memo, and statements that are not allowed.

mod bounds;

use serde_json::{Value, json};
use tempfile::TempDir;
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle::types::CallToolResult;
use turnbuckle_serve::sqlite::{Options, server};

struct Fixture {
    client: TestClient,
    folder: TempDir,
}

impl Fixture {
    async fn new(change: impl FnOnce(Options) -> Options) -> Self {
        let folder = TempDir::new().unwrap();
        let options = change(Options::new(folder.path().join("new/test.db")));
        let client = testing::connect(server(options).unwrap()).await.unwrap();
        Self { client, folder }
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallToolResult {
        self.client.call_tool(tool, &arguments).await.unwrap()
    }

    async fn ok(&self, tool: &str, query: &str) -> String {
        let result = self.call(tool, json!({"query": query})).await;
        assert_ne!(result.is_error, Some(true), "{query}: {}", result.text());
        result.text().to_string()
    }

    async fn rows(&self, query: &str) -> Value {
        serde_json::from_str(&self.ok("read_query", query).await).unwrap()
    }

    async fn error(&self, tool: &str, query: &str) -> String {
        let result = self.call(tool, json!({"query": query})).await;
        assert_eq!(result.is_error, Some(true), "{query}: {}", result.text());
        result.text().to_string()
    }
}

async fn pets() -> Fixture {
    let fixture = Fixture::new(|options| options.max_rows(10)).await;
    fixture.ok("create_table", "CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, weight REAL, photo BLOB)").await;
    fixture.ok("write_query", "INSERT INTO pets (name, weight, photo) VALUES ('Ida', 4.5, x'00ff'), ('Otto', 1e999, NULL)").await;
    fixture
}

#[tokio::test]
async fn tables_are_created_filled_and_read() {
    let fixture = pets().await;
    let rows = fixture
        .rows("SELECT name, id, weight, photo FROM pets ORDER BY id")
        .await;
    assert_eq!(
        rows,
        json!([
            {"name": "Ida", "id": 1, "weight": 4.5, "photo": "X'00FF'"},
            {"name": "Otto", "id": 2, "weight": null, "photo": null},
        ])
    );
    let text = fixture
        .ok(
            "read_query",
            "WITH p AS (SELECT 2 AS b, 1 AS a) SELECT b, a FROM p",
        )
        .await;
    assert_eq!(text, r#"[{"b":2,"a":1}]"#, "columns stay in their order");
    assert_eq!(
        fixture
            .ok("write_query", "UPDATE pets SET weight = 1")
            .await,
        r#"[{"affected_rows":2}]"#
    );
    assert_eq!(
        fixture
            .ok("write_query", "DELETE FROM pets WHERE id = 1 RETURNING id")
            .await,
        r#"[{"affected_rows":1}]"#
    );
    assert_eq!(
        fixture.call("list_tables", json!({})).await.text(),
        r#"[{"name":"pets"}]"#
    );
    let described = fixture
        .call("describe_table", json!({"table_name": "pets"}))
        .await;
    let described: Value = serde_json::from_str(&described.text()).unwrap();
    assert_eq!(
        described[1],
        json!({"cid": 1, "name": "name", "type": "TEXT", "notnull": 1, "dflt_value": null, "pk": 0})
    );
    let injected = json!({"table_name": "pets); DROP TABLE pets; --"});
    assert_eq!(fixture.call("describe_table", injected).await.text(), "[]");
    fixture.ok("write_query", "DROP TABLE pets").await;
    assert_eq!(fixture.call("list_tables", json!({})).await.text(), "[]");
}

#[tokio::test]
async fn a_query_changes_nothing() {
    let fixture = pets().await;
    for query in [
        "INSERT INTO pets (name) VALUES ('x')",
        "DELETE FROM pets",
        "DROP TABLE pets",
        "CREATE TABLE x (a)",
        "WITH x AS (SELECT 1) INSERT INTO pets (name) SELECT 'x' FROM x",
        "ALTER TABLE pets ADD COLUMN x",
        "CREATE TEMP TABLE x (a)",
        "VACUUM",
        "REINDEX",
        "ANALYZE",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT x",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA query_only = 0",
        "SELECT * FROM pragma_journal_mode('off')",
        "SELECT load_extension('x')",
        "",
    ] {
        fixture.error("read_query", query).await;
    }
    let two = fixture
        .error("read_query", "SELECT 1; DROP TABLE pets")
        .await;
    assert!(two.contains("one statement"), "{two}");
    assert_eq!(
        fixture.rows("SELECT count(*) AS n FROM pets").await,
        json!([{"n": 2}])
    );
}

#[tokio::test]
async fn no_statement_reaches_beyond_the_file() {
    let fixture = pets().await;
    let other = fixture.folder.path().join("other.db");
    let attach = format!("ATTACH '{}' AS other", other.display());
    let into = format!("VACUUM INTO '{}'", other.display());
    for query in [
        &*attach,
        &*into,
        "PRAGMA writable_schema = 1",
        "BEGIN",
        "SAVEPOINT x",
        "DETACH main",
        "INSERT INTO pets (name) SELECT load_extension('x')",
        "UPDATE sqlite_master SET sql = ''",
        "INSERT INTO pets (name) VALUES ('a'); DELETE FROM pets",
        "SELECT 1",
    ] {
        for tool in ["write_query", "create_table"] {
            fixture.error(tool, query).await;
        }
    }
    assert!(!other.exists());
    let table = fixture.error("create_table", "DROP TABLE pets").await;
    assert_eq!(table, "Only CREATE TABLE statements are allowed");
    assert_eq!(
        fixture.rows("SELECT count(*) AS n FROM pets").await,
        json!([{"n": 2}])
    );
}

#[tokio::test]
async fn tables_of_the_extensions_of_sqlite_are_read_and_written() {
    let fixture = pets().await;
    for (table, all) in [
        ("CREATE VIRTUAL TABLE words USING fts5(body, tag)", "words"),
        ("CREATE VIRTUAL TABLE words USING fts4(body, tag)", "words"),
        (
            "CREATE VIRTUAL TABLE words USING fts5(body, tag, content='pages', tokenize=trigram)",
            "pages",
        ),
    ] {
        fixture
            .ok("create_table", "CREATE TABLE pages (body, tag)")
            .await;
        fixture.ok("write_query", table).await;
        let insert = format!("INSERT INTO {all} VALUES ('hello world', 'a'), ('goodbye', 'b')");
        fixture.ok("write_query", &insert).await;
        for command in ["rebuild", "optimize", "integrity-check"] {
            let command = format!("INSERT INTO words (words) VALUES ('{command}')");
            fixture.ok("write_query", &command).await;
        }
        let matching = "SELECT tag FROM words WHERE words MATCH 'hello'";
        let both = json!([{"body": "hello world", "tag": "a"}, {"body": "goodbye", "tag": "b"}]);
        assert_eq!(fixture.rows("SELECT * FROM words").await, both, "{table}");
        assert_eq!(fixture.rows(matching).await, json!([{"tag": "a"}]));
        if all == "words" {
            let update = "UPDATE words SET tag = 'c' WHERE body MATCH 'hello'";
            fixture.ok("write_query", update).await;
            fixture
                .ok("write_query", "DELETE FROM words WHERE tag = 'b'")
                .await;
            assert_eq!(fixture.rows(matching).await, json!([{"tag": "c"}]));
        }
        let rename = "ALTER TABLE words RENAME TO renamed";
        fixture.ok("write_query", rename).await;
        fixture.ok("write_query", "DROP TABLE renamed").await;
        fixture.ok("write_query", "DROP TABLE pages").await;
    }
    let table = "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high, +name)";
    fixture.ok("write_query", table).await;
    let insert = "INSERT INTO boxes VALUES (1, 0, 5, 'left'), (2, 4, 9, 'right')";
    fixture.ok("write_query", insert).await;
    fixture
        .ok("write_query", "UPDATE boxes SET high = 6 WHERE id = 1")
        .await;
    let left = json!([{"id": 1, "low": 0.0, "high": 6.0, "name": "left"}]);
    let query = "SELECT * FROM boxes WHERE low < 3";
    assert_eq!(fixture.rows(query).await, left);
    fixture
        .ok("write_query", "DELETE FROM boxes WHERE id = 2")
        .await;
    fixture
        .ok(
            "write_query",
            "CREATE VIRTUAL TABLE words USING fts5(body, tag)",
        )
        .await;
    fixture
        .ok("write_query", "INSERT INTO words VALUES ('hello', 'a')")
        .await;
    let options = Options::new(fixture.folder.path().join("new/test.db")).read_only(true);
    let client = testing::connect(server(options).unwrap()).await.unwrap();
    let read_only = Fixture {
        client,
        folder: TempDir::new().unwrap(),
    };
    assert_eq!(read_only.rows("SELECT * FROM boxes").await, left);
    let matching = "SELECT tag FROM words WHERE words MATCH 'hello' ORDER BY rank";
    assert_eq!(read_only.rows(matching).await, json!([{"tag": "a"}]));
}

#[tokio::test]
async fn tables_of_extensions_open_no_other_way() {
    let fixture = pets().await;
    let insert = "INSERT INTO boxes VALUES (1, 0, 5)";
    for statement in [
        "CREATE VIRTUAL TABLE boxes USING rtree(id, low, high)",
        "CREATE VIRTUAL TABLE words USING fts5(body)",
        insert,
        "CREATE TABLE my_node (a)",
        "INSERT INTO my_node VALUES (1)",
    ] {
        fixture.ok("write_query", statement).await;
    }
    for query in [
        "INSERT INTO my_node VALUES (2) RETURNING a",
        "UPDATE my_node SET a = 2 RETURNING a",
        "DELETE FROM boxes_node RETURNING *",
        "INSERT INTO boxes VALUES (2, 0, 5) RETURNING id",
        "INSERT INTO words VALUES ('x') RETURNING body",
        "INSERT INTO words (words) VALUES ('rebuild') RETURNING body",
        "PRAGMA data_version = 7",
        "PRAGMA page_size = 512",
        "PRAGMA page_count",
    ] {
        fixture.error("read_query", query).await;
    }
    let pets = "DELETE FROM pets RETURNING id";
    let denied = fixture.error("read_query", pets).await;
    assert!(denied.contains("does not allow"), "{denied}");
    let writes = fixture
        .error("read_query", "DELETE FROM my_node RETURNING a")
        .await;
    assert!(writes.starts_with("Only SELECT"), "{writes}");
    for statement in [
        "INSERT INTO boxes_node VALUES (9, x'00')",
        "DELETE FROM words_data",
        "PRAGMA page_size = 512",
    ] {
        fixture.error("write_query", statement).await;
    }
    let rows = fixture.rows("SELECT a FROM my_node").await;
    assert_eq!(rows, json!([{"a": 1}]));
}

#[tokio::test]
async fn a_change_that_another_program_has_not_ended_is_rolled_back() {
    let fixture = pets().await;
    let path = fixture.folder.path().join("new/test.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.pragma_update(None, "cache_size", 1).unwrap();
    let rows = "WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n LIMIT 2000) \
                INSERT INTO pets (id, name) SELECT i, hex(zeroblob(500)) FROM n";
    other.execute_batch("BEGIN").unwrap();
    other.execute(rows, []).unwrap();
    // What a program leaves that ends now: pages of the change, and the journal.
    let left = fixture.folder.path().join("left.db");
    let journal = |path: &std::path::Path| path.with_extension("db-journal");
    let copy = || {
        std::fs::copy(&path, &left).unwrap();
        std::fs::copy(journal(&path), journal(&left)).unwrap();
    };
    copy();
    let refused = server(Options::new(&left).read_only(true)).err().unwrap();
    let refused = refused.to_string();
    assert!(
        refused.contains("-journal") && refused.contains("--read-only"),
        "{refused}"
    );
    let client = testing::connect(server(Options::new(&left)).unwrap())
        .await
        .unwrap();
    // The program ends while the server runs.
    copy();
    let count = json!({"query": "SELECT count(*) AS n FROM pets"});
    let counted = client.call_tool("read_query", &count).await.unwrap();
    assert_eq!(counted.text(), r#"[{"n":2}]"#);
}

#[tokio::test]
async fn a_read_only_server_has_no_tools_that_write() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.db");
    let missing = server(Options::new(&path).read_only(true));
    assert!(
        missing
            .err()
            .unwrap()
            .to_string()
            .contains("cannot open the database")
    );
    drop(server(Options::new(&path)).unwrap());
    let client = testing::connect(server(Options::new(&path).read_only(true)).unwrap())
        .await
        .unwrap();
    let tools = client.list_tools().fetch_all().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(
        names,
        [
            "read_query",
            "list_tables",
            "describe_table",
            "append_insight"
        ]
    );
    std::fs::write(
        folder.path().join("text.db"),
        "this is no database, but text that is long enough",
    )
    .unwrap();
    let text = server(Options::new(folder.path().join("text.db")));
    assert!(text.err().unwrap().to_string().contains("not a database"));
}

#[tokio::test]
async fn two_columns_with_one_name_are_an_error() {
    let fixture = pets().await;
    let join = "SELECT * FROM pets AS a JOIN pets AS b ON a.id = b.id";
    let error = fixture.error("read_query", join).await;
    assert!(error.contains("\"id\"") && error.contains("AS"), "{error}");
    let named = "SELECT a.id, b.id AS other FROM pets AS a JOIN pets AS b ON a.id = b.id LIMIT 1";
    assert_eq!(fixture.rows(named).await, json!([{"id": 1, "other": 1}]));
}

#[tokio::test]
async fn a_database_without_a_file_is_refused() {
    for name in [":memory:", ""] {
        for read_only in [false, true] {
            let options = Options::new(name).read_only(read_only);
            let error = server(options).err().unwrap().to_string();
            assert!(error.contains("name a file"), "{error}");
        }
    }
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file:a.db?mode=memory");
    drop(server(Options::new(&path)).unwrap());
    assert!(path.exists(), "a path is no URI");
}

#[tokio::test]
async fn insights_make_a_memo() {
    let fixture = Fixture::new(|options| options).await;
    let memo = async || {
        let read = fixture
            .client
            .read_resource("memo://insights")
            .await
            .unwrap();
        format!("{:?}", read.contents)
    };
    assert!(memo().await.contains("There are no insights yet"));
    for insight in ["Cats sell", "Dogs do not"] {
        let added = fixture
            .call("append_insight", json!({"insight": insight}))
            .await;
        assert_eq!(added.text(), "Insight added to memo");
    }
    let memo = memo().await;
    assert!(
        memo.contains("Insights:\\n\\n- Cats sell\\n- Dogs do not\""),
        "{memo}"
    );
    let long = fixture
        .call("append_insight", json!({"insight": "x".repeat(10_001)}))
        .await;
    assert_eq!(long.is_error, Some(true));
    let prompt = fixture
        .client
        .get_prompt("mcp-demo", [("topic", "tea")])
        .await
        .unwrap();
    assert!(format!("{prompt:?}").contains("on this topic: tea."));
}

#[tokio::test]
async fn the_check_is_clean() {
    let folder = TempDir::new().unwrap();
    let server = server(Options::new(folder.path().join("a.db"))).unwrap();
    Checker::new(server).run().await.unwrap().assert_clean();
}
