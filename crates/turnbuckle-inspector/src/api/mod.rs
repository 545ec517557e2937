//! The types that the page reads and sends, as JSON.
//!
//! The JSON of the page is known here alone. JSON of servers and of users travels as text, in a string: a
//! browser would round its numbers and drop its duplicate members.
//! `web/src/api/types.ts` is generated from these types.

mod check;
mod form;
mod inbox;
mod items;
mod page;
mod request;
mod session;
mod timeline;
mod value;

#[cfg(test)]
mod typescript;

pub use check::{CheckRun, CheckRunState, Finding, Severity};
pub use form::{Choice, DateKind, Fault, Field, FieldKind, Form, TextRules, Variant};
pub use inbox::{
    Answer, AnswerAction, AnswerOutcome, AutomaticAnswers, AutomaticForms, AutomaticUrls, Question,
    QuestionKind, QuestionState,
};
pub use items::{Hint, ItemDefinition, ItemKind, ItemRow, ItemsWindow, RawRange};
pub use page::{PageFile, page};
pub use request::{Completion, CompletionRequest, CompletionTarget, RequestToSend, SendOutcome};
pub use session::{
    ConnectionState, Consent, InspectorState, ListSummary, OpenSource, ServerEntry, ServerFacts,
    Session, Step, TransportKind, Versions,
};
pub use timeline::{
    CopyFormat, Entry, EntryDetail, EntryKind, EntryStatus, FilterFault, Header, HttpFacts,
    TimelineWindow,
};
pub use value::{
    Block, BlockKind, Blocks, Excerpt, JsonFault, Match, Matches, TextPiece, ValueKind, ValueRow,
    ValueRows,
};
