//! Members, links, owner and permissions of the file, which changes keep.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use turnbuckle::testing;
use turnbuckle_serve::memory::{Options, server};

use super::Remembered;

#[tokio::test]
async fn members_of_other_programs_are_kept() {
    let remembered = Remembered::new().await;
    let lines = "{\"type\":\"entity\",\"name\":\"Ada\",\"entityType\":\"person\",\"observations\":[],\"createdAt\":\"2024\"}\n\
                 {\"type\":\"relation\",\"from\":\"Ada\",\"to\":\"Ada\",\"relationType\":\"is\",\"id\":5}";
    fs::write(remembered.file(), lines).unwrap();
    let add = json!({"observations": [{"entityName": "Ada", "contents": ["new"]}]});
    remembered.call("add_observations", add).await;
    let kept = fs::read_to_string(remembered.file()).unwrap();
    assert_eq!(kept, lines.replace("[]", "[\"new\"]"));
    let graph = remembered.call("read_graph", json!({})).await;
    assert_eq!(
        graph["relations"],
        json!([{"from": "Ada", "to": "Ada", "relationType": "is"}])
    );
}

#[cfg(unix)]
#[tokio::test]
async fn the_target_of_a_link_is_created() {
    let scratch = TempDir::new().unwrap();
    let path = |name: &str| scratch.path().join(name);
    std::os::unix::fs::symlink("second", path("first")).unwrap();
    std::os::unix::fs::symlink(path("target"), path("second")).unwrap();
    let client = testing::connect(server(Options::new(path("first"))).unwrap())
        .await
        .unwrap();
    let entity = json!({"name": "a", "entityType": "b", "observations": []});
    let created = client.call_tool("create_entities", &json!({"entities": [entity]}));
    assert_ne!(created.await.unwrap().is_error, Some(true));
    assert!(
        fs::read_to_string(path("target"))
            .unwrap()
            .contains("\"a\"")
    );
    assert!(path("first").is_symlink() && path("second").is_symlink());
    std::os::unix::fs::symlink("circle", path("circle")).unwrap();
    assert!(server(Options::new(path("circle"))).is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_keeps_its_owner_and_permissions() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

    let remembered = Remembered::new().await;
    let file = remembered.file();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    // Only root can give files away; others keep what they have.
    let _ = chown(&file, Some(65_534), Some(65_534));
    let before = fs::metadata(&file).unwrap();
    let entity = json!({"name": "a", "entityType": "b", "observations": []});
    remembered
        .call("create_entities", json!({"entities": [entity]}))
        .await;
    let after = fs::metadata(&file).unwrap();
    let of = |it: &fs::Metadata| (it.uid(), it.gid(), it.mode());
    assert_eq!(of(&after), of(&before));
    assert_ne!(after.ino(), before.ino());
}
