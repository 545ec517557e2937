//! What a process's arguments say about where to serve.

use std::ffi::OsString;

use turnbuckle_server::Result;

/// Where to serve.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Binding {
    Stdio,
    Http(String),
}

/// Reads the arguments after the program's name. What is not ours is left alone.
pub(super) fn binding(arguments: impl IntoIterator<Item = OsString>) -> Result<Binding> {
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
        // An option in its place means that it was forgotten.
        let address = address.and_then(|address| address.into_string().ok());
        return match address {
            Some(address) if !address.is_empty() && !address.starts_with('-') => {
                Ok(Binding::Http(address))
            }
            _ => Err("--http needs an address, as in --http 127.0.0.1:8080".into()),
        };
    }
    Ok(Binding::Stdio)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Binding, String> {
        binding(arguments.iter().map(OsString::from)).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn http_is_served_where_it_is_asked_for_and_else_stdio() {
        let http = |address: &str| Ok(Binding::Http(address.into()));
        for (arguments, expected) in [
            (&[][..], Ok(Binding::Stdio)),
            (&["--verbose", "file"], Ok(Binding::Stdio)),
            (&["--https", "--httpx=1"], Ok(Binding::Stdio)),
            (&["--", "--http", "localhost:1"], Ok(Binding::Stdio)),
            (&["--http", "localhost:1"], http("localhost:1")),
            (&["-v", "--http=[::1]:0", "x"], http("[::1]:0")),
        ] {
            assert_eq!(read(arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn an_address_that_is_missing_is_told() {
        for arguments in [
            &["--http"][..],
            &["--http="],
            &["--http", "--verbose"],
            &["--http", "--"],
        ] {
            let told = read(arguments).unwrap_err();
            assert!(told.starts_with("--http needs an address"), "{told}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_text_is_left_alone_unless_it_is_the_address() {
        use std::os::unix::ffi::OsStringExt;

        let strange = || OsString::from_vec(vec![0xff]);
        assert_eq!(binding([strange()]).ok(), Some(Binding::Stdio));
        assert!(binding(["--http".into(), strange()]).is_err());
    }
}
