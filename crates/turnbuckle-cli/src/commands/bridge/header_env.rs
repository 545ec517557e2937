//! Headers of clients that become variables of their command's environment.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use serde_json::json;
use tower_layer::Layer;
use tower_service::Service;
use turnbuckle::HandlerContext;
use turnbuckle::http::{HttpRoutes, RequestBody, ResponseBody};
use turnbuckle::servers::UpstreamOptions;
use turnbuckle::stdio::Command;
use turnbuckle_wire::rpc::code;

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

    /// Returns the layer of the server through which the requests come.
    pub(super) fn check(&self) -> HeaderCheck {
        HeaderCheck(self.variables.clone())
    }

    /// Returns the values of a request's headers as JSON.
    fn values(&self, context: &HandlerContext) -> String {
        let header = |it: &HeaderVariable| context.http()?.header(&it.header);
        let values: Vec<Option<&str>> = self.variables.iter().map(header).collect();
        // A list of strings is always JSON.
        serde_json::to_string(&values).unwrap_or_default()
    }

    /// Returns the command with these values.
    fn command(&self, values: &str) -> Result<Command, serde_json::Error> {
        let values: Vec<Option<String>> = serde_json::from_str(values)?;
        let values = self.variables.iter().zip(values);
        let values = values.filter_map(|(it, value)| Some((&it.variable, value?)));
        Ok(self.command.clone().envs(values))
    }
}

/// A layer that refuses requests with a header that cannot be the value of its variable. Without it, their client would get
/// a command without the variable.
#[derive(Clone)]
pub(super) struct HeaderCheck(Arc<[HeaderVariable]>);

impl Layer<HttpRoutes> for HeaderCheck {
    type Service = CheckedRoutes;

    fn layer(&self, inner: HttpRoutes) -> CheckedRoutes {
        let variables = self.0.clone();
        CheckedRoutes { variables, inner }
    }
}

/// The routes of a server behind a [`HeaderCheck`].
#[derive(Clone)]
pub(super) struct CheckedRoutes {
    variables: Arc<[HeaderVariable]>,
    inner: HttpRoutes,
}

impl Service<Request<RequestBody>> for CheckedRoutes {
    type Response = Response<Either<Full<Bytes>, ResponseBody>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let is_value =
            |value: &[u8]| value.len() <= MAX_VALUE_BYTES && str::from_utf8(value).is_ok();
        let headers = request.headers();
        let mut variables = self.variables.iter();
        let wrong = variables.find(|it| {
            let value = headers.get(&it.header);
            value.is_some_and(|value| !is_value(value.as_bytes()))
        });
        if let Some(wrong) = wrong {
            let header = &wrong.header;
            let message =
                format!("the header {header} is not UTF-8, or longer than {MAX_VALUE_BYTES} bytes");
            let error = json!({"code": code::INVALID_REQUEST, "message": message});
            let body = json!({"jsonrpc": "2.0", "error": error}).to_string();
            let mut response = Response::new(Either::Left(Full::from(body)));
            *response.status_mut() = StatusCode::BAD_REQUEST;
            let json = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, json);
            return Box::pin(async { Ok(response) });
        }
        let answer = self.inner.call(request);
        Box::pin(async { Ok(answer.await?.map(Either::Right)) })
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
