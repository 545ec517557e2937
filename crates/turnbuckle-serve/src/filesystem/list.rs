//! Directories that are listed, walked and searched, and what is known of a path.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{Dir, Metadata};
use serde::Serialize;
use turnbuckle::data;

use super::access::{Location, open_inner};
use super::limits::Budget;
use super::pattern::{Excluded, parse};
use crate::fault::Result;

/// An entry of a directory.
struct Entry {
    name: OsString,
    /// True for a directory, not for a symlink to one.
    is_dir: bool,
}

impl Entry {
    fn name(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    fn label(&self) -> &'static str {
        if self.is_dir { "[DIR]" } else { "[FILE]" }
    }
}

/// Reads the entries of a directory, in the order of the bytes of their names.
fn entries(dir: &Dir, budget: &mut Budget) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in dir.entries()? {
        budget.take_entry()?;
        let entry = entry?;
        entries.push(Entry {
            is_dir: entry.file_type()?.is_dir(),
            name: entry.file_name(),
        });
    }
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(entries)
}

/// Lists a directory, one entry a line.
pub(super) fn plain(location: &Location<'_>, budget: &mut Budget) -> Result<String> {
    let mut text = String::new();
    for entry in entries(&location.open_dir()?, budget)? {
        if !text.is_empty() {
            text.push('\n');
        }
        let name = entry.name();
        budget.take_bytes(name.len() + 8)?;
        text.extend([entry.label(), " ", &*name]);
    }
    Ok(text)
}

/// The order of entries with their sizes.
#[data(rename_all = "lowercase")]
pub(super) enum SortBy {
    Name,
    Size,
}

/// Lists a directory with the sizes of its files.
pub(super) fn with_sizes(
    location: &Location<'_>,
    sort_by: SortBy,
    budget: &mut Budget,
) -> Result<String> {
    let dir = location.open_dir()?;
    let sized = |entry: Entry| {
        // A symlink has the size of its target, if that is inside.
        let size = dir
            .metadata(&entry.name)
            .map_or(0, |metadata| metadata.len());
        (size, entry.name(), entry)
    };
    let mut listed: Vec<_> = entries(&dir, budget)?.into_iter().map(sized).collect();
    match sort_by {
        SortBy::Name => listed.sort_by_cached_key(|(_, name, _)| collation_key(name)),
        SortBy::Size => listed.sort_by_key(|(size, ..)| std::cmp::Reverse(*size)),
    }
    let mut text = String::new();
    let (mut files, mut bytes) = (0_usize, 0_u64);
    for (size, name, entry) in &listed {
        let shown = if entry.is_dir {
            String::new()
        } else {
            format_size(*size)
        };
        let padding = 30_usize.saturating_sub(name.encode_utf16().count());
        budget.take_bytes(name.len() + padding + 20)?;
        let _ = write!(text, "{} {name}{:padding$} ", entry.label(), "");
        if !entry.is_dir {
            let _ = write!(text, "{shown:>10}");
            files += 1;
            bytes = bytes.saturating_add(*size);
        }
        text.push('\n');
    }
    let directories = listed.len() - files;
    let bytes = format_size(bytes);
    let _ = write!(
        text,
        "\nTotal: {files} files, {directories} directories\nCombined size: {bytes}"
    );
    Ok(text)
}

/// Returns what orders names as people do: without regard to case first, small letters before capital ones.
fn collation_key(name: &str) -> (String, String) {
    let swapped = name.chars().map(|c| match c.is_lowercase() {
        true => c.to_ascii_uppercase(),
        false => c.to_ascii_lowercase(),
    });
    (name.to_lowercase(), swapped.collect())
}

/// Formats a size in powers of 1,024.
fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let mut size = bytes as f64 / 1024.0;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = larger;
    }
    format!("{size:.2} {unit}")
}

/// A file or directory of a tree.
#[derive(Serialize)]
struct TreeEntry {
    name: String,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<Vec<Self>>,
}

/// Lists a directory and those in it, as JSON.
pub(super) fn tree(
    location: &Location<'_>,
    excluded: &[String],
    budget: &mut Budget,
) -> Result<String> {
    let excluded = Excluded::names(excluded)?;
    let tree = branch(&location.open_dir()?, Path::new(""), &excluded, 0, budget)?;
    Ok(serde_json::to_string_pretty(&tree)?)
}

fn branch(
    dir: &Dir,
    path: &Path,
    excluded: &Excluded,
    depth: usize,
    budget: &mut Budget,
) -> Result<Vec<TreeEntry>> {
    budget.check_depth(depth)?;
    let mut tree = Vec::new();
    for entry in entries(dir, budget)? {
        let path = path.join(&entry.name);
        if excluded.has(&path.to_string_lossy()) {
            continue;
        }
        // The JSON of an entry is indented by its depth.
        budget.take_bytes(entry.name.len() + 64 + 8 * depth)?;
        // A directory that cannot be opened, or is one no more, is shown without what is in it.
        let children = match entry.is_dir.then(|| open_inner(dir, &entry.name)) {
            Some(Ok(inner)) => Some(branch(&inner, &path, excluded, depth + 1, budget)?),
            Some(Err(_)) => Some(Vec::new()),
            None => None,
        };
        tree.push(TreeEntry {
            name: entry.name(),
            r#type: if entry.is_dir { "directory" } else { "file" },
            children,
        });
    }
    Ok(tree)
}

/// Finds files and directories whose path below a directory matches a pattern, one path a line.
pub(super) fn search(
    location: &Location<'_>,
    pattern: &str,
    excluded: &[String],
    budget: &mut Budget,
) -> Result<String> {
    let pattern = parse(pattern)?;
    let excluded = Excluded::paths(excluded)?;
    let root = location.path();
    let mut found = String::new();
    let mut open = vec![(location.open_dir()?, PathBuf::new(), 0)];
    while let Some((dir, path, depth)) = open.pop() {
        // What cannot be read is passed over.
        let mut inner = Vec::new();
        for entry in entries(&dir, budget)? {
            let path = path.join(&entry.name);
            let text = path.to_string_lossy();
            if excluded.has(&text) {
                continue;
            }
            if pattern.is_match(&*text) {
                let shown = root.join(&path).display().to_string();
                budget.take_bytes(shown.len() + 1)?;
                found.extend([&*shown, "\n"]);
            }
            if entry.is_dir
                && let Ok(opened) = open_inner(&dir, &entry.name)
            {
                budget.check_depth(depth + 1)?;
                inner.push((opened, path, depth + 1));
            }
        }
        open.extend(inner.into_iter().rev());
    }
    found.pop();
    if found.is_empty() {
        return Ok("No matches found".to_owned());
    }
    Ok(found)
}

/// Describes a file or directory.
pub(super) fn info(location: &Location<'_>) -> Result<String> {
    let (dir, below) = location.below();
    let metadata = dir
        .metadata(below)
        .map_err(|error| location.failure(&error))?;
    let time = |time: std::io::Result<cap_std::time::SystemTime>| {
        let time = time.map_or(SystemTime::UNIX_EPOCH, cap_std::time::SystemTime::into_std);
        humantime::format_rfc3339_millis(time)
    };
    Ok(format!(
        "size: {}\ncreated: {}\nmodified: {}\naccessed: {}\nisDirectory: {}\nisFile: {}\npermissions: {}",
        metadata.len(),
        time(metadata.created()),
        time(metadata.modified()),
        time(metadata.accessed()),
        metadata.is_dir(),
        metadata.is_file(),
        permissions(&metadata)
    ))
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> String {
    use cap_std::fs::PermissionsExt as _;
    format!("{:03o}", metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn permissions(metadata: &Metadata) -> String {
    let read_only = metadata.permissions().readonly();
    if read_only { "444" } else { "666" }.to_owned()
}

#[cfg(test)]
mod tests {
    use super::format_size;

    #[test]
    fn sizes_have_two_digits_from_a_kilobyte_on() {
        let sizes = [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.00 KB"),
            (1536, "1.50 KB"),
            (1 << 20, "1.00 MB"),
            (5 << 40, "5.00 TB"),
            (u64::MAX, "16777216.00 TB"),
        ];
        for (bytes, text) in sizes {
            assert_eq!(format_size(bytes), text);
        }
    }
}
