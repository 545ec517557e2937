//! Folders of skills for tests, and a client that asks about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use turnbuckle_it::harness::{Case, Client};
use turnbuckle_server::Server;
use turnbuckle_skills::server::Skills;
use turnbuckle_wire::revision::Revision;

/// A folder that is removed when it is dropped.
pub(crate) struct Tree(PathBuf);

impl Tree {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("turnbuckle-skills-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and the folders above it.
    pub(crate) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes the `SKILL.md` of a skill, named like its folder.
    pub(crate) fn skill(&self, folder: &str) {
        let name = folder.rsplit('/').next().unwrap();
        self.write(&format!("{folder}/SKILL.md"), skill_file(name));
    }

    pub(crate) fn skills(&self) -> Skills {
        Skills::from_dir(&self.0).unwrap()
    }

    /// Returns what was left out, as `place: reason` with the path within the folder.
    pub(crate) fn faults(&self) -> Vec<String> {
        let skills = self.skills();
        let root = format!("{}/", self.0.display());
        let faults = skills.faults().iter();
        faults
            .map(|fault| {
                format!(
                    "{}: {}",
                    fault.place.trim_start_matches(&root),
                    fault.reason
                )
            })
            .collect()
    }

    /// Returns the URIs of the skills.
    pub(crate) async fn uris(&self) -> Vec<String> {
        uris(&mut client(self.skills()).await).await
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn skill_file(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}\n---\n# {name}\n")
}

pub(crate) fn server(skills: Skills) -> Server {
    Server::new("skills", "1.0.0")
        .extension(skills)
        .build()
        .unwrap()
}

/// Connects a client of the newest revision.
pub(crate) async fn client(skills: Skills) -> Client {
    Client::connect(Case::pipe(Revision::NEWEST), &server(skills)).await
}

/// Asks, and returns the result.
pub(crate) async fn ask(client: &mut Client, method: &str, params: Value) -> Value {
    let answer = client.request(method, params).await;
    assert!(answer.get("result").is_some(), "{method}: {answer}");
    answer["result"].clone()
}

/// Asks, and returns the code and message of the error.
pub(crate) async fn refuse(client: &mut Client, method: &str, params: Value) -> (i64, String) {
    let answer = client.request(method, params).await;
    let error = &answer["error"];
    let code = error["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("{method}: {answer}"));
    (code, error["message"].as_str().unwrap().to_owned())
}

/// Returns all items of a list in pages, and the number of pages.
pub(crate) async fn pages(
    client: &mut Client,
    method: &str,
    params: Value,
    member: &str,
) -> (Vec<Value>, usize) {
    let mut items = Vec::new();
    let mut params = params;
    for count in 1.. {
        let page = ask(client, method, params.clone()).await;
        items.extend(page[member].as_array().unwrap().clone());
        match page.get("nextCursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => return (items, count),
        }
    }
    unreachable!()
}

pub(crate) async fn entries(client: &mut Client) -> Vec<Value> {
    pages(client, "skills/list", json!({}), "skills").await.0
}

pub(crate) async fn uris(client: &mut Client) -> Vec<String> {
    let entries = entries(client).await;
    entries
        .iter()
        .map(|entry| entry["uri"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the URIs of an entry's files.
pub(crate) fn files(entry: &Value) -> Vec<String> {
    let files = entry["resources"]
        .as_array()
        .unwrap_or_else(|| panic!("{entry}"));
    files
        .iter()
        .map(|file| file["uri"].as_str().unwrap().to_owned())
        .collect()
}

/// Reads a resource and returns its only contents.
pub(crate) async fn read(client: &mut Client, uri: &str) -> Value {
    let result = ask(client, "resources/read", json!({"uri": uri})).await;
    let contents = result["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1, "{result}");
    contents[0].clone()
}
