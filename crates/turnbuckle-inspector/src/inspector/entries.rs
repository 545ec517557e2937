//! Views of one entry of the timeline: its lines, matches, blocks, bytes and copies.
//!
//! They index the text of the entry when it is first looked at: about 60 ms for 10 MB.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{Inspector, InspectorError};
use crate::api::{
    Blocks, CopyFormat, EntryDetail, EntryKind, HttpFacts, Matches, TextPiece, TimelineWindow,
    ValueRows,
};
use crate::copy::{as_command, as_curl, as_json};
use crate::timeline::Filter;
use crate::values::{Blob, Document, OpenPaths};

/// The most values whose index is kept, and the most bytes of them. The last one is kept in any case.
const MAX_DOCUMENTS: usize = 8;
const MAX_DOCUMENT_BYTES: usize = 256 << 20;

/// The most bytes of an exchange that is copied as text.
const MAX_COPY_BYTES: usize = 4 << 20;

/// The values whose index is kept, the last used first.
#[derive(Default)]
pub(super) struct Documents {
    kept: Mutex<VecDeque<KeptDocument>>,
    /// Held while a value is indexed, so that nobody indexes it twice.
    indexing: Mutex<()>,
}

struct KeptDocument {
    n: u64,
    range: Option<(usize, usize)>,
    document: Arc<Document>,
}

/// A file to download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// The name that is suggested for the file.
    pub file_name: String,
    /// The content. It is text of a server: a browser must not run it.
    pub bytes: Bytes,
}

/// A value of an entry: the path of a value in the text of the entry, or in a range of it.
struct ValueAddress<'a> {
    range: Option<(usize, usize)>,
    path: &'a str,
}

impl<'a> ValueAddress<'a> {
    /// Reads a range of bytes, `START-END`, or the path of a value.
    fn parse(at: Option<&'a str>) -> Result<Self, InspectorError> {
        let at = at.unwrap_or_default();
        let Some((start, end)) = at.split_once('-') else {
            return Ok(Self {
                range: None,
                path: at,
            });
        };
        let number = |text: &str| text.parse().map_err(|_| InspectorError::NotFound("value"));
        Ok(Self {
            range: Some((number(start)?, number(end)?)),
            path: "",
        })
    }
}

impl Inspector {
    /// Returns the entries that pass a filter, from an index on. A negative index counts from the end.
    #[must_use]
    pub fn query(&self, filter: &str, from: i64, count: usize) -> TimelineWindow {
        self.timeline().query(&Filter::parse(filter), from, count)
    }

    /// Returns an entry in full.
    ///
    /// # Errors
    /// Fails if there is no such entry, or no longer, as all methods with the number of an entry do.
    pub fn entry(&self, n: u64) -> Result<EntryDetail, InspectorError> {
        let detail = self.timeline().detail(n);
        detail.ok_or(InspectorError::NotFound("entry"))
    }

    /// Returns the lines of a value from an index on. `at` is a range of bytes, `START-END`, or the path
    /// of a value; `None` is the whole text.
    ///
    /// # Errors
    /// Fails if there is no such entry or value.
    pub fn rows(
        &self,
        n: u64,
        at: Option<&str>,
        open: &OpenPaths,
        from: usize,
        count: usize,
    ) -> Result<ValueRows, InspectorError> {
        let address = ValueAddress::parse(at)?;
        let document = self.document(n, address.range)?;
        let rows = document.rows_at(address.path, open, from, count);
        rows.ok_or(InspectorError::NotFound("value"))
    }

    /// Returns the index of the line of a path below the value `at`; `None` if the line is not visible.
    ///
    /// # Errors
    /// Fails if there is no such entry or value.
    pub fn row_index(
        &self,
        n: u64,
        at: Option<&str>,
        open: &OpenPaths,
        path: &str,
    ) -> Result<Option<u64>, InspectorError> {
        let address = ValueAddress::parse(at)?;
        let document = self.document(n, address.range)?;
        let index = document.row_index(address.path, open, path);
        index.ok_or(InspectorError::NotFound("value"))
    }

    /// Finds a text in a value, from a byte of it on.
    ///
    /// # Errors
    /// Fails if there is no such entry or value.
    pub fn search(
        &self,
        n: u64,
        at: Option<&str>,
        text: &str,
        from: usize,
    ) -> Result<Matches, InspectorError> {
        let address = ValueAddress::parse(at)?;
        let document = self.document(n, address.range)?;
        let matches = document.search_at(address.path, text, from);
        matches.ok_or(InspectorError::NotFound("value"))
    }

    /// Returns the blocks of content of a response from an index on.
    ///
    /// # Errors
    /// Fails if there is no such entry.
    pub fn blocks(&self, n: u64, from: usize, count: usize) -> Result<Blocks, InspectorError> {
        Ok(self.document(n, None)?.blocks(from, count))
    }

    /// Returns a piece of the text of a block, from an offset that an earlier piece named.
    ///
    /// # Errors
    /// Fails if there is no such entry or block of text.
    pub fn text(&self, n: u64, block: &str, from: usize) -> Result<TextPiece, InspectorError> {
        let piece = self.document(n, None)?.text_piece(block, from);
        piece.ok_or(InspectorError::NotFound("text"))
    }

    /// Returns the bytes of an image, a sound or a file.
    ///
    /// # Errors
    /// Fails if there is no Base64 text at the path.
    pub fn blob(&self, n: u64, path: &str) -> Result<Blob, InspectorError> {
        let blob = self.document(n, None)?.blob(path);
        blob.ok_or(InspectorError::NotFound("file"))
    }

    /// Returns the text of an entry, or of a value in it, as it was on the wire.
    ///
    /// # Errors
    /// Fails if there is no such entry or value.
    pub fn raw(&self, n: u64, at: Option<&str>) -> Result<Download, InspectorError> {
        let address = ValueAddress::parse(at)?;
        let entry = self.entry(n)?.entry;
        let bytes = match address.path {
            "" => self.bytes(n, address.range)?,
            path => {
                let document = self.document(n, None)?;
                let value = document.find(path);
                value.ok_or(InspectorError::NotFound("value"))?.to_bytes()
            }
        };
        let is_json = matches!(
            entry.kind,
            EntryKind::Sent | EntryKind::Received | EntryKind::Log
        );
        let ending = if is_json { "json" } else { "txt" };
        Ok(Download {
            file_name: format!("{}-{n}.{ending}", entry.session),
            bytes,
        })
    }

    /// Returns the exchange of an entry as text to copy.
    ///
    /// # Errors
    /// Fails if the exchange cannot be written in the format.
    pub fn copy(&self, n: u64, format: CopyFormat) -> Result<String, InspectorError> {
        let timeline = self.timeline();
        let detail = self.entry(n)?;
        let entry = &detail.entry;
        if format == CopyFormat::Json && detail.http.is_some() {
            let text = serde_json::to_string_pretty(&detail.http);
            return text.map_err(|error| InspectorError::Refused(error.to_string()));
        }
        let is_request = |n: u64| {
            let entry = timeline.entry(n)?;
            (entry.kind == EntryKind::Sent && entry.id.is_some() && entry.method.is_some())
                .then_some(entry)
        };
        let request = is_request(n).or_else(|| is_request(entry.about?));
        let Some(request) = request else {
            return match format {
                CopyFormat::Json => as_json(&self.bytes_to_copy(n)?, None),
                _ => Err("only a request to the server can be copied as a command".to_owned()),
            }
            .map_err(InspectorError::Refused);
        };
        let message = self.bytes_to_copy(request.n)?;
        let text = match format {
            CopyFormat::Json => {
                let answer = request.answer.map(|n| self.bytes_to_copy(n)).transpose()?;
                as_json(&message, answer.as_deref())
            }
            CopyFormat::Command => as_command(&message, &self.session(&request.session)?.words()),
            CopyFormat::Curl => {
                let http = self.http_facts(request.n).ok_or_else(|| {
                    let sentence = "the request was not sent over HTTP";
                    InspectorError::Refused(sentence.to_owned())
                })?;
                as_curl(&message, &http, &self.session(&request.session)?.address())
            }
        };
        text.map_err(InspectorError::Refused)
    }

    /// Returns the HTTP exchange of a request.
    fn http_facts(&self, n: u64) -> Option<HttpFacts> {
        let timeline = self.timeline();
        let related = timeline.detail(n)?.related;
        related.into_iter().find_map(|n| timeline.detail(n)?.http)
    }

    fn bytes_to_copy(&self, n: u64) -> Result<Bytes, InspectorError> {
        let bytes = self.bytes(n, None)?;
        if bytes.len() > MAX_COPY_BYTES {
            let sentence = "the exchange is too long to be copied: save it".to_owned();
            return Err(InspectorError::Refused(sentence));
        }
        Ok(bytes)
    }

    fn bytes(&self, n: u64, range: Option<(usize, usize)>) -> Result<Bytes, InspectorError> {
        let bytes = self.timeline().bytes(n);
        let bytes = bytes.ok_or(InspectorError::NotFound("entry"))?;
        match range {
            None => Ok(bytes),
            Some((start, end)) if start <= end && end <= bytes.len() => Ok(bytes.slice(start..end)),
            Some(_) => Err(InspectorError::NotFound("value")),
        }
    }

    /// Returns the JSON of an entry, or of a range of its bytes, with its index.
    fn document(
        &self,
        n: u64,
        range: Option<(usize, usize)>,
    ) -> Result<Arc<Document>, InspectorError> {
        if let Some(document) = self.documents.find(n, range) {
            return Ok(document);
        }
        let indexing = &self.documents.indexing;
        let _indexing = indexing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(document) = self.documents.find(n, range) {
            return Ok(document);
        }
        let document = Arc::new(Document::new(self.bytes(n, range)?));
        self.documents.add(KeptDocument {
            n,
            range,
            document: document.clone(),
        });
        Ok(document)
    }
}

impl Documents {
    fn find(&self, n: u64, range: Option<(usize, usize)>) -> Option<Arc<Document>> {
        let mut kept = self.lock();
        let index = kept
            .iter()
            .position(|kept| kept.n == n && kept.range == range)?;
        let found = kept.remove(index)?;
        let document = found.document.clone();
        kept.push_front(found);
        Some(document)
    }

    fn add(&self, document: KeptDocument) {
        let mut kept = self.lock();
        kept.push_front(document);
        let (mut count, mut bytes) = (0, 0);
        kept.retain(|kept| {
            count += 1;
            bytes += kept.document.memory_bytes();
            count == 1 || (count <= MAX_DOCUMENTS && bytes <= MAX_DOCUMENT_BYTES)
        });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<KeptDocument>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
