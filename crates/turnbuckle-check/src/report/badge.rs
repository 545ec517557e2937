//! A badge for a README: an SVG image, and the JSON that shields.io makes an image of.

use std::io::{self, Write};

use serde_json::json;

use super::markup::Text;
use super::{Report, Totals};

const LABEL: &str = "MCP check";

/// The text of the badge, and its colours: the name that shields.io knows, and that of the image.
struct Badge {
    message: String,
    name: &'static str,
    colour: &'static str,
}

impl Badge {
    fn new(report: &Report) -> Self {
        let totals = report.totals();
        let is_whole = report.cases.iter().all(|case| case.stopped.is_none());
        let (message, (name, colour)) = match totals {
            _ if report.cases.is_empty() || !is_whole => {
                ("incomplete".to_owned(), ("lightgrey", "#6e7781"))
            }
            Totals { failed: 1.., .. } => (
                format!("{} of {} fail", totals.failed, totals.checks),
                ("red", "#c6372c"),
            ),
            Totals { warned: 1.., .. } => (
                format!("{} pass, {} warn", totals.passed, totals.warned),
                ("yellow", "#9a6700"),
            ),
            _ => (
                format!("{} pass", totals.passed),
                ("brightgreen", "#1a7f37"),
            ),
        };
        Self {
            message,
            name,
            colour,
        }
    }
}

/// Writes an SVG image.
///
/// # Errors
/// When `out` fails.
pub fn write_svg(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let badge = Badge::new(report);
    let (left, right) = (width(LABEL), width(&badge.message));
    let (whole, message) = (left + right, Text::new(&badge.message));
    let colour = badge.colour;
    let (middle_left, middle_right) = (left / 2, left + right / 2);
    writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="20" role="img" aria-label="{LABEL}: {message}">
<title>{LABEL}: {message}</title>
<clipPath id="r"><rect width="{whole}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{middle_left}" y="14" textLength="{}">{LABEL}</text><text x="{middle_right}" y="14" textLength="{}">{message}</text>
</g></svg>"##,
        left - PADDING,
        right - PADDING
    )
}

/// Writes the JSON of an endpoint for shields.io.
///
/// # Errors
/// When `out` fails.
pub fn write_json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let badge = Badge::new(report);
    let shield = json!({
        "schemaVersion": 1,
        "label": LABEL,
        "message": badge.message,
        "color": badge.name,
    });
    writeln!(out, "{shield}")
}

/// The space around a text, in pixels.
const PADDING: usize = 12;

/// Returns the width of a text with the space around it, in pixels.
fn width(text: &str) -> usize {
    text.chars().count() * 13 / 2 + PADDING
}
