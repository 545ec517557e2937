//! The character encoding of a page.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use turnbuckle_types::base::text::shorten_to;

/// The bytes of a page in which `<meta>` elements can say its encoding, as for browsers.
const MAX_PRESCAN_BYTES: usize = 1_024;

/// The characters of the name of an encoding in an error.
const MAX_SHOWN_CHARS: usize = 40;

/// Decodes a page by its byte order mark, the `charset` of its media type, or its `<meta>` elements, in this order.
/// A page that says nothing is UTF-8.
///
/// # Errors
/// When it has an encoding that is not known.
pub(super) fn decode(bytes: &[u8], media_type: &str) -> Result<String, String> {
    let decoded = |encoding: &'static Encoding, bytes| {
        let (text, _) = encoding.decode_without_bom_handling(bytes);
        Ok(text.into_owned())
    };
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(bytes) {
        return decoded(encoding, &bytes[mark_bytes..]);
    }
    let may_have_meta = media_type.is_empty() || media_type.contains("html");
    let meta = || meta_charset(bytes).filter(|_| may_have_meta);
    let declared = charset(media_type).or_else(meta);
    let Some(label) = declared else {
        return decoded(UTF_8, bytes);
    };
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        // The bytes in which it says so are not UTF-16.
        Some(encoding)
            if [UTF_16BE, UTF_16LE].contains(&encoding) && charset(media_type).is_none() =>
        {
            decoded(UTF_8, bytes)
        }
        Some(encoding) => decoded(encoding, bytes),
        None => String::from_utf8(bytes.to_vec()).map_err(|_| {
            let label = shorten_to(&label, MAX_SHOWN_CHARS);
            format!("it has the charset {label:?}, which is not known")
        }),
    }
}

/// Returns the charset that the `<meta>` elements at the beginning of a page name.
fn meta_charset(bytes: &[u8]) -> Option<String> {
    let beginning = &bytes[..bytes.len().min(MAX_PRESCAN_BYTES)];
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let mut rest = &*text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        let end = if rest.starts_with("<!--") { "-->" } else { ">" };
        let (tag, after) = rest.split_once(end)?;
        if tag.starts_with("<meta")
            && let Some(label) = charset(tag)
        {
            return Some(label);
        }
        rest = after;
    }
    None
}

/// Returns the value behind `charset=`.
fn charset(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (_, value) = text.split_once("charset")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let is_end = |char: char| char.is_ascii_whitespace() || ['"', '\'', ';', '/'].contains(&char);
    let label = value.split(is_end).next()?;
    (!label.is_empty()).then(|| label.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_decoded_as_it_says() {
        let utf_16 =
            |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let with_mark = [b"\xff\xfe".to_vec(), utf_16("Häuser")].concat();
        for (bytes, media_type, text) in [
            ("Häuser".as_bytes(), "text/html", "Häuser"),
            (b"\xef\xbb\xbfa", "text/html; charset=iso-8859-1", "a"),
            (b"H\xe4user", "text/html; charset=ISO-8859-1", "Häuser"),
            (b"H\xe4user", "text/plain;charset=\"latin1\"", "Häuser"),
            (b"\x93\xfa\x96{", "text/plain; charset=Shift_JIS", "日本"),
            (&with_mark, "text/html; charset=utf-8", "Häuser"),
            (&utf_16("Häuser"), "text/html; charset=utf-16le", "Häuser"),
            // Valid text is read, whatever it is called.
            ("Häuser".as_bytes(), "text/html; charset=utf8mb4", "Häuser"),
            // Bytes of no encoding, such as those of an image.
            (b"a\xff", "image/png", "a\u{fffd}"),
        ] {
            assert_eq!(
                decode(bytes, media_type).as_deref(),
                Ok(text),
                "{media_type}"
            );
        }
    }

    #[test]
    fn meta_elements_say_the_encoding_of_html() {
        for head in [
            "<meta charset=windows-1252>",
            "<!-- <meta charset=utf-8> > --><META\nCharset = 'windows-1252'/>",
            "<meta name=a><meta http-equiv=\"Content-Type\" content=\"text/html; charset=windows-1252\">",
        ] {
            let page = [head.as_bytes(), b"H\xe4user"].concat();
            for media_type in ["text/html", "application/xhtml+xml", ""] {
                let text = decode(&page, media_type).unwrap();
                assert!(text.ends_with("Häuser"), "{head}: {text}");
            }
            assert!(
                decode(&page, "text/plain")
                    .unwrap()
                    .ends_with("H\u{fffd}user")
            );
            let declared = decode(&page, "text/html; charset=iso-8859-7").unwrap();
            assert!(declared.ends_with("Hδuser"), "{declared}");
        }
        let text = decode("<meta charset=utf-16>Häuser".as_bytes(), "text/html").unwrap();
        assert!(text.ends_with("Häuser"), "{text}");
    }

    #[test]
    fn an_unknown_encoding_is_named() {
        for media_type in [
            "text/html; charset=x-mine",
            "text/html; charset=iso-2022-kr",
        ] {
            let error = decode(b"H\xe4user", media_type).unwrap_err();
            let (_, label) = media_type.split_once('=').unwrap();
            assert!(error.contains(label), "{error}");
        }
    }
}
