//! Parsing of the commands that a user types.

use serde_json::{Map, Value};

/// The help text.
pub(crate) const HELP: &str = "\
servers                     lists the servers
tools | resources | prompts lists those of all servers
SERVER.TOOL key=value …     calls a tool; the arguments can also be a JSON object
prompt SERVER.NAME key=value …  shows a prompt
read SERVER URI             shows a resource
watch SERVER URI            prints a line when the resource changes
wait                        waits until a server reports a change
quit                        ends the program";

/// A command.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Help,
    Servers,
    Tools,
    Resources,
    Prompts,
    Read { server: String, uri: String },
    Watch { server: String, uri: String },
    Prompt { name: String, arguments: Arguments },
    Call { name: String, arguments: Arguments },
    Wait,
    Quit,
}

impl Command {
    /// Parses a line. Returns `None` for an empty line and for a comment, which begins with `#`.
    pub(crate) fn parse(line: &str) -> Result<Option<Self>, String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let without_arguments = |command: Self| match rest {
            "" => Ok(command),
            _ => Err(format!("{word} takes no arguments")),
        };
        let server_and_uri = || {
            let (server, uri) = rest
                .split_once(char::is_whitespace)
                .ok_or_else(|| format!("usage: {word} SERVER URI"))?;
            Ok::<_, String>((server.to_owned(), uri.trim().to_owned()))
        };
        let command = match word {
            "help" => without_arguments(Self::Help)?,
            "servers" => without_arguments(Self::Servers)?,
            "tools" => without_arguments(Self::Tools)?,
            "resources" => without_arguments(Self::Resources)?,
            "prompts" => without_arguments(Self::Prompts)?,
            "wait" => without_arguments(Self::Wait)?,
            "quit" | "exit" => without_arguments(Self::Quit)?,
            "read" => server_and_uri().map(|(server, uri)| Self::Read { server, uri })?,
            "watch" => server_and_uri().map(|(server, uri)| Self::Watch { server, uri })?,
            "prompt" => {
                let (name, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                let (name, arguments) = (name.to_owned(), Arguments::parse(rest.trim())?);
                Self::Prompt { name, arguments }
            }
            name => {
                let (name, arguments) = (name.to_owned(), Arguments::parse(rest)?);
                Self::Call { name, arguments }
            }
        };
        Ok(Some(command))
    }
}

/// The arguments of a command, as typed.
#[derive(Debug, PartialEq)]
pub(crate) enum Arguments {
    Json(Map<String, Value>),
    Words(Vec<(String, String)>),
}

impl Arguments {
    /// Parses a JSON object, or `key=value …`.
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('{') {
            let json = serde_json::from_str(text);
            return json
                .map(Self::Json)
                .map_err(|error| format!("the arguments are not valid JSON: {error}"));
        }
        let pair = |word: String| match word.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => Err(format!("{word:?} is not key=value")),
        };
        words(text)?
            .into_iter()
            .map(pair)
            .collect::<Result<_, _>>()
            .map(Self::Words)
    }

    /// Returns the arguments for a tool with this schema. A value is parsed as JSON unless the
    /// schema has a string there, and is text if it is not JSON.
    pub(crate) fn into_object(self, schema: &Value) -> Map<String, Value> {
        let words = match self {
            Self::Json(json) => return json,
            Self::Words(words) => words,
        };
        let value = |(key, word): (String, String)| {
            let is_text = schema["properties"][&key]["type"] == "string";
            let read = || serde_json::from_str(&word).ok();
            let value = (!is_text).then(read).flatten();
            (key, value.unwrap_or(Value::String(word)))
        };
        words.into_iter().map(value).collect()
    }

    /// Returns the arguments for a prompt, which are all text.
    pub(crate) fn into_texts(self) -> Vec<(String, String)> {
        let text = |(key, value): (String, Value)| match value {
            Value::String(text) => (key, text),
            other => (key, other.to_string()),
        };
        match self {
            Self::Json(json) => json.into_iter().map(text).collect(),
            Self::Words(words) => words,
        }
    }
}

/// Splits a line at blanks. Text between single quotes is one word.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    if quoted {
        return Err("a single quote is not closed".to_owned());
    }
    words.extend(word);
    Ok(words)
}
