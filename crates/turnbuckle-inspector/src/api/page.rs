//! The built page, embedded in the program.

/// A file that the browser loads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageFile {
    /// The media type, for `Content-Type`.
    pub content_type: &'static str,
    /// The coding of the bytes, for `Content-Encoding`, if they are packed.
    pub encoding: Option<&'static str>,
    /// The content.
    pub bytes: &'static [u8],
}

/// Returns the file at a path of the page, such as `/inspector.js`; `/` is the page itself.
#[must_use]
pub fn page(path: &str) -> Option<PageFile> {
    let (content_type, encoding, bytes): (_, _, &[u8]) = match path {
        "/" => (
            "text/html; charset=utf-8",
            None,
            include_bytes!("../../page/index.html"),
        ),
        "/inspector.js" => (
            "text/javascript; charset=utf-8",
            Some("gzip"),
            include_bytes!("../../page/inspector.js.gz"),
        ),
        "/inspector.css" => (
            "text/css; charset=utf-8",
            Some("gzip"),
            include_bytes!("../../page/inspector.css.gz"),
        ),
        _ => return None,
    };
    Some(PageFile {
        content_type,
        encoding,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::page;

    /// The page asks for no file that is not there, and for none of another host.
    #[test]
    fn the_files_that_the_page_names_are_embedded() {
        let html = std::str::from_utf8(page("/").unwrap().bytes).unwrap();
        let named: Vec<_> = ["src=\"", "href=\""]
            .iter()
            .flat_map(|attribute| html.split(attribute).skip(1))
            .filter_map(|rest| rest.split('"').next())
            .filter(|address| !address.starts_with("data:"))
            .collect();
        assert!(named.len() >= 2, "{named:?}");
        for address in named {
            assert!(page(address).is_some(), "{address}");
        }
    }
}
