//! The temporary file of the timeline, for bytes that no longer fit into memory.
//!
//! The bytes go to the newer of two files, each with half of the space. When it is full, the older one
//! is deleted with all that it has.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// Two files of which the newer is written.
pub(super) struct Spill {
    max_bytes: u64,
    generation: u64,
    files: Vec<SpillFile>,
}

struct SpillFile {
    file: Arc<Mutex<File>>,
    length: u64,
}

/// The place of bytes in a file, which stays readable as long as it is held.
#[derive(Clone)]
pub(super) struct SpilledBytes {
    file: Arc<Mutex<File>>,
    generation: u64,
    offset: u64,
    length: usize,
}

impl Spill {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            generation: 0,
            files: Vec::new(),
        }
    }

    /// Writes bytes to the newer file.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<SpilledBytes> {
        let size = bytes.len() as u64;
        if size > self.max_bytes / 2 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let is_full = |newer: &SpillFile| newer.length + size > self.max_bytes / 2;
        if self.files.last().is_none_or(is_full) {
            // The file has no name, so that it is gone with the process.
            let file = SpillFile {
                file: Arc::new(Mutex::new(tempfile::tempfile()?)),
                length: 0,
            };
            self.files.push(file);
            self.generation += 1;
            if self.files.len() > 2 {
                self.files.remove(0);
            }
        }
        let generation = self.generation;
        let newer = self.files.last_mut().ok_or(io::ErrorKind::NotFound)?;
        let offset = newer.length;
        {
            let mut file = newer.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(bytes)?;
        }
        newer.length += size;
        Ok(SpilledBytes {
            file: newer.file.clone(),
            generation,
            offset,
            length: bytes.len(),
        })
    }

    /// Returns whether bytes are in one of the two files.
    pub(super) fn has(&self, bytes: &SpilledBytes) -> bool {
        bytes.generation + self.files.len() as u64 > self.generation
    }
}

impl SpilledBytes {
    /// Reads the bytes.
    pub(super) fn read(&self) -> io::Result<Bytes> {
        let mut bytes = vec![0; self.length];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.offset))?;
        file.read_exact(&mut bytes)?;
        Ok(Bytes::from(bytes))
    }
}
