//! The rules about names and doc comments that a program can check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::rule::{Project, Rule, Violation};
use crate::source::{Source, Token, TokenKind};

pub(super) const FIRST_WORDS: Rule = Rule {
    name: "first-words",
    reason: "the first line of a doc comment is a noun phrase (a type, a field) or a sentence that \
             begins with its verb (a function); one that begins with a question word or a pronoun \
             is not understood without what surrounds it",
    check: |project| per_source(project, first_words),
};

pub(super) const VERBS: Rule = Rule {
    name: "verbs",
    reason: "the first line of a function's doc comment begins with a verb in the third person: \
             `Returns …`, `Sends …`, `Closes …`",
    check: |project| per_source(project, verbs),
};

pub(super) const NAMES: Rule = Rule {
    name: "names",
    reason: "a function is a verb in the imperative or a noun, a type a noun of the specification \
             or of the field: no metaphors, no participles, no bare pronouns or prepositions",
    check: |project| per_source(project, names),
};

pub(super) const ALIASES: Rule = Rule {
    name: "aliases",
    reason: "a reader takes the name for the type of ours that has it: import under the type's own \
             name, or name the module in front of it",
    check: aliases,
};

pub(super) const REPETITIONS: Rule = Rule {
    name: "repetitions",
    reason: "a doc comment that repeats the name says nothing: say the meaning, unit or limit, or \
             leave the comment out where the compiler does not demand one",
    check: |project| project.production().flat_map(repetitions).collect(),
};

/// The words of `words.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    vague: Vec<String>,
    plurals: BTreeSet<String>,
    no_function: BTreeSet<String>,
    participles: BTreeSet<String>,
    no_type: BTreeSet<String>,
}

#[allow(
    clippy::expect_used,
    reason = "the file is compiled in, and every test reads it"
)]
static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("words.toml is read"));

fn per_source(project: &Project, check: fn(&Source) -> Vec<Violation>) -> Vec<Violation> {
    project.sources.iter().flat_map(check).collect()
}

/// An item or a member with its name and the first line of its doc comment.
#[derive(Default)]
struct Definition<'a> {
    line: usize,
    summary: Option<(usize, &'a str)>,
    /// `fn`, `struct`, …; nothing for a field, a variant, a module's own comment.
    keyword: Option<&'a str>,
    name: &'a str,
    /// A test, whose name is a sentence, or a tool, a prompt or a resource, whose comment is for the
    /// model.
    is_free: bool,
    /// True if the comment begins with an empty line: below the summary that a macro inserts.
    is_continued: bool,
    /// The number of lines of the comment that are not empty.
    doc_lines: usize,
}

/// The words that begin the definition of a function, a type, or a macro.
const KEYWORDS: [&str; 7] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "union",
    "type",
    "macro_rules",
];

/// The words that may stand between a doc comment and a definition.
const QUALIFIERS: [&str; 10] = [
    "pub", "crate", "super", "self", "in", "const", "async", "unsafe", "extern", "default",
];

/// Returns the definitions among the tokens of a file, those inside macro calls included.
fn definitions(tokens: &[Token]) -> Vec<Definition<'_>> {
    let mut found = Vec::new();
    let mut next = Definition::default();
    let mut last_doc = 0;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match &token.kind {
            TokenKind::Doc(text) => {
                // A module's own comment, which another item's follows after a blank line.
                if token.line > last_doc + 1 && next.summary.is_some() {
                    found.push(std::mem::take(&mut next));
                }
                last_doc = token.line;
                // Of a block comment, the stars in front of its lines.
                let text = text.trim().trim_start_matches('*').trim_start();
                if next.summary.is_none() && !text.is_empty() {
                    next.summary = Some((token.line, text));
                }
                next.is_continued |= next.summary.is_none();
                next.doc_lines += usize::from(!text.is_empty());
            }
            TokenKind::Punct('#') => {
                at += usize::from(tokens.get(at).is_some_and(|token| token.is('!')));
                let end = group_end(tokens, at);
                let mut words = tokens[at..end].iter().filter_map(Token::ident);
                next.is_free |=
                    words.any(|word| ["test", "tool", "prompt", "resource"].contains(&word));
                last_doc = tokens[end - 1].line;
                at = end;
            }
            TokenKind::Ident(word) if QUALIFIERS.contains(&word.as_str()) => {}
            // Of `pub(crate)`, and the name of an ABI.
            TokenKind::Punct('(' | ')') | TokenKind::Text(_) if next.summary.is_some() => {}
            kind => {
                let keyword = token.ident().filter(|word| KEYWORDS.contains(word));
                let name = match (keyword, kind) {
                    (Some(_), _) => tokens.get(at).and_then(Token::ident),
                    (None, TokenKind::Ident(name)) => Some(name.as_str()),
                    (None, _) => None,
                };
                next.line = token.line;
                (next.keyword, next.name) = (keyword, name.unwrap_or_default());
                let is_definition = (keyword.is_some() && name.is_some()) || next.summary.is_some();
                let definition = std::mem::take(&mut next);
                found.extend(is_definition.then_some(definition));
            }
        }
    }
    found.extend(next.summary.is_some().then_some(next));
    found
}

/// Returns the index after the group that opens at `at`.
fn group_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, token) in tokens[at..].iter().enumerate() {
        match token.kind {
            TokenKind::Punct('(' | '[' | '{') => depth += 1,
            TokenKind::Punct(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    tokens.len()
}

fn first_words(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for definition in definitions(&source.tokens) {
        let Some((line, summary)) = definition.summary else {
            continue;
        };
        let vague = WORDS.vague.iter().find(|vague| begins(summary, vague));
        found.extend(vague.map(|vague| {
            let what = format!("the summary of `{}` begins with {vague:?}", definition.name);
            Violation::new(&source.path, line, what)
        }));
    }
    found
}

/// Returns whether a summary begins with the words.
fn begins(summary: &str, words: &str) -> bool {
    let rest = summary.strip_prefix(words);
    rest.is_some_and(|rest| {
        !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
    })
}

fn verbs(source: &Source) -> Vec<Violation> {
    let definitions = definitions(&source.tokens);
    let functions = definitions
        .iter()
        .filter(|definition| definition.keyword == Some("fn") && !definition.is_free);
    let mut found = Vec::new();
    for function in functions {
        let Some((line, summary)) = function.summary else {
            continue;
        };
        if function.name.is_empty() && function.is_continued {
            continue;
        }
        let word = summary
            .split(|c: char| !c.is_alphanumeric())
            .next()
            .unwrap_or_default();
        if !is_third_person(word) {
            let first = summary.split(' ').next().unwrap_or_default();
            let what = format!(
                "the summary of `{}` begins with {first:?}, which is no verb",
                function.name
            );
            found.push(Violation::new(&source.path, line, what));
        }
    }
    found
}

/// Returns whether a word may be a verb in the third person: `Returns`.
fn is_third_person(word: &str) -> bool {
    word.starts_with(char::is_uppercase)
        && word.ends_with('s')
        && !["ss", "us", "is", "'s"]
            .iter()
            .any(|end| word.ends_with(end) && word != "Is")
        && !WORDS.plurals.contains(word)
}

/// Finds comments of one line with no word beside those of the name and articles.
fn repetitions(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for definition in definitions(&source.production) {
        let Some((line, summary)) = definition.summary.filter(|_| definition.doc_lines == 1) else {
            continue;
        };
        let name = words(definition.name);
        let said = words(summary);
        let mut more = said.iter().filter(|word| !name.contains(*word));
        // The compiler demands comments of variants and of public functions, even plain ones.
        let is_plain = definition.keyword == Some("fn")
            || (definition.keyword.is_none() && definition.name.starts_with(char::is_uppercase));
        let is_repetition =
            !is_plain && !name.is_empty() && more.all(|word| ARTICLES.contains(&word.as_str()));
        if is_repetition {
            let what = format!("the comment of `{}` repeats its name", definition.name);
            found.push(Violation::new(&source.path, line, what));
        }
    }
    found
}

/// Words that add nothing to a name, without their plural's `s`.
const ARTICLES: [&str; 6] = ["the", "a", "an", "it", "thi", "of"];

/// Returns the words of a name or a sentence in lower case, without the `s` of a plural.
fn words(text: &str) -> BTreeSet<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        let starts_word = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if starts_word {
            words.push(String::new());
        }
        if let (Some(word), true) = (words.last_mut(), c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    let words = words.iter().map(|word| word.trim_end_matches('s'));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

fn names(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for definition in definitions(&source.tokens) {
        let Definition {
            line,
            name,
            keyword,
            is_free,
            ..
        } = definition;
        let why = match keyword {
            Some("fn") if is_free => continue,
            Some("fn") if WORDS.no_function.contains(name) => "says nothing of what it does",
            Some("fn") if is_participle(name) => "is a participle",
            Some("struct" | "enum" | "trait" | "type" | "union")
                if WORDS.no_type.contains(name) =>
            {
                "is a metaphor, or says nothing of what it is"
            }
            _ => continue,
        };
        found.push(Violation::new(
            &source.path,
            line,
            format!("the name `{name}` {why}"),
        ));
    }
    found
}

/// Returns whether a function's name is a participle alone: `limited`.
fn is_participle(name: &str) -> bool {
    let ends = name.ends_with("ed")
        && !["eed", "bed", "hed"]
            .iter()
            .any(|end| name.ends_with(end) && name.len() < 7);
    ends && !name.contains('_') && !WORDS.participles.contains(name)
}

/// Finds imports under the name of another type of ours.
fn aliases(project: &Project) -> Vec<Violation> {
    const TYPES: &[&str] = &["struct", "enum", "trait", "union", "type"];
    let mut types: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for source in &project.sources {
        for definition in definitions(&source.production) {
            if definition
                .keyword
                .is_some_and(|keyword| TYPES.contains(&keyword))
            {
                types
                    .entry(definition.name.to_owned())
                    .or_default()
                    .insert(&source.path);
            }
        }
    }
    let mut found = Vec::new();
    for source in &project.sources {
        let idents: Vec<_> = source.tokens.iter().collect();
        for window in idents.windows(4) {
            let [own, word, alias, end] = window else {
                continue;
            };
            // An import ends so; a cast is followed by an operator, or is of a type in lower case.
            let is_import = [',', ';', '}'].iter().any(|sign| end.is(*sign));
            let (Some(own), Some("as"), Some(alias)) = (own.ident(), word.ident(), alias.ident())
            else {
                continue;
            };
            let is_type = own.starts_with(char::is_uppercase);
            if let (true, true, Some(defined)) = (is_import, is_type, types.get(alias))
                && own != alias
            {
                let at = defined.iter().next().copied().unwrap_or_default();
                let what = format!("`{own} as {alias}`: a type `{alias}` is in {at}");
                found.push(Violation::new(&source.path, word.line, what));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;

    fn found(rule: &Rule, text: &str) -> Vec<String> {
        let tree = Tree::new(&[("crates/turnbuckle-http/src/a.rs", text)]);
        let project = Project::parse(tree).unwrap();
        let found = (rule.check)(&project).into_iter();
        found.map(|violation| violation.what).collect()
    }

    #[test]
    fn a_summary_that_begins_with_a_question_word_is_found() {
        for text in [
            "//! What is where.",
            "/// Who sent it.\npub(crate) struct A;",
            "struct A {\n    /// The same as b.\n    a: u8,\n}",
            "enum A {\n    /// It is over.\n    B,\n}",
            "object! {\n    /// When it ends.\n    pub struct A {}\n}",
            "/// If it does.\n#[inline]\nfn a() {}",
        ] {
            assert_eq!(found(&FIRST_WORDS, text).len(), 1, "{text}");
        }
        for text in [
            "/// Items.\n///\n/// What they are.\nstruct A;",
            "/// Itself.\nstruct A;",
            "// What.\nfn a() {}",
        ] {
            assert_eq!(found(&FIRST_WORDS, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_functions_summary_begins_with_a_verb() {
        for text in [
            "/// The name.\nfn a() {}",
            "/// Send it.\npub async fn a() {}",
            "/// Bytes of it.\nfn a() {}",
        ] {
            assert_eq!(found(&VERBS, text).len(), 1, "{text}");
        }
        for text in [
            "/// Returns the name.\n#[must_use]\npub(crate) const fn a() {}",
            "/// The name.\nstruct A;",
            "/// The rule holds.\n#[test]\nfn a() {}",
            "fn a() {}",
            "/**\n * Returns the name.\n */\nfn a() {}",
            "macro_rules! b { () => { $(#[$doc])*\n///\n/// `None` if absent.\npub fn $get() {} } }",
        ] {
            assert_eq!(found(&VERBS, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_comment_that_repeats_the_name_is_found() {
        for text in [
            "struct A {\n    /// The headers.\n    headers: u8,\n}",
            "/// A cursor list.\nstruct ListCursor;",
        ] {
            assert_eq!(found(&REPETITIONS, text).len(), 1, "{text}");
        }
        for text in [
            "struct A {\n    /// The headers of the response.\n    headers: u8,\n}",
            "/// A cursor.\n///\n/// Valid for a minute.\nstruct Cursor;",
            "struct Cursor;",
            "/// Returns the media type.\npub fn media_type() {}",
            "enum A {\n    /// The client.\n    Client,\n}",
        ] {
            assert_eq!(found(&REPETITIONS, text), [""; 0], "{text}");
        }
    }

    #[test]
    fn banned_names_are_found() {
        for text in [
            "fn told() {}",
            "impl A { fn of(b: u8) {} }",
            "fn limited() {}",
            "struct Desk;",
            "enum Said {}",
        ] {
            assert_eq!(found(&NAMES, text).len(), 1, "{text}");
        }
        for text in [
            "fn feed() {}",
            "async fn closed() {}",
            "#[test]\nfn told() {}",
            "struct Server;",
            "let told = 1;",
        ] {
            assert_eq!(
                found(&NAMES, &format!("fn f() {{ {text} }}")),
                [""; 0],
                "{text}"
            );
        }
    }

    #[test]
    fn an_alias_onto_another_type_of_ours_is_found() {
        let types = "struct Session; struct Context;";
        let text = format!("use b::{{Context as Session, C}}; {types}");
        assert_eq!(found(&ALIASES, &text).len(), 1);
        for text in [
            "use b::Context as _;",
            "use b::Context as Inner;",
            "fn f() { a as usize; }",
        ] {
            assert_eq!(
                found(&ALIASES, &format!("{text} {types}")),
                [""; 0],
                "{text}"
            );
        }
    }
}
