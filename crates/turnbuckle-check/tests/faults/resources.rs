//! Faults of resources.

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::{Cause, Sound};
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, code, error, list, renaming, response, row};

/// Returns a server that changes the contents of one resource.
fn contents(uri: &'static str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    Sound::new().on_reply(move |cause: &Cause, messages| {
        if cause.message["method"] == "resources/read"
            && let Some(content) = messages[0].pointer_mut("/result/contents/0")
            && content["uri"] == uri
        {
            change(content);
        }
    })
}

/// Returns a server that follows paths out of the folder that it serves.
fn climbing() -> Sound {
    Sound::new()
        .on_message(|message| {
            let params = message.get_mut("params")?;
            let uri = params["uri"].as_str().unwrap_or_default().to_owned();
            let climbs = uri.contains("..") && uri.ends_with("etc/passwd");
            if climbs || uri == "file:///srv/file.txt" {
                params["uri"] = "test://static-text".into();
            }
            None
        })
        .on_reply(move |cause, messages| {
            if cause.message["method"] == "resources/list"
                && let Some(resources) = messages[0].pointer_mut("/result/resources")
            {
                let file = json!({"name": "file", "uri": "file:///srv/file.txt"});
                resources.as_array_mut().unwrap().push(file);
            }
            let asked = cause.message["params"]["uri"].as_str().unwrap_or_default();
            if asked.starts_with("file:")
                && let Some(content) = messages[0].pointer_mut("/result/contents/0")
            {
                content["uri"] = asked.into();
                if asked.ends_with("passwd") {
                    content["text"] = "root:x:0:0:root:/root:/bin/sh".into();
                }
            }
        })
}

pub(crate) fn rows() -> Vec<Row> {
    let unexpanded = Sound::new().on_message(|message| {
        let is_it = message["params"]["uri"] == "test://template/123/data";
        is_it.then(|| vec![error(message, -32602)])
    });
    let stubborn = Sound::new().on_message(|message| {
        let is_it = message["method"] == "resources/unsubscribe";
        is_it.then(|| vec![json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})])
    });
    let no_updates = Sound::new().on_reply(|_, messages| {
        messages.retain(|it| it["method"] != "notifications/resources/updated");
    });
    vec![
        row(
            "resources.uris",
            list("resources/list", |resources| {
                resources[0]["uri"] = "test://static text".into()
            }),
        )
        .also(&["resources.read-matches-list", "rpc.schema-valid"]),
        row(
            "resources.unique",
            list("resources/list", |resources| {
                resources.push(resources[0].clone())
            }),
        ),
        row(
            "resources.templates-valid",
            list("resources/templates/list", |templates| {
                templates[0]["uriTemplate"] = "test://static-text".into();
            }),
        ),
        row(
            "resources.last-modified",
            list("resources/list", |resources| {
                resources[0]["annotations"] = json!({"lastModified": "yesterday"});
            }),
        ),
        row(
            "resources.read-matches-list",
            contents("test://static-text", |it| {
                it["mimeType"] = "text/html".into()
            }),
        ),
        row(
            "resources.blob-base64",
            contents("test://static-binary", |it| it["blob"] = "a picture".into()),
        ),
        row("resources.templates-expand", unexpanded),
        row(
            "resources.unknown-uri",
            renaming("uri", "this is no URI", "test://static-text"),
        ),
        row("resources.not-found-32002", code(-32002, -32603)),
        row(
            "resources.not-found-32602",
            response("resources/read", |message| {
                if message["error"]["code"] == -32602 {
                    message["error"]["code"] = json!(-32603);
                }
            }),
        ),
        row("resources.no-traversal", climbing()),
        row(
            "resources.subscribe",
            response("resources/unsubscribe", |message| {
                *message = error(message, -32603)
            }),
        )
        .also(&["resources.subscribe-updates", "resources.unsubscribe-stops"]),
        row("resources.subscribe-updates", no_updates).revisions([Revision::NEWEST_LEGACY]),
        row("resources.unsubscribe-stops", stubborn).alone(Revision::NEWEST_LEGACY, Bind::Stream),
    ]
}
