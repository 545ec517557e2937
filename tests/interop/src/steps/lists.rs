//! Every list, over all pages.

use std::collections::BTreeMap;

use crate::problem::Problem;
use crate::scene::Scene;

pub(super) async fn lists(scene: &Scene) -> Result<(), Problem> {
    let lists: BTreeMap<String, Vec<String>> = scene.entry("lists")?;
    for (list, wanted) in lists {
        let names = scene.names(&list).await?;
        let missing: Vec<_> = wanted.iter().filter(|name| !names.contains(name)).collect();
        if !missing.is_empty() {
            return Err(format!("the list of {list} lacks {missing:?}").into());
        }
    }
    Ok(())
}
