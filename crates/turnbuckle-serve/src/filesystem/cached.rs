//! Small files that the system has in memory, which are read at once, without a thread for blocking work.
//!
//! Everything else is left to [`read`](super::read): big files, those on a disk that has to be asked or on a network,
//! symlinks, and errors.

use std::io::IoSliceMut;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat2};
use rustix::io::{ReadWriteFlags, preadv2};

/// The most bytes of a file that is read at once.
const MAX_BYTES: usize = 64 << 10;

/// Returns the content of a file below a directory. The path of the directory has no symlinks.
pub(super) fn read(directory: &Path, below: &Path) -> Option<Vec<u8>> {
    let dir = open(CWD, directory, OFlags::PATH, ResolveFlags::empty())?;
    if !is_local(&dir) {
        return None;
    }
    let open_below = |how| {
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV;
        open(dir.as_fd(), below, how, inside)
    };
    // Opening a device may do something already.
    size_of(&open_below(OFlags::PATH)?)?;
    // Opening a pipe that came meanwhile would wait for its other end.
    let file = open_below(OFlags::RDONLY | OFlags::NONBLOCK)?;
    let size = size_of(&file)?;
    let mut bytes = vec![0; size + 1];
    let buffers = &mut [IoSliceMut::new(&mut bytes)];
    let read = preadv2(&file, buffers, 0, ReadWriteFlags::NOWAIT).ok()?;
    bytes.truncate(read);
    // Otherwise a part is not in memory, or the file has changed meanwhile.
    (read == size).then_some(bytes)
}

/// Opens a path without symlinks, with all names on the way in memory.
fn open(dir: BorrowedFd<'_>, path: &Path, how: OFlags, more: ResolveFlags) -> Option<OwnedFd> {
    let resolve = ResolveFlags::CACHED | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    openat2(
        dir,
        path,
        how | OFlags::CLOEXEC,
        Mode::empty(),
        resolve | more,
    )
    .ok()
}

/// Returns whether the files below a directory are on this machine, so that opening one whose name is in memory waits for
/// nobody.
fn is_local(dir: impl AsFd) -> bool {
    /// The numbers of btrfs, ext2 to ext4, f2fs and XFS in statfs(2).
    const LOCAL: [u32; 4] = [0x9123_683e, 0xef53, 0xf2f5_2010, 0x5846_5342];
    let kind = fstatfs(dir).map(|about| u32::try_from(about.f_type));
    kind.is_ok_and(|kind| kind.is_ok_and(|kind| LOCAL.contains(&kind)))
}

/// Returns the size of a regular file that is small.
fn size_of(file: &OwnedFd) -> Option<usize> {
    let about = fstat(file).ok()?;
    let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
    let size = usize::try_from(about.st_size).ok()?;
    (is_file && size <= MAX_BYTES).then_some(size)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;

    use rustix::fs::mkfifoat;

    use super::*;

    #[test]
    fn small_files_are_read_and_nothing_else() {
        let (outside, served) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| served.path().join(name);
        let secret = outside.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        fs::create_dir(at("inner")).unwrap();
        fs::write(at("inner/a.txt"), "a").unwrap();
        fs::write(at("empty"), "").unwrap();
        fs::write(at("largest"), vec![b'x'; MAX_BYTES]).unwrap();
        fs::write(at("big"), vec![b'x'; MAX_BYTES + 1]).unwrap();
        symlink(&secret, at("leads-out")).unwrap();
        symlink(outside.path(), at("out")).unwrap();
        symlink("inner", at("in")).unwrap();
        mkfifoat(CWD, at("pipe"), Mode::RWXU).unwrap();
        let directory = served.path().canonicalize().unwrap();
        // Temporary files may be in memory alone, where the system reads nothing at once.
        let is_local = is_local(File::open(&directory).unwrap());
        for (name, bytes) in [("inner/a.txt", 1), ("empty", 0), ("largest", MAX_BYTES)] {
            let read = read(&directory, Path::new(name)).filter(|_| is_local);
            let bytes = is_local.then_some(bytes);
            assert_eq!(read.map(|read| read.len()), bytes, "{name}");
        }
        for name in [
            "big",
            "leads-out",
            "out/secret",
            "in/a.txt",
            "pipe",
            "inner",
            "missing",
            "..",
            "",
            ".",
        ] {
            assert!(read(&directory, Path::new(name)).is_none(), "{name}");
        }
        let linked = at("in");
        assert!(read(&linked, Path::new("a.txt")).is_none());
        let outward = Path::new("..").join(secret.strip_prefix("/").unwrap());
        assert!(read(&directory, &outward).is_none() && read(&directory, &secret).is_none());
    }
}
