//! Parsing of the process arguments that select the transport.

use std::ffi::OsString;

use turnbuckle_server::Result;

/// The transport to serve on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TransportChoice {
    Stdio,
    Http(String),
}

/// Parses the arguments after the program name. Other arguments are ignored.
pub(super) fn parse_transport(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<TransportChoice> {
    let mut arguments = arguments
        .into_iter()
        .take_while(|argument| argument != "--");
    while let Some(argument) = arguments.next() {
        let address = match argument.to_str() {
            Some("--http") => arguments.next(),
            Some(argument) => match argument.strip_prefix("--http=") {
                Some(address) => Some(address.into()),
                None => continue,
            },
            None => continue,
        };
        // An option in this place means that the address is missing.
        let address = address.and_then(|address| address.into_string().ok());
        return match address {
            Some(address) if !address.is_empty() && !address.starts_with('-') => {
                Ok(TransportChoice::Http(address))
            }
            _ => Err("--http needs an address, as in --http 127.0.0.1:8080".into()),
        };
    }
    Ok(TransportChoice::Stdio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<TransportChoice, String> {
        parse_transport(arguments.iter().map(OsString::from))
            .map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn http_is_served_on_request_and_stdio_otherwise() {
        let http = |address: &str| Ok(TransportChoice::Http(address.into()));
        for (arguments, expected) in [
            (&[][..], Ok(TransportChoice::Stdio)),
            (&["--verbose", "file"], Ok(TransportChoice::Stdio)),
            (&["--https", "--httpx=1"], Ok(TransportChoice::Stdio)),
            (&["--", "--http", "localhost:1"], Ok(TransportChoice::Stdio)),
            (&["--http", "localhost:1"], http("localhost:1")),
            (&["-v", "--http=[::1]:0", "x"], http("[::1]:0")),
        ] {
            assert_eq!(read(arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn a_missing_address_is_an_error() {
        for arguments in [
            &["--http"][..],
            &["--http="],
            &["--http", "--verbose"],
            &["--http", "--"],
        ] {
            let error = read(arguments).unwrap_err();
            assert!(error.starts_with("--http needs an address"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn non_utf8_arguments_are_ignored_unless_they_are_the_address() {
        use std::os::unix::ffi::OsStringExt;

        let strange = || OsString::from_vec(vec![0xff]);
        assert_eq!(
            parse_transport([strange()]).ok(),
            Some(TransportChoice::Stdio)
        );
        assert!(parse_transport(["--http".into(), strange()]).is_err());
    }
}
