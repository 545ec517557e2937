//! Files that are written, and files and directories that are moved.

use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};

use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::access::{Location, open_regular};
use crate::fault::{Fault, Result};

/// The attempts to find a name for a temporary file.
const ATTEMPTS: u32 = 16;

/// Writes a file as a whole: a reader sees the old content or the new one, and a symlink in its place is replaced, not
/// followed. Fails if the file is expected to have some content and another program has changed it.
pub(super) fn file(location: &Location<'_>, content: &str, expected: Option<&str>) -> Result<()> {
    let (parent, name) = location.open_parent()?;
    let old = match parent.symlink_metadata(&name) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(_) => return Err(location.failure(&io::Error::other("it is no regular file"))),
        Err(_) => None,
    };
    let replaced = replace(&parent, &name, content, old.as_ref(), expected);
    replaced.map_err(|error| location.failure(&error))
}

fn replace(
    parent: &Dir,
    name: &OsStr,
    content: &str,
    old: Option<&Metadata>,
    expected: Option<&str>,
) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // What only some may read is never readable by others.
    #[cfg(unix)]
    if old.is_some() {
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let (temporary, mut file) = (0..ATTEMPTS)
        .find_map(|attempt| {
            let temporary = format!(".turnbuckle-{}-{attempt}.tmp", std::process::id());
            match parent.open_with(&temporary, &options) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => None,
                opened => Some(opened.map(|file| (temporary, file))),
            }
        })
        .unwrap_or_else(|| Err(io::Error::other("too many temporary files are left over")))?;
    let written = (|| {
        file.write_all(content.as_bytes())?;
        if let Some(old) = old {
            #[cfg(unix)]
            {
                use cap_std::fs::MetadataExt as _;
                crate::shared::owner::keep_owner(&file, old.uid(), old.gid());
            }
            file.set_permissions(old.permissions())?;
        }
        file.sync_all()?;
        drop(file);
        if let Some(expected) = expected
            && !has_content(parent, name, expected)?
        {
            let reason = "another program has changed the file meanwhile, and nothing was written: read it again";
            return Err(io::Error::other(reason));
        }
        parent.rename(&temporary, parent, name)
    })();
    if written.is_err() {
        let _ = parent.remove_file(&temporary);
    }
    written
}

/// Returns whether a file has this content.
fn has_content(parent: &Dir, name: &OsStr, expected: &str) -> io::Result<bool> {
    let (file, size) = open_regular(parent, name.as_ref())?;
    if size != expected.len() as u64 {
        return Ok(false);
    }
    let mut content = Vec::with_capacity(expected.len() + 1);
    file.take(size + 1).read_to_end(&mut content)?;
    Ok(content == expected.as_bytes())
}

/// Moves a file or directory to a place where nothing is.
pub(super) fn rename(source: &Location<'_>, destination: &Location<'_>) -> Result<()> {
    let exists = || {
        Fault::new(format!(
            "the destination exists: {}",
            destination.path().display()
        ))
    };
    if destination.exists() {
        return Err(exists());
    }
    let (from, from_name) = source.open_parent()?;
    let (to, to_name) = destination.open_parent()?;
    match rename_to_nothing(&from, &from_name, &to, &to_name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists()),
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => Err(Fault::new(format!(
            "{} is on another file system than {}, and a move cannot copy: write the file anew there",
            destination.path().display(),
            source.path().display()
        ))),
        moved => moved.map_err(|error| source.failure(&error)),
    }
}

/// Renames, and never replaces what came to the destination meanwhile.
#[cfg(target_os = "linux")]
fn rename_to_nothing(from: &Dir, from_name: &OsStr, to: &Dir, to_name: &OsStr) -> io::Result<()> {
    use rustix::fs::{RenameFlags, renameat_with};
    match renameat_with(from, from_name, to, to_name, RenameFlags::NOREPLACE) {
        // Some file systems do not know the flag.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            from.rename(from_name, to, to_name)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(not(target_os = "linux"))]
fn rename_to_nothing(from: &Dir, from_name: &OsStr, to: &Dir, to_name: &OsStr) -> io::Result<()> {
    from.rename(from_name, to, to_name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::access::Directories;
    use super::*;

    #[test]
    fn a_file_that_another_program_changes_meanwhile_stays() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a");
        let directories = Directories::open(&[scratch.path().to_owned()]).unwrap();
        for now in ["two", "longer", ""] {
            fs::write(&path, now).unwrap();
            let location = directories.locate("a").unwrap();
            let error = file(&location, "new", Some("one")).unwrap_err();
            assert!(error.to_string().contains("meanwhile"), "{error}");
            assert_eq!(fs::read_to_string(&path).unwrap(), now);
            assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
            file(&location, "new", Some(now)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        }
    }
}
