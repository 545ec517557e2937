//! The command line arguments that select the transport.

use std::ffi::OsString;

use turnbuckle_types::base::nearest::did_you_mean;
use turnbuckle_types::base::text::Foreign;

use crate::error::{Error, Result};

/// The most characters of an unknown option that its error shows.
const MAX_OPTION_CHARS: usize = 64;

const HTTP: &str = "--http";
const METRICS: &str = "--metrics";

/// The command line arguments of a server: the transport that
/// [`run_with`](super::Run::run_with) serves. The default is standard input and output.
///
/// A program with arguments of its own reads these along with them: with the feature `clap` by
/// flattening this type into its parser, otherwise by [`take_from`](Self::take_from).
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[non_exhaustive]
pub struct RunArgs {
    /// Serves HTTP at this address instead of standard input and output.
    #[cfg_attr(feature = "clap", arg(long, value_name = "ADDRESS"))]
    pub http: Option<String>,
    /// Answers `/metrics` with the metrics of the process, to anyone who reaches the server. Needs
    /// `--http`.
    #[cfg(feature = "prometheus")]
    #[cfg_attr(docsrs, doc(cfg(feature = "prometheus")))]
    #[cfg_attr(feature = "clap", arg(long, requires = "http"))]
    pub metrics: bool,
    #[cfg(feature = "http")]
    #[cfg_attr(feature = "clap", arg(skip))]
    pub(super) http_options: crate::http::HttpServerOptions,
}

impl RunArgs {
    /// Takes the arguments of a server out of those of a program, without its name: `--http ADDRESS`
    /// or `--http=ADDRESS`, and with the feature `prometheus` `--metrics`. The program reads what
    /// remains. Arguments after `--` are left alone.
    ///
    /// # Errors
    /// If `--http` has no address, or is missing beside `--metrics`.
    pub fn take_from(arguments: &mut Vec<OsString>) -> Result<Self> {
        #[cfg(feature = "prometheus")]
        let metrics = {
            let mut own = arguments.iter().take_while(|argument| *argument != "--");
            let found = own.position(|argument| argument == METRICS);
            found.map(|at| arguments.remove(at)).is_some()
        };
        let args = Self::take_http(arguments)?;
        #[cfg(feature = "prometheus")]
        if metrics && args.http.is_none() {
            return Err(Error::new(
                "--metrics needs a server on HTTP, as in --http 127.0.0.1:8080 --metrics",
            ));
        }
        Ok(Self {
            #[cfg(feature = "prometheus")]
            metrics,
            ..args
        })
    }

    fn take_http(arguments: &mut Vec<OsString>) -> Result<Self> {
        let own = arguments.iter().take_while(|argument| *argument != "--");
        let own: Vec<_> = own.map(|argument| argument.to_str()).collect();
        let end = own.len();
        let is_http = |argument: &Option<&str>| {
            argument.is_some_and(|text| text == HTTP || text.starts_with("--http="))
        };
        let Some(at) = own.iter().position(is_http) else {
            return Ok(Self::default());
        };
        let (address, taken) = match own[at].and_then(|text| text.strip_prefix("--http=")) {
            Some(address) => (Some(address), 1),
            None => (own.get(at + 1).copied().flatten(), 2),
        };
        // An option in this place means that the address is missing.
        let address = address.filter(|address| !address.is_empty() && !address.starts_with('-'));
        let Some(address) = address.map(str::to_owned) else {
            return Err(Error::new(
                "--http needs an address, as in --http 127.0.0.1:8080",
            ));
        };
        arguments.drain(at..end.min(at + taken));
        Ok(Self {
            http: Some(address),
            ..Self::default()
        })
    }

    /// Takes the arguments of a server that are all of a program's options.
    ///
    /// # Errors
    /// As [`take_from`](Self::take_from), and for an option that a server does not have.
    pub(super) fn take_only(arguments: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let mut arguments = arguments.into_iter().collect();
        let args = Self::take_from(&mut arguments)?;
        let mut rest = arguments.iter().take_while(|argument| *argument != "--");
        let Some(unknown) = rest.find(|argument| argument.as_encoded_bytes().starts_with(b"-"))
        else {
            return Ok(args);
        };
        let unknown = Foreign::cut(&unknown.to_string_lossy(), MAX_OPTION_CHARS).to_string();
        let name = unknown.split('=').next().unwrap_or_default();
        if name == METRICS && !cfg!(feature = "prometheus") {
            return Err(Error::new(
                "--metrics needs the feature \"prometheus\" of the crate turnbuckle: cargo add \
                 turnbuckle --features prometheus",
            ));
        }
        let (options, known): (&[&str], _) = match cfg!(feature = "prometheus") {
            true => (
                &[HTTP, METRICS],
                "the only ones are --http ADDRESS and --metrics;",
            ),
            false => (&[HTTP], "the only one is --http ADDRESS;"),
        };
        let question = did_you_mean(name, options.iter().copied());
        let question = question.unwrap_or_else(|| known.to_owned());
        Err(Error::new(format!(
            "there is no option {unknown:?}: {question} a program with options of its own reads them and \
             calls Run::run_with"
        )))
    }

    /// Sets the options of a server on HTTP. They have no effect on standard input and output.
    #[cfg(feature = "http")]
    #[cfg_attr(docsrs, doc(cfg(feature = "http")))]
    #[must_use]
    pub fn http_options(mut self, options: crate::http::HttpServerOptions) -> Self {
        self.http_options = options;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the address, and the arguments that remain.
    fn take(arguments: &[&str]) -> Result<(Option<String>, Vec<String>), String> {
        let mut arguments = arguments.iter().map(OsString::from).collect();
        let args = RunArgs::take_from(&mut arguments).map_err(|error| error.to_string())?;
        let rest = arguments.into_iter();
        Ok((
            args.http,
            rest.map(|it| it.into_string().unwrap()).collect(),
        ))
    }

    #[test]
    fn the_arguments_of_a_server_are_taken_out_and_others_remain() {
        for (arguments, address, rest) in [
            (&[][..], None, &[][..]),
            (&["--verbose", "file"], None, &["--verbose", "file"]),
            (&["--https", "--httpx=1"], None, &["--https", "--httpx=1"]),
            (
                &["--", "--http", "localhost:1"],
                None,
                &["--", "--http", "localhost:1"],
            ),
            (&["--http", "localhost:1"], Some("localhost:1"), &[]),
            (
                &["-v", "--http=[::1]:0", "x"],
                Some("[::1]:0"),
                &["-v", "x"],
            ),
            (
                &["a", "--http", "[::1]:0", "--", "b"],
                Some("[::1]:0"),
                &["a", "--", "b"],
            ),
        ] {
            let (taken, remaining) = take(arguments).unwrap();
            assert_eq!(taken.as_deref(), address, "{arguments:?}");
            assert_eq!(remaining, rest, "{arguments:?}");
        }
    }

    #[test]
    fn an_option_that_a_server_does_not_have_is_an_error() {
        let take = |arguments: &[&str]| {
            let taken = RunArgs::take_only(arguments.iter().map(OsString::from));
            taken
                .map(|args| args.http)
                .map_err(|error| error.to_string())
        };
        let error = take(&["--htp", "127.0.0.1:3000"]).unwrap_err();
        assert!(
            error.contains("\"--htp\": did you mean \"--http\"?"),
            "{error}"
        );
        let error = take(&["--http", "[::1]:0", "-v"]).unwrap_err();
        assert!(
            error.contains("\"-v\": the only one") && error.contains("--http ADDRESS"),
            "{error}"
        );
        assert_eq!(take(&["file", "--", "--verbose"]), Ok(None));
        assert_eq!(
            take(&["--http=[::1]:0", "file"]),
            Ok(Some("[::1]:0".to_owned()))
        );
    }

    #[cfg(feature = "prometheus")]
    #[test]
    fn metrics_are_taken_with_http_alone() {
        let take = |arguments: &[&str]| {
            let mut arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
            let taken = RunArgs::take_from(&mut arguments);
            let taken = taken.map(|args| (args.http.is_some(), args.metrics, arguments.len()));
            taken.map_err(|error| error.to_string())
        };
        assert_eq!(
            take(&["--metrics", "--http", "[::1]:0"]),
            Ok((true, true, 0))
        );
        assert_eq!(
            take(&["--http=[::1]:0", "--metrics", "x"]),
            Ok((true, true, 1))
        );
        assert_eq!(
            take(&["--http=[::1]:0", "--", "--metrics"]),
            Ok((true, false, 2))
        );
        let error = take(&["--metrics"]).unwrap_err();
        assert!(
            error.contains("--metrics needs a server on HTTP"),
            "{error}"
        );
        // An address is not taken for an option, nor an option for an address.
        assert!(take(&["--http", "--metrics"]).is_err());
    }

    #[test]
    fn a_missing_address_is_an_error() {
        for arguments in [
            &["--http"][..],
            &["--http="],
            &["--http", "--verbose"],
            &["--http", "--"],
        ] {
            let error = take(arguments).unwrap_err();
            assert!(error.contains("--http needs an address"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn non_utf8_arguments_are_ignored_unless_they_are_the_address() {
        use std::os::unix::ffi::OsStringExt;

        let strange = || OsString::from_vec(vec![0xff]);
        let mut arguments = vec![strange()];
        assert_eq!(RunArgs::take_from(&mut arguments).unwrap().http, None);
        assert_eq!(arguments, [strange()]);
        assert!(RunArgs::take_from(&mut vec!["--http".into(), strange()]).is_err());
    }

    #[cfg(feature = "clap")]
    #[test]
    fn a_clap_parser_takes_them_beside_its_own() {
        use clap::Parser;

        #[derive(Parser)]
        struct Options {
            #[arg(long)]
            write: bool,
            #[command(flatten)]
            run: RunArgs,
        }
        let options = Options::try_parse_from(["files", "--http", "localhost:1", "--write"]);
        let options = options.unwrap_or_else(|error| panic!("{error}"));
        assert!(options.write);
        assert_eq!(options.run.http.as_deref(), Some("localhost:1"));
        assert!(Options::try_parse_from(["files", "--http"]).is_err());
    }
}
