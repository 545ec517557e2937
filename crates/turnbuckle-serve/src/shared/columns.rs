//! The columns of a query's result.

use std::collections::HashSet;

use turnbuckle::prelude::*;

/// Checks that a row can be an object: that no two columns have the same name.
///
/// # Errors
/// Names the column that is there twice.
pub(crate) fn check_names<T: AsRef<str>>(names: &[T]) -> Result<()> {
    let mut seen = HashSet::new();
    let mut names = names.iter().map(AsRef::as_ref);
    match names.find(|name| !seen.insert(*name)) {
        None => Ok(()),
        Some(name) => Err(Failure::new(format!(
            "the result has two columns with the name {name:?}: give one of them another name with AS"
        ))),
    }
}
