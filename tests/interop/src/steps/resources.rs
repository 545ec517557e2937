//! Reading.

use serde::Deserialize;
use turnbuckle::types::ResourceContents;

use crate::problem::Problem;
use crate::scene::{Scene, holds, same};

#[derive(Deserialize)]
struct Read {
    uri: String,
    says: String,
}

pub(super) async fn read(scene: &Scene) -> Result<(), Problem> {
    readable(scene, scene.entry("read")?).await
}

/// Reads a resource of a template like any other resource.
pub(super) async fn template(scene: &Scene) -> Result<(), Problem> {
    readable(scene, scene.entry("template")?).await
}

async fn readable(scene: &Scene, entry: Read) -> Result<(), Problem> {
    let result = scene.client.read_resource(&entry.uri).await?;
    let Some(ResourceContents::Text(contents)) = result.contents.first() else {
        return Err(format!("no text came: {:?}", result.contents).into());
    };
    same(&contents.uri, &entry.uri)?;
    holds(&contents.text, &entry.says)
}
