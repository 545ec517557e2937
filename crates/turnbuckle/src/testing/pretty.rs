//! Formatting of JSON text that keeps the order of members.

/// Formats valid JSON with two spaces per level. Empty objects and lists stay on one line.
pub(super) fn pretty(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut in_string = false;
    let mut rest = json.chars().peekable();
    while let Some(c) = rest.next() {
        if in_string {
            out.push(c);
            match c {
                '"' => in_string = false,
                '\\' => out.extend(rest.next()),
                _ => {}
            }
            continue;
        }
        match c {
            '{' | '[' => {
                out.push(c);
                while rest.next_if(|c| c.is_ascii_whitespace()).is_some() {}
                if let Some(end) = rest.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth -= 1;
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out.push('\n');
    out
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_its_line() {
        let json = r#"{"b":[1, 2.50],"a":{ },"c": "x\\\",{:","d":[],"e":{"f":null}}"#;
        let expected = r#"{
  "b": [
    1,
    2.50
  ],
  "a": {},
  "c": "x\\\",{:",
  "d": [],
  "e": {
    "f": null
  }
}
"#;
        assert_eq!(pretty(json), expected);
        assert_eq!(pretty(expected), expected);
    }
}
