//! The end of a statement.

/// Returns a statement without the semicolons, white space and comments that end it, so that it can stand in another
/// one. Comments that stand before its last semicolon stay, as does everything if a text, a name or a comment in it
/// does not end.
pub(super) fn without_end(sql: &str) -> &str {
    let mut end = 0;
    let mut rest = sql;
    while let Some(char) = rest.chars().next() {
        let length = match char {
            '\'' | '"' | '$' => quoted_length(sql, rest),
            '-' if rest.starts_with("--") => Some(rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => comment_length(rest),
            _ => Some(char.len_utf8()),
        };
        let Some(after) = length.and_then(|length| rest.get(length..)) else {
            return sql.trim();
        };
        let is_comment = rest.starts_with("--") || rest.starts_with("/*");
        if !is_comment && char != ';' && !char.is_whitespace() {
            end = sql.len() - after.len();
        }
        rest = after;
    }
    sql.get(..end).unwrap_or(sql).trim_start()
}

/// Returns the length of the text or name in quotes at the start of `rest`, which is the end of `sql`; of a character
/// that opens none, its own. `None` if there is no closing quote.
fn quoted_length(sql: &str, rest: &str) -> Option<usize> {
    let before = sql.strip_suffix(rest).unwrap_or_default();
    let is_in_name =
        |before: &str| before.ends_with(|char: char| char.is_alphanumeric() || char == '_');
    if rest.starts_with('$') {
        let length = rest.get(1..)?.find('$').map_or(1, |tag| tag + 2);
        let delimiter = rest.get(..length)?;
        let mut tag = delimiter.trim_matches('$').chars();
        let is_tag = !tag
            .clone()
            .next()
            .is_some_and(|first| first.is_ascii_digit())
            && tag.all(|char| char.is_alphanumeric() || char == '_');
        if length == 1 || !is_tag || is_in_name(before) {
            return Some(1);
        }
        return Some(rest.get(length..)?.find(delimiter)? + 2 * length);
    }
    let has_escapes = rest.starts_with('\'')
        && before
            .strip_suffix(['e', 'E'])
            .is_some_and(|before| !is_in_name(before));
    let quote = rest.chars().next()?;
    let mut is_escaped = false;
    // Two quotes for one are read as the end of a text and the start of another.
    let end = rest.char_indices().skip(1).find(|(_, char)| {
        let is_end = *char == quote && !is_escaped;
        is_escaped = has_escapes && *char == '\\' && !is_escaped;
        is_end
    });
    end.map(|(at, quote)| at + quote.len_utf8())
}

/// Returns the length of the comment at the start of a text, which may hold others.
fn comment_length(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        at += match rest {
            _ if rest.starts_with("/*") => {
                depth += 1;
                2
            }
            _ if rest.starts_with("*/") => {
                depth -= 1;
                2
            }
            _ => rest.chars().next()?.len_utf8(),
        };
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_statement_is_removed() {
        for (sql, statement) in [
            (" SELECT 1 ; -- done; really", "SELECT 1"),
            ("SELECT 1 /* a /* ; */ b */ ; ;\n", "SELECT 1"),
            ("SELECT 1 -- one\n;", "SELECT 1"),
            ("SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"),
            ("-- first\nSELECT 1", "-- first\nSELECT 1"),
            ("SELECT '; -- ', \";--\"", "SELECT '; -- ', \";--\""),
            ("SELECT 'it''s; --';", "SELECT 'it''s; --'"),
            ("SELECT E'\\'; --' ; --", "SELECT E'\\'; --'"),
            ("SELECT name'\\'; -- '", "SELECT name'\\'"),
            ("SELECT $$; --$$;", "SELECT $$; --$$"),
            ("SELECT $a$;$$--$a$;", "SELECT $a$;$$--$a$"),
            ("SELECT $1, a$b$; -- $b$", "SELECT $1, a$b$"),
            ("SELECT 1 - 2 / 3 ä;", "SELECT 1 - 2 / 3 ä"),
            (" SELECT 'open; --", "SELECT 'open; --"),
            ("SELECT 1; /* open", "SELECT 1; /* open"),
            ("SELECT $$ open;", "SELECT $$ open;"),
            ("; -- nothing", ""),
        ] {
            assert_eq!(without_end(sql), statement, "{sql}");
        }
    }
}
