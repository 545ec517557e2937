//! Faults of skills.

use serde_json::{Value, json};
use turnbuckle_check::Bind;
use turnbuckle_check::script::Sound;
use turnbuckle_wire::revision::Revision;

use crate::harness::{Row, remove, row};

const EXTENSION: &str = "io.modelcontextprotocol/skills";

const URI: &str = "skill://feed-cats/SKILL.md";

const TEXT: &str = "---\nname: feed-cats\ndescription: Feeds cats.\n---\nGive them food.\n";

/// The SHA-256 of [`TEXT`].
const DIGEST: &str = "sha256:75d42bb93eaabfbecba98273489707fc396a1e53aecd8ae6f91658c6fb6a447e";

fn entry() -> Value {
    json!({
        "uri": URI,
        "frontmatter": {"name": "feed-cats", "description": "Feeds cats."},
        "resources": [{"uri": URI, "digest": DIGEST, "size": TEXT.len()}],
    })
}

/// Returns the answer of a correct server; `None` for what skills do not concern.
fn answer(message: &Value) -> Option<Value> {
    let uri = &message["params"]["uri"];
    let refused = json!({"error": {"code": -32602, "message": "there is no such thing"}});
    let result = |mut result: Value| {
        result["resultType"] = "complete".into();
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
        json!({"result": result})
    };
    Some(match message["method"].as_str()? {
        "skills/list" => result(json!({"skills": [entry()]})),
        "skills/get" if *uri == URI => result(json!({"skill": entry()})),
        "resources/read" if *uri == URI => {
            result(json!({"contents": [{"uri": URI, "mimeType": "text/markdown", "text": TEXT}]}))
        }
        "resources/directory/read" if *uri == "skill://feed-cats" => {
            result(json!({"resources": [{"uri": URI, "name": "SKILL.md"}]}))
        }
        "skills/get" | "resources/directory/read" => refused,
        _ => return None,
    })
}

/// Returns a server with a skill, whose answers to one method are changed.
fn server(method: &'static str, fault: impl Fn(&mut Value) + Send + Sync + 'static) -> Sound {
    Sound::new()
        .on_message(move |message| {
            let mut reply = answer(message)?;
            if message["method"] == method {
                fault(&mut reply);
            }
            reply["jsonrpc"] = "2.0".into();
            reply["id"] = message["id"].clone();
            Some(vec![reply])
        })
        .on_reply(|cause, messages| {
            for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
                if cause.message["method"] == "server/discover" {
                    let capabilities = &mut message["result"]["capabilities"];
                    capabilities["extensions"][EXTENSION] = json!({"directoryRead": true});
                }
            }
        })
}

fn skill(
    id: &'static str,
    method: &'static str,
    fault: impl Fn(&mut Value) + Send + Sync + 'static,
) -> Row {
    row(id, server(method, fault))
        .alone(Revision::NEWEST, Bind::Stream)
        .topic("skills")
}

/// Returns the row of a check, with a fault of the entry in the list.
fn list_row(id: &'static str, fault: impl Fn(&mut Value) + Send + Sync + 'static) -> Row {
    skill(id, "skills/list", move |reply| {
        fault(&mut reply["result"]["skills"][0])
    })
}

/// Returns servers with skills and without a fault.
pub(crate) fn sound() -> Vec<Row> {
    vec![skill("", "", |_| ())]
}

pub(crate) fn rows() -> Vec<Row> {
    let undeclared = server("", |_| ()).on_reply(|cause, messages| {
        for message in messages.iter_mut().filter(|it| it.get("result").is_some()) {
            if cause.message["method"] == "server/discover" {
                let capabilities = &mut message["result"]["capabilities"];
                capabilities["extensions"][EXTENSION] = json!({"directoryRead": true});
                remove(capabilities, "resources");
            }
        }
    });
    vec![
        row("skills.resources-declared", undeclared)
            .alone(Revision::NEWEST, Bind::Stream)
            .topic("skills"),
        skill("skills.list", "skills/list", |reply| {
            remove(&mut reply["result"], "ttlMs")
        }),
        skill("skills.get", "skills/get", |reply| {
            if reply["error"]["code"] == -32602 {
                reply["error"]["code"] = (-32603).into();
            }
        }),
        list_row("skills.names", |entry| {
            entry["frontmatter"]["name"] = "feed-dogs".into();
        })
        .also(&["skills.frontmatter-identical"]),
        skill("skills.resource-fields", "resources/read", |reply| {
            reply["result"]["contents"][0]["mimeType"] = "text/plain".into();
        }),
        list_row("skills.uris", |entry| {
            let uri = "file:///feed-cats/SKILL.md";
            entry["uri"] = uri.into();
            entry["resources"][0]["uri"] = uri.into();
        })
        .also(&["skills.digests", "skills.get", "skills.directory"]),
        list_row("skills.manifest-complete", |entry| {
            entry["resources"][0]["uri"] = "skill://feed-dogs/SKILL.md".into();
        })
        .also(&["skills.digests"]),
        list_row("skills.digests", |entry| {
            entry["resources"][0]["digest"] = format!("sha256:{}", "0".repeat(64)).into();
        }),
        list_row("skills.frontmatter-identical", |entry| {
            entry["frontmatter"]["description"] = "Feeds dogs.".into();
        }),
        skill("skills.directory", "resources/directory/read", |reply| {
            if reply.get("result").is_some() {
                *reply = json!({"error": {"code": -32601, "message": "there is no such method"}});
            }
        }),
    ]
}
