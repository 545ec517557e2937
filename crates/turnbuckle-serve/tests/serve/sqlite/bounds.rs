//! Statements that take long or return much.

use std::time::Duration;

use serde_json::json;

use super::{Fixture, pets};

#[test]
fn a_function_that_does_not_end_is_answered_and_leaves_room_for_others() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let timeout = Duration::from_millis(100);
        let fixture = Fixture::new(|options| options.query_timeout(timeout)).await;
        // It compares the bytes of a long text at each place of another one.
        let endless = "SELECT instr(hex(zeroblob(500000)), hex(zeroblob(250000)) || '1')";
        let late = fixture.error("read_query", endless).await;
        assert!(late.contains("goes on"), "{late}");
        assert_eq!(fixture.rows("SELECT 1 AS a").await, json!([{"a": 1}]));
    });
    // The thread works on for some seconds.
    runtime.shutdown_background();
}

#[tokio::test]
async fn values_are_measured_before_they_are_encoded() {
    let fixture = pets().await;
    let blobs: Vec<String> = (0..60)
        .map(|number| format!("zeroblob(1000000) AS b{number}"))
        .collect();
    let wide = json!({"query": format!("SELECT {}", blobs.join(", "))});
    let wide = fixture.call("read_query", wide).await;
    assert_eq!(wide.text(), "[]\n[Cut: only the first 0 rows are shown.]");
    // Intermediate values of a query are bounded by what its result may have.
    let large = "SELECT length(hex(zeroblob(1000000))) AS n";
    let large = fixture.error("read_query", large).await;
    assert!(large.contains("as large as its result"), "{large}");
    fixture
        .ok(
            "write_query",
            "UPDATE pets SET photo = zeroblob(4000000) WHERE id = 1",
        )
        .await;
    let length = "SELECT name, length(photo) AS n FROM pets WHERE id = 1";
    assert_eq!(
        fixture.rows(length).await,
        json!([{"name": "Ida", "n": 4_000_000}])
    );
}

#[tokio::test]
async fn an_error_repeats_little_of_a_statement() {
    let fixture = pets().await;
    for long in ["x".repeat(900_000), ["x"; 100_000].join(" ")] {
        let error = fixture.error("read_query", &format!("SELECT {long}")).await;
        assert!(error.len() < 2_000, "{}", error.len());
        assert!(error.contains("at offset"), "{error}");
    }
}

#[tokio::test]
async fn results_and_times_are_bounded() {
    let fixture = Fixture::new(|options| {
        options
            .max_rows(10)
            .max_result_bytes(1_000)
            .query_timeout(Duration::from_millis(200))
    })
    .await;
    let count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT";
    let cut = fixture
        .call("read_query", json!({"query": format!("{count} i FROM n")}))
        .await;
    assert_eq!(cut.content.len(), 2);
    assert!(
        format!("{:?}", cut.content).contains("only the first 10 rows"),
        "{:?}",
        cut.content
    );
    let long = fixture
        .call(
            "read_query",
            json!({"query": "SELECT hex(zeroblob(400)) AS a UNION ALL SELECT hex(zeroblob(400))"}),
        )
        .await;
    assert!(
        format!("{:?}", long.content).contains("only the first 1 rows"),
        "{:?}",
        long.content
    );
    let endless = fixture
        .error("read_query", &format!("{count} max(i) FROM n"))
        .await;
    assert!(endless.contains("--query-timeout"), "{endless}");
    fixture.ok("create_table", "CREATE TABLE t (a)").await;
    let endless = fixture
        .error(
            "write_query",
            &format!("INSERT INTO t {count} i FROM n WHERE i < 0"),
        )
        .await;
    assert!(endless.contains("--query-timeout"), "{endless}");
    let large = fixture
        .error("read_query", "SELECT zeroblob(100000000)")
        .await;
    assert!(large.contains("too big"), "{large}");
}
