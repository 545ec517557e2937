//! The steps of a login as a checklist.

use turnbuckle::auth::client::Transcript;

use crate::output::{Style, sanitize};

/// Renders the steps, each with its answer, the decision that followed, and the fix if it failed.
pub(crate) fn render_checklist(
    transcript: &Transcript,
    style: impl Fn(Style, &str) -> String,
) -> String {
    let mut lines = Vec::new();
    for step in &transcript.steps {
        let mark = if step.succeeded {
            style(Style::Good, "ok    ")
        } else {
            style(Style::Error, "FAILED")
        };
        let name = style(Style::Strong, &step.step.to_string());
        lines.push(format!("{mark}  {name}: {}", sanitize(&step.request)));
        let mut detail = |label: &str, text: &str| {
            if !text.is_empty() {
                let label = style(Style::Dim, &format!("{label:<7}"));
                lines.push(format!("        {label} {}", sanitize(text)));
            }
        };
        detail("answer", &step.response);
        detail("then", &step.decision);
        if let Some(advice) = &step.advice {
            let label = style(Style::Warning, "fix    ");
            lines.push(format!("        {label} {}", sanitize(advice)));
        }
    }
    lines.join("\n")
}
