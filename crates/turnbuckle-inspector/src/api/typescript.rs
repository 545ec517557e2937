//! The TypeScript declarations of the API, and the test that the page's copy is the same.

use std::path::Path;

use ts_rs::{Config, TS};

use super::*;

/// Returns the exported declarations of the types, in alphabetic order.
macro_rules! declarations {
    ($($type:ty),+ $(,)?) => {{
        let config = Config::default();
        let mut declarations = vec![$((<$type>::name(&config), <$type>::decl(&config), <$type>::docs())),+];
        declarations.sort();
        declarations
    }};
}

fn types() -> String {
    let declarations = declarations![
        Answer,
        AnswerAction,
        AnswerOutcome,
        AutomaticAnswers,
        AutomaticForms,
        AutomaticUrls,
        Block,
        BlockKind,
        Blocks,
        CheckRun,
        CheckRunState,
        Choice,
        Completion,
        CompletionRequest,
        CompletionTarget,
        ConnectionState,
        CopyFormat,
        DateKind,
        Entry,
        EntryDetail,
        EntryKind,
        EntryStatus,
        Excerpt,
        Fault,
        Field,
        FieldKind,
        FilterFault,
        Finding,
        Form,
        Header,
        Hint,
        HttpFacts,
        InspectorState,
        ItemDefinition,
        ItemKind,
        ItemRow,
        ItemsWindow,
        JsonFault,
        ListSummary,
        Match,
        Matches,
        OpenSource,
        Question,
        QuestionKind,
        QuestionState,
        RawRange,
        RequestToSend,
        SendOutcome,
        ServerEntry,
        Consent,
        ServerFacts,
        Session,
        Severity,
        Step,
        TextPiece,
        TextRules,
        TimelineWindow,
        TransportKind,
        ValueKind,
        ValueRow,
        ValueRows,
        Variant,
    ];
    let mut text =
        "// Generated from crates/turnbuckle-inspector/src/api by its tests: do not edit.\n"
            .to_owned();
    for (_, declaration, docs) in declarations {
        text.push('\n');
        text.push_str(&docs.unwrap_or_default());
        text.push_str("export ");
        text.push_str(&declaration);
        text.push('\n');
    }
    let lines = text.lines().map(str::trim_end);
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// `UPDATE_TYPES=1` writes the file.
#[test]
fn the_types_of_the_page_are_those_of_the_engine() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("web/src/api/types.ts");
    let generated = types();
    if std::env::var_os("UPDATE_TYPES").is_some() {
        std::fs::write(&path, &generated).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert!(
        stored == generated,
        "UPDATE_TYPES=1 cargo test -p turnbuckle-inspector writes the file"
    );
}
