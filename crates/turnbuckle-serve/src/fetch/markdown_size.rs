//! The size of a page as Markdown, estimated before it is converted.
//!
//! Each line of a quote or list begins with marks, and the columns of a table are filled with spaces, so a small page
//! can become a text without end.

use markup5ever_rcdom::{Handle, NodeData};

/// The bytes that an element adds to its text: marks and empty lines around it.
const MARK_BYTES: usize = 8;

/// The bytes in front of each line of a quote, or of a list, whose numbers may be long.
const INDENT_BYTES: usize = 13;

/// Returns about how many bytes of Markdown a page becomes, and never much less. Calls itself for each level.
pub(super) fn estimate(root: &Handle) -> usize {
    size_of(root).bytes
}

/// The size of a part of a page.
#[derive(Default)]
struct Size {
    bytes: usize,
    lines: usize,
    /// The rows of a part of a table, the bytes of the widest cell of each column, and true if it has a header.
    rows: usize,
    columns: Vec<usize>,
    has_header: bool,
}

fn size_of(node: &Handle) -> Size {
    let mut size = Size::default();
    let name = match &node.data {
        NodeData::Text { contents } => {
            let text = contents.borrow();
            size.bytes = text.len();
            size.lines = text.bytes().filter(|byte| *byte == b'\n').count();
            return size;
        }
        NodeData::Element { name, attrs, .. } => {
            let values = attrs.borrow();
            let values = values.iter().map(|attribute| attribute.value.len());
            (size.bytes, size.lines) = (values.sum::<usize>() + MARK_BYTES, 1);
            &*name.local
        }
        _ => "",
    };
    for child in node.children.borrow().iter() {
        let part = size_of(child);
        size.bytes = size.bytes.saturating_add(part.bytes);
        size.lines += part.lines;
        size.rows += part.rows;
        size.has_header |= part.has_header;
        if name == "tr" {
            size.columns.extend(part.columns);
        } else {
            let columns = size.columns.len().max(part.columns.len());
            size.columns.resize(columns, 0);
            for (widest, bytes) in size.columns.iter_mut().zip(part.columns) {
                *widest = bytes.max(*widest);
            }
        }
    }
    match name {
        "blockquote" | "li" => {
            let indent_bytes = size.lines.saturating_mul(INDENT_BYTES);
            size.bytes = size.bytes.saturating_add(indent_bytes);
        }
        "td" => size.columns = vec![size.bytes],
        "th" => (size.columns, size.has_header) = (vec![size.bytes], true),
        "thead" => size.has_header = true,
        "tr" => size.rows = 1,
        "table" => {
            let columns = std::mem::take(&mut size.columns).into_iter();
            let row_bytes = columns.fold(0, usize::saturating_add);
            // A line below the header, and the rows.
            let lines = std::mem::take(&mut size.rows) + 1;
            if std::mem::take(&mut size.has_header) {
                size.bytes = size.bytes.saturating_add(lines.saturating_mul(row_bytes));
            }
        }
        _ => {}
    }
    size
}
