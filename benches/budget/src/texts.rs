//! The large texts, the same in our answers and in the floors'.

/// The bytes of [`prose`].
const PROSE: usize = 100_000;

/// The bytes of [`document`].
const DOCUMENT: usize = 64 << 10;

/// The bytes of [`escapes`].
const ESCAPES: usize = 32 << 10;

/// The URI of the resource that is a [`document`].
pub(crate) const DOCUMENT_URI: &str = "text://document";

/// Returns prose: a paragraph every 460 bytes, two quotation marks in each.
pub(crate) fn prose() -> String {
    paragraphs(PROSE)
}

/// Returns what a file holds.
pub(crate) fn document() -> String {
    paragraphs(DOCUMENT)
}

/// Returns text that is mostly escapes once it is JSON.
pub(crate) fn escapes() -> String {
    "\n\t\"\\x".chars().cycle().take(ESCAPES).collect()
}

fn paragraphs(bytes: usize) -> String {
    let sentence = "A turnbuckle couples two rods with opposite threads. ";
    let mut paragraph = format!("He said: \"{}\"\n", sentence.repeat(8).trim_end());
    paragraph.push_str("So it is.\n");
    let mut text = paragraph.repeat(bytes / paragraph.len() + 1);
    text.truncate(bytes);
    text
}
