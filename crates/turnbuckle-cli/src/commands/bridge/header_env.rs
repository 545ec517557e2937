//! Headers of clients that become variables of their command's environment.

use std::sync::Arc;

use turnbuckle::HandlerContext;
use turnbuckle::servers::UpstreamOptions;
use turnbuckle::stdio::Command;

/// The most bytes of a header that becomes a variable.
const MAX_VALUE_BYTES: usize = 8 << 10;

/// A header, and the variable that gets its value.
#[derive(Debug, Clone)]
pub(super) struct HeaderVariable {
    header: String,
    variable: String,
}

/// Parses `HEADER=VAR`.
pub(super) fn parse_header_variable(text: &str) -> Result<HeaderVariable, &'static str> {
    /// Headers with credentials, which are the business of `--auth`.
    const CREDENTIALS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
    let is_variable = |name: &str| {
        name.bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    match text.split_once('=') {
        Some((header, _)) if CREDENTIALS.iter().any(|it| header.eq_ignore_ascii_case(it)) => {
            Err("headers with credentials for this server are not passed on: use another name")
        }
        Some((header, variable))
            if !header.is_empty() && !variable.is_empty() && is_variable(variable) =>
        {
            Ok(HeaderVariable {
                header: header.to_owned(),
                variable: variable.to_owned(),
            })
        }
        _ => Err("expected HEADER=VAR, such as X-Api-Key=API_KEY"),
    }
}

/// A command whose environment has values of the headers of its client.
#[derive(Clone)]
pub(super) struct HeaderCommand {
    variables: Arc<[HeaderVariable]>,
    command: Command,
}

impl HeaderCommand {
    pub(super) fn new(variables: &[HeaderVariable], command: Command) -> Self {
        Self {
            variables: variables.into(),
            command,
        }
    }

    /// Gives each client a command of its own. Clients with different values never share one.
    pub(super) fn add_to(&self, options: UpstreamOptions) -> UpstreamOptions {
        let (reader, starter) = (self.clone(), self.clone());
        options.connector_for(
            move |context| reader.values(context),
            move |values| starter.command(values),
        )
    }

    /// Returns the values of a request's headers as JSON.
    fn values(&self, context: &HandlerContext) -> String {
        let header = |it: &HeaderVariable| context.http()?.header(&it.header);
        let values: Vec<Option<&str>> = self.variables.iter().map(header).collect();
        // A list of strings is always JSON.
        serde_json::to_string(&values).unwrap_or_default()
    }

    /// Returns the command with these values.
    ///
    /// # Errors
    /// Returns the reason if a value cannot be that of a variable.
    fn command(&self, values: &str) -> Result<Command, String> {
        let values: Vec<Option<String>> =
            serde_json::from_str(values).map_err(|error| error.to_string())?;
        let mut command = self.command.clone();
        for (variable, value) in self.variables.iter().zip(values) {
            let Some(value) = value else {
                continue;
            };
            if value.len() > MAX_VALUE_BYTES || value.contains('\0') {
                let header = &variable.header;
                return Err(format!(
                    "the header {header} is no value of a variable, or longer than {MAX_VALUE_BYTES} bytes"
                ));
            }
            command = command.env(&variable.variable, value);
        }
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_tied_to_a_variable() {
        let parsed = parse_header_variable("X-Api-Key=API_KEY").unwrap();
        assert_eq!(
            (&*parsed.header, &*parsed.variable),
            ("X-Api-Key", "API_KEY")
        );
        for text in [
            "",
            "X",
            "=A",
            "X=",
            "X=A B",
            "X=A=B",
            "Authorization=TOKEN",
            "cookie=C",
        ] {
            assert!(parse_header_variable(text).is_err(), "{text}");
        }
    }
}
