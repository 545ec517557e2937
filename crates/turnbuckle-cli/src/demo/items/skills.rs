//! Skills: one with folders, one in another, and one that is made for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use turnbuckle::skills::InvalidSkill;
use turnbuckle::skills::server::{SkillBuilder, Skills};
use turnbuckle::types::CacheScope;

use super::LIST_TTL;

const PDF: &str = "\
# PDF processing

- Extract text with `scripts/extract.py`.
- Fill in forms by [the rules](references/FORMS.md).
- Choose a matching template from `templates/`.
";

const BILLING: &str = "\
# Billing

Every amount is in cents. Refunds are a skill of their own, in `refunds/`.
";

const REFUNDS: &str = "\
# Refunds

Follow [the policy](references/policy.md), and tell the customer when the money arrives.
";

/// Creates the skills of the demo.
pub(super) fn skills() -> Result<Skills, InvalidSkill> {
    let pdf = SkillBuilder::new(
        "pdf-processing",
        "Extracts text from PDF documents, fills in forms and makes invoices. Use it for any PDF file.",
    )
    .field("license", "MIT OR Apache-2.0")
    .body(PDF)
    .file("references/FORMS.md", "# Forms\n\nFill in every field that is required.\n")
    .file("scripts/extract.py", "print(\"the text of the document\")\n")
    .file("templates/invoice.md", "# Invoice\n")
    .file("templates/regional/eu-invoice.md", "# Invoice with VAT\n")
    .build()?;
    let billing = SkillBuilder::new("billing", "Answers questions about invoices and payments.")
        .prefix(["acme"])
        .body(BILLING)
        .build()?;
    let refunds = SkillBuilder::new("refunds", "Processes refunds by the policy of the company.")
        .prefix(["acme", "billing"])
        .body(REFUNDS)
        .file(
            "references/policy.md",
            "# Policy\n\nRefunds within 30 days.\n",
        )
        .build()?;
    let reads = Arc::new(AtomicU64::new(0));
    let report = SkillBuilder::new("daily", "Assembles the report of today from live data.")
        .prefix(["reports"])
        .dynamic_body(move || {
            let reads = reads.fetch_add(1, Ordering::Relaxed) + 1;
            async move { Ok(format!("# Report\n\nThis report was read {reads} times.\n")) }
        })
        .build()?;
    Ok(Skills::new()
        .skill(pdf)
        .skill(billing)
        .skill(refunds)
        .skill(report)
        .cache(LIST_TTL, CacheScope::Public))
}
