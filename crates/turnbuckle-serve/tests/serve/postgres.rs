//! A database: queries, tables as resources, and statements that are not allowed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_postgres::Client;
use turnbuckle::testing::{self, Checker, TestClient};
use turnbuckle::types::CallToolResult;
use turnbuckle_engines::PostgresServer;
use turnbuckle_postgres::{ConnectionTask, DatabaseAddress, PostgresStoreOptions};
use turnbuckle_serve::postgres::{Options, server};

const TABLES: &str = "CREATE TABLE pets (id int8 PRIMARY KEY, name text, tags text[]); \
                      INSERT INTO pets VALUES (1, 'Ida', '{a,b}'), (2, NULL, NULL); \
                      CREATE TABLE \"odd/näme\" (day date)";

/// Counts the statements that sleep.
const SLEEPING: &str = "SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep'";

async fn connect_directly(address: &str) -> (Client, ConnectionTask) {
    let address = DatabaseAddress::new(address, PostgresStoreOptions::new()).unwrap();
    address.connect().await.unwrap()
}

async fn start() -> PostgresServer {
    let server = PostgresServer::start();
    let address = server.address("postgres");
    let (client, _task) = connect_directly(&address).await;
    client.batch_execute(TABLES).await.unwrap();
    server
}

async fn connect(options: Options) -> TestClient {
    testing::connect(server(options).unwrap()).await.unwrap()
}

async fn query(client: &TestClient, sql: &str) -> CallToolResult {
    client
        .call_tool("query", &json!({"sql": sql}))
        .await
        .unwrap()
}

async fn error(client: &TestClient, sql: &str) -> String {
    let result = query(client, sql).await;
    assert_eq!(result.is_error, Some(true), "{sql}: {}", result.text());
    result.text().to_string()
}

async fn rows(client: &TestClient, sql: &str) -> Value {
    let result = query(client, sql).await;
    serde_json::from_str(&result.text()).unwrap_or_else(|_| panic!("{sql}: {}", result.text()))
}

#[tokio::test]
async fn queries_read_and_nothing_else() {
    let database = start().await;
    let client = connect(Options::new(database.address("postgres"))).await;
    let pets = rows(
        &client,
        "SELECT name, id, tags FROM pets ORDER BY id -- all;",
    )
    .await;
    assert_eq!(
        pets,
        json!([{"name": "Ida", "id": 1, "tags": ["a", "b"]}, {"name": null, "id": 2, "tags": null}])
    );
    assert_eq!(
        rows(&client, "WITH x AS (VALUES (1)) TABLE x;").await,
        json!([{"column1": 1}])
    );
    for sql in [
        "INSERT INTO pets VALUES (3)",
        "DELETE FROM pets",
        "DROP TABLE pets",
        "CREATE TABLE x (a int)",
        "WITH x AS (DELETE FROM pets RETURNING id) SELECT * FROM x",
        "COMMIT",
        "ROLLBACK",
        "SET TRANSACTION READ WRITE",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT 1; DROP TABLE pets",
        "COMMIT; DROP TABLE pets",
        "SELECT 1) AS a; DROP TABLE pets; SELECT (1",
        "SELECT 1) AS a, (SELECT 2",
        "COPY pets TO PROGRAM 'true'",
        "COPY pets TO STDOUT",
        "LISTEN x",
        "",
        ";",
        "SELECT nextval('x')",
        "DO $$ BEGIN DELETE FROM pets; END $$",
        "PREPARE x AS SELECT 1",
    ] {
        error(&client, sql).await;
    }
    let read_only = error(&client, "SELECT * FROM pets FOR UPDATE").await;
    assert!(read_only.contains("read-only"), "{read_only}");
    assert_eq!(
        rows(&client, "SELECT count(*) AS n FROM pets").await,
        json!([{"n": 2}])
    );
}

#[tokio::test]
async fn two_columns_with_one_name_are_an_error() {
    let database = start().await;
    let client = connect(Options::new(database.address("postgres"))).await;
    let twice = "SELECT * FROM pets AS a JOIN pets AS b USING (name) WHERE a.id = 1";
    let twice = error(&client, twice).await;
    assert!(twice.contains("\"id\"") && twice.contains("AS"), "{twice}");
    let named = "SELECT a.id, b.id AS other FROM pets AS a JOIN pets AS b USING (name)";
    assert_eq!(rows(&client, named).await, json!([{"id": 1, "other": 1}]));
}

#[tokio::test]
async fn results_and_times_are_bounded() {
    let database = start().await;
    let options = Options::new(database.address("postgres"))
        .max_rows(10)
        .max_result_bytes(1_000)
        .query_timeout(Duration::from_millis(500));
    let client = connect(options).await;
    let many = query(&client, "SELECT generate_series(1, 1000000000) AS n").await;
    assert_eq!(many.content.len(), 2, "{}", many.text());
    let large = query(&client, "SELECT repeat('x', 100000) AS a").await;
    assert!(
        format!("{:?}", large.content).contains("only the first 0 rows"),
        "{:?}",
        large.content.len()
    );
    let slow = error(&client, "SELECT pg_sleep(60)").await;
    assert!(slow.contains("statement timeout"), "{slow}");
}

#[tokio::test]
async fn a_column_may_have_any_name() {
    let database = start().await;
    let client = connect(Options::new(database.address("postgres"))).await;
    for (sql, expected) in [
        ("SELECT 1 AS result", json!([{"result": 1}])),
        (
            "SELECT pets AS result, 5 AS other FROM pets WHERE id = 2",
            json!([{"result": {"id": 2, "name": null, "tags": null}, "other": 5}]),
        ),
        ("SELECT 1 AS \"row\"; -- done; really", json!([{"row": 1}])),
    ] {
        assert_eq!(rows(&client, sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn rows_beyond_the_limit_are_not_read() {
    let database = start().await;
    let options = Options::new(database.address("postgres"))
        .max_result_bytes(100_000)
        .max_connections(1)
        .query_timeout(Duration::from_secs(5));
    let client = connect(options).await;
    // A statement that sends rows, and then does not end.
    let endless = "SELECT n, repeat('x', 40000) AS x FROM generate_series(1, 100) AS n \
                   WHERE n < 20 OR pg_sleep(600) IS NULL";
    let cut = query(&client, endless).await;
    let note = format!("{:?}", cut.content.last());
    assert!(note.contains("only the first 2 rows"), "{note}");
    assert_eq!(rows(&client, SLEEPING).await, json!([{"n": 0}]));
}

#[tokio::test]
async fn a_cancelled_query_ends_in_the_database() {
    let database = start().await;
    let options = Options::new(database.address("postgres"))
        .max_connections(1)
        .query_timeout(Duration::from_secs(600));
    let client = connect(options).await;
    let (owner, _task) = connect_directly(&database.address("postgres")).await;
    let is_sleeping = async || {
        while owner
            .query_one(SLEEPING, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            == 0
        {}
    };
    tokio::select! {
        slept = query(&client, "SELECT pg_sleep(600)") => panic!("{}", slept.text()),
        () = is_sleeping() => {}
    }
    // Its connection counts until the statement has ended.
    assert_eq!(rows(&client, SLEEPING).await, json!([{"n": 0}]));
}

#[tokio::test]
async fn connections_are_kept_and_nothing_is_left_in_them() {
    let database = start().await;
    let options = Options::new(database.address("postgres")).max_connections(1);
    let client = connect(options).await;
    let setting = "SELECT current_setting('work_mem') AS m, pg_backend_pid() AS p, \
                   (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory') AS l";
    let mut processes = std::collections::BTreeSet::new();
    let mut before = None;
    for _ in 0..20 {
        let found = rows(&client, setting).await[0].clone();
        processes.insert(found["p"].as_i64().unwrap());
        let found = (found["m"].clone(), found["l"].clone());
        assert_eq!(found.1, json!(0));
        assert_eq!(*before.get_or_insert(found.clone()), found);
        let change = "SELECT set_config('work_mem', '65kB', false), pg_advisory_lock(7)::text";
        assert_ne!(query(&client, change).await.is_error, Some(true));
        error(&client, "SELECT 1 / 0").await;
    }
    assert_eq!(processes.len(), 1, "{processes:?}");
}

#[tokio::test]
async fn queries_at_once_share_few_connections() {
    let database = start().await;
    let options = Options::new(database.address("postgres")).max_connections(3);
    let client = connect(options).await;
    let process = "SELECT pg_backend_pid() AS p";
    let mut processes = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let found = tokio::join!(
            rows(&client, process),
            rows(&client, process),
            rows(&client, process),
            rows(&client, process)
        );
        let found = [found.0, found.1, found.2, found.3];
        processes.extend(found.map(|rows| rows[0]["p"].as_i64().unwrap()));
    }
    assert!((1..=3).contains(&processes.len()), "{processes:?}");
}

#[tokio::test]
async fn types_of_users_are_read_in_turn() {
    let database = start().await;
    let address = database.address("postgres");
    let (owner, _task) = connect_directly(&address).await;
    let types = "CREATE TYPE mood AS ENUM ('calm'); CREATE TYPE place AS (x int, y int)";
    owner.batch_execute(types).await.unwrap();
    let client = connect(Options::new(address).max_connections(1)).await;
    for _ in 0..3 {
        let mood = rows(&client, "SELECT 'calm'::mood AS m").await;
        assert_eq!(mood, json!([{"m": "calm"}]));
        error(&client, "SELECT $1::mood::text AS m").await;
        let place = rows(&client, "SELECT ROW(1, 2)::place AS p").await;
        assert_eq!(place, json!([{"p": {"x": 1, "y": 2}}]));
    }
}

#[tokio::test]
async fn tables_are_resources() {
    let database = start().await;
    let url = database.url("postgres").replace("@", ":hush@");
    let client = connect(Options::new(url)).await;
    let resources = client.list_resources().fetch_all().await.unwrap();
    let names: Vec<&str> = resources.iter().map(|resource| &*resource.name).collect();
    assert_eq!(
        names,
        ["\"odd/näme\" database schema", "\"pets\" database schema"]
    );
    for resource in &resources {
        assert!(
            resource.uri.starts_with("postgres://turnbuckle@") && resource.uri.ends_with("/schema"),
            "{}",
            resource.uri
        );
        let read = client.read_resource(&*resource.uri).await.unwrap();
        assert!(
            format!("{:?}", read.contents).contains("data_type"),
            "{:?}",
            read.contents
        );
    }
    let missing = resources[1].uri.replace("pets", "none");
    assert!(client.read_resource(&*missing).await.is_err());
}

#[tokio::test]
async fn the_check_is_clean() {
    let database = start().await;
    let server = server(Options::new(database.address("postgres"))).unwrap();
    Checker::new(server).run().await.unwrap().assert_clean();
}

#[tokio::test]
async fn an_address_is_not_shown() {
    let options = Options::new("postgres://u:hush@localhost:1/d");
    assert!(!format!("{options:?}").contains("hush"));
    let refused = error(&connect(options).await, "SELECT 1").await;
    assert!(!refused.contains("hush"), "{refused}");
    let unreadable = server(Options::new("hush")).err().unwrap();
    assert!(!unreadable.to_string().contains("hush"));
}
