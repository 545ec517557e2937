//! A copy of a workspace that is cheap to bring up to date: files that did not change keep their
//! times, so cargo builds them once.

use std::fs;
use std::io;
use std::path::Path;

use crate::tree::MADE;

/// Makes `copy` equal to `original`, leaving out what tools made.
pub(super) fn mirror(original: &Path, copy: &Path) -> Result<(), String> {
    mirror_folder(original, copy).map_err(|error| {
        format!(
            "copying {} to {}: {error}",
            original.display(),
            copy.display()
        )
    })
}

/// Links what stands next to `original` under the given names next to `copy`.
pub(super) fn link_beside(original: &Path, copy: &Path, names: &[String]) -> Result<(), String> {
    for name in names {
        let (from, to) = (original.with_file_name(name), copy.with_file_name(name));
        if from.exists() && !to.exists() {
            std::os::unix::fs::symlink(&from, &to)
                .map_err(|error| format!("linking {}: {error}", to.display()))?;
        }
    }
    Ok(())
}

fn mirror_folder(original: &Path, copy: &Path) -> io::Result<()> {
    fs::create_dir_all(copy)?;
    for entry in fs::read_dir(copy)? {
        let entry = entry?;
        if !original.join(entry.file_name()).exists() {
            let gone = entry.path();
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(gone)?
            } else {
                fs::remove_file(gone)?
            }
        }
    }
    for entry in fs::read_dir(original)? {
        let entry = entry?;
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            let made = name
                .to_str()
                .is_some_and(|name| MADE.contains(&name) || name.starts_with("target-"));
            if !made {
                mirror_folder(&entry.path(), &copy.join(name))?;
            }
        } else if kind.is_file() {
            let to = copy.join(name);
            let text = fs::read(entry.path())?;
            if fs::read(&to).ok().as_deref() != Some(&text) {
                fs::write(&to, text)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::target;

    #[test]
    fn a_copy_follows_its_original_and_leaves_out_what_was_made() {
        let folder = target().join("mutants-copy-sample");
        let _ = fs::remove_dir_all(&folder);
        let (original, copy) = (folder.join("original"), folder.join("copies/copy"));
        fs::create_dir_all(original.join("src")).unwrap();
        fs::create_dir_all(original.join("target")).unwrap();
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(original.join("src/a.rs"), "one").unwrap();
        fs::write(original.join("target/x"), "").unwrap();
        mirror(&original, &copy).unwrap();
        let written = fs::metadata(copy.join("src/a.rs"))
            .unwrap()
            .modified()
            .unwrap();
        assert!(!copy.join("target").exists());

        fs::write(original.join("src/b.rs"), "two").unwrap();
        fs::write(copy.join("src/left.rs"), "").unwrap();
        mirror(&original, &copy).unwrap();
        assert_eq!(fs::read_to_string(copy.join("src/b.rs")).unwrap(), "two");
        assert!(!copy.join("src/left.rs").exists());
        assert_eq!(
            fs::metadata(copy.join("src/a.rs"))
                .unwrap()
                .modified()
                .unwrap(),
            written
        );

        link_beside(&original, &copy, &["data".to_owned(), "absent".to_owned()]).unwrap();
        assert!(folder.join("copies/data").is_dir());
        fs::remove_dir_all(&folder).unwrap();
    }
}
