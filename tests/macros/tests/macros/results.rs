//! Results of functions with an attribute, and what they report on the way.

use serde_json::json;
use turnbuckle::types::ContentBlock;
use turnbuckle::{File, Progress, Server, data, resource, resources, testing, tool, tools};

#[tool]
fn report() -> File {
    File::new("report.pdf", "application/pdf", b"%PDF")
}

#[tool]
fn long() -> File {
    let over = vec![0; 8 * 1024 * 1024 + 1];
    File::new("long.bin", "application/octet-stream", over)
}

#[resource("files://notes")]
fn notes() -> File {
    File::new("notes.md", "text/markdown", "# Notes")
}

#[tokio::test]
async fn a_file_is_an_embedded_resource_of_a_tool_and_the_contents_of_a_resource() {
    let server = Server::new("files", "1.0.0").tools(tools![report, long]);
    let client = testing::connect(server.resources(resources![notes]))
        .await
        .unwrap();
    let result = client.call_tool("report", &()).await.unwrap();
    let block: &ContentBlock = &result.content[0];
    let expected = json!({"type": "resource", "resource":
        {"uri": "file:///report.pdf", "mimeType": "application/pdf", "blob": "JVBERg=="}});
    assert_eq!(serde_json::to_value(block).unwrap(), expected);
    let read = client.read_resource("files://notes").await.unwrap();
    let expected = json!({"uri": "files://notes", "mimeType": "text/markdown", "text": "# Notes"});
    assert_eq!(serde_json::to_value(&read.contents[0]).unwrap(), expected);
    let error = client.call_tool("long", &()).await.unwrap_err().to_string();
    assert!(
        error.contains("long.bin")
            && error.contains("8388609 bytes")
            && error.contains("File::MAX_BYTES"),
        "{error}"
    );
}

#[tool]
async fn climb(progress: Progress) {
    progress.report(f64::NAN).await;
    progress.report(0.5).await;
    progress.report(1).await;
    progress.report_with_total(1.5_f32, 3_usize).await;
    progress.report_with_message(2_u64, 3.0, "nearly").await;
}

#[tokio::test]
async fn progress_is_reported_in_integers_and_floats() {
    let client = testing::connect(Server::new("climb", "1.0.0").tools(tools![climb]))
        .await
        .unwrap();
    let (call, mut progress) = client.call_tool("climb", &()).with_progress();
    call.await.unwrap();
    let mut heard = Vec::new();
    while let Some(one) = progress.next().await {
        heard.push(one.progress.as_f64());
    }
    assert_eq!(heard.last(), Some(&2.0), "{heard:?}");
    assert!(heard.iter().all(|value| value.is_finite()), "{heard:?}");
}

#[data]
#[derive(Debug, Clone)]
enum Unit {
    Metric,
    Imperial,
}

#[data]
struct Weather {
    unit: Unit,
    other: Option<Unit>,
    wind: Option<f64>,
}

#[tool]
fn weather() -> Weather {
    let (unit, other) = (Unit::Metric, None);
    let _ = Unit::Imperial;
    Weather {
        unit,
        other,
        wind: None,
    }
}

#[tokio::test]
async fn the_schema_of_results_has_no_references_and_allows_what_is_returned() {
    let server = Server::new("weather", "1.0.0").tools(tools![weather]);
    let client = testing::connect(server).await.unwrap();
    let tool = client.list_tools().fetch_all().await.unwrap().remove(0);
    let schema = tool.output_schema.unwrap();
    let schema: serde_json::Value = serde_json::from_str(schema.as_str()).unwrap();
    let unit = json!({"type": "string", "enum": ["Metric", "Imperial"]});
    assert_eq!(schema["properties"]["unit"], unit);
    assert_eq!(
        schema["properties"]["other"],
        json!({"anyOf": [unit, {"type": "null"}]})
    );
    assert_eq!(
        schema["properties"]["wind"]["anyOf"][1],
        json!({"type": "null"})
    );
    assert!(!schema.to_string().contains("$"), "{schema}");
    // The client checks the structured content, which has nulls, against the schema.
    let result = client.call_tool("weather", &()).await.unwrap();
    let content = json!({"unit": "Metric", "other": null, "wind": null});
    assert_eq!(
        serde_json::to_value(&result.structured_content).unwrap(),
        content
    );
}
