//! Credentials in what an API answers: some APIs repeat the request in an error, or in the target of a redirect.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use turnbuckle::types::Json;

use super::options::{Credential, CredentialForm};
use super::request::escape;

/// The bytes of a value that is replaced. A shorter one is part of many words.
const MIN_SECRET_BYTES: usize = 6;

/// The replacement of a secret.
const REDACTED: &str = "[redacted]";

/// The texts of credentials that nobody else may see.
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new(credentials: &[Credential]) -> Self {
        let mut all = Vec::new();
        for text in credentials.iter().flat_map(secrets) {
            let json = Json::encode(&*text).ok();
            let json = json.as_ref().and_then(|json| {
                let text = json.as_str().strip_prefix('"')?;
                text.strip_suffix('"')
            });
            all.extend(json.map(str::to_owned));
            all.push(escape(&text));
            all.push(text);
        }
        all.retain(|text| text.len() >= MIN_SECRET_BYTES);
        // One that holds another is replaced first.
        all.sort_by_key(|text| std::cmp::Reverse(text.len()));
        all.dedup();
        Self(all)
    }

    /// Returns a text without the secrets.
    pub(super) fn redact(&self, text: String) -> String {
        let replace = |text: String, secret: &String| match text.contains(secret) {
            true => text.replace(secret, REDACTED),
            false => text,
        };
        self.0.iter().fold(text, replace)
    }
}

/// Returns the value of a credential, and the parts of it that are secrets by themselves.
fn secrets(credential: &Credential) -> Vec<String> {
    let value = match &credential.place {
        CredentialForm::Query(_, value) => return vec![value.clone()],
        CredentialForm::Header(_, value) => value.to_str().unwrap_or_default(),
    };
    let mut secrets = vec![value.to_owned()];
    secrets.extend(credential.cookies().map(|(_, value)| value.to_owned()));
    // A scheme, and a token or the user and password of HTTP's basic authentication.
    if credential.is_header(&AUTHORIZATION)
        && let Some((_, token)) = value.split_once(' ')
    {
        secrets.push(token.trim().to_owned());
        let login = STANDARD.decode(token).ok();
        let login = login.and_then(|login| String::from_utf8(login).ok());
        let password = login.as_deref().and_then(|login| login.split_once(':'));
        secrets.extend(password.map(|(_, password)| password.to_owned()));
    }
    secrets
}
