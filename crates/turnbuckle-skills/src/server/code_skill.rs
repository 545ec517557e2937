//! Skills that are made in code.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use turnbuckle_server::Result as HandlerResult;

use super::content::{Content, media_type};
use super::snapshot::{ServedFile, ServedSkill};
use crate::error::InvalidSkill;
use crate::frontmatter::Frontmatter;
use crate::uri::SkillUri;
use crate::{MAX_RESOURCES, SKILL_FILE};

/// A skill that is made in code, before it is complete.
///
/// ```
/// use turnbuckle_skills::server::SkillBuilder;
///
/// let refunds = SkillBuilder::new("refunds", "Processes refunds by the policy of the company")
///     .prefix(["acme", "billing"])
///     .field("license", "Apache-2.0")
///     .body("# Refunds\n\nRead [the policy](references/policy.md) first.\n")
///     .file("references/policy.md", "Refund within 30 days.\n")
///     .build()?;
/// assert_eq!(refunds.uri().as_str(), "skill://acme/billing/refunds/SKILL.md");
/// # Ok::<(), turnbuckle_skills::InvalidSkill>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct SkillBuilder {
    name: String,
    prefix: Vec<String>,
    source: Source,
    files: Vec<(String, Content)>,
    error: Option<InvalidSkill>,
    is_listed: bool,
}

/// The origin of `SKILL.md`.
#[derive(Debug)]
enum Source {
    /// Frontmatter and a body, of which the file is written.
    Parts {
        fields: Map<String, Value>,
        body: Content,
    },
    /// The file.
    File(Vec<u8>),
}

impl SkillBuilder {
    /// Starts a skill with its name and description. Its `SKILL.md` is written from the [fields](Self::field) and the
    /// [body](Self::body).
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        let mut fields = Map::new();
        fields.insert("name".to_owned(), name.clone().into());
        fields.insert("description".to_owned(), description.into().into());
        Self::from_source(
            name,
            Source::Parts {
                fields,
                body: Content::from_bytes(Vec::new()),
            },
        )
    }

    /// Starts a skill with a complete `SKILL.md`, such as `include_bytes!("SKILL.md")`. Its frontmatter has the name.
    pub fn from_skill_file(skill_file: impl Into<Vec<u8>>) -> Self {
        let file = skill_file.into();
        match Frontmatter::parse(&file) {
            Ok(frontmatter) => Self::from_source(frontmatter.name().to_owned(), Source::File(file)),
            Err(error) => Self {
                error: Some(error),
                ..Self::from_source(String::new(), Source::File(file))
            },
        }
    }

    fn from_source(name: String, source: Source) -> Self {
        Self {
            name,
            prefix: Vec::new(),
            source,
            files: Vec::new(),
            error: None,
            is_listed: true,
        }
    }

    /// Sets the segments of the path before the name: `["acme", "billing"]` for `skill://acme/billing/refunds/SKILL.md`.
    pub fn prefix<S: Into<String>>(mut self, segments: impl IntoIterator<Item = S>) -> Self {
        self.prefix = segments.into_iter().map(Into::into).collect();
        self
    }

    /// Sets a field of the frontmatter, such as `license` or `metadata`.
    pub fn field(mut self, key: impl Into<String>, value: impl Serialize) -> Self {
        match (&mut self.source, serde_json::to_value(value)) {
            (Source::Parts { fields, .. }, Ok(value)) => {
                fields.insert(key.into(), value);
            }
            (_, Err(error)) => self.fail(InvalidSkill::new(error)),
            (Source::File(_), _) => {
                self.fail(InvalidSkill::new("the file has its own frontmatter"))
            }
        }
        self
    }

    /// Sets the text behind the frontmatter.
    pub fn body(mut self, text: impl Into<String>) -> Self {
        self.set_body(Content::from_bytes(text.into().into_bytes()));
        self
    }

    /// Sets a function that makes the text behind the frontmatter for each request. The skill is dynamic then: its
    /// entry has no digests, and hosts may decline it.
    pub fn dynamic_body<F, Fut>(mut self, generate: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<String>> + Send + 'static,
    {
        self.set_body(generator(move || {
            let text = generate();
            async move { text.await.map(String::into_bytes) }
        }));
        self
    }

    /// Adds a file with a path such as `references/policy.md`.
    pub fn file(mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.files
            .push((path.into(), Content::from_bytes(bytes.into())));
        self
    }

    /// Adds a file whose bytes a function makes for each request. The skill is dynamic then: its entry has no digests,
    /// and hosts may decline it.
    pub fn dynamic_file<F, Fut>(mut self, path: impl Into<String>, generate: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = HandlerResult<Vec<u8>>> + Send + 'static,
    {
        self.files.push((path.into(), generator(generate)));
        self
    }

    /// Leaves the skill out of `skills/list`. Clients that know its URI get it all the same.
    pub fn hide_from_list(mut self) -> Self {
        self.is_listed = false;
        self
    }

    fn set_body(&mut self, content: Content) {
        match &mut self.source {
            Source::Parts { body, .. } => *body = content,
            Source::File(_) => self.fail(InvalidSkill::new("the file has its own body")),
        }
    }

    fn fail(&mut self, error: InvalidSkill) {
        self.error.get_or_insert(error);
    }

    /// Builds the skill.
    ///
    /// # Errors
    /// If the frontmatter, the name, the prefix or the path of a file is invalid, a path stands twice, a file has
    /// another as its folder, or there are more than [`MAX_RESOURCES`] files.
    pub fn build(self) -> Result<CodeSkill, InvalidSkill> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let segments = self
            .prefix
            .iter()
            .map(String::as_str)
            .chain([self.name.as_str()]);
        let uri = SkillUri::from_segments(segments)?;
        let (frontmatter, skill_file) = match self.source {
            Source::File(file) => (Frontmatter::parse(&file)?, Content::from_bytes(file)),
            Source::Parts { fields, body } => write_skill_file(fields, body)?,
        };
        if frontmatter.name() != uri.name() {
            return Err(InvalidSkill::new(format_args!(
                "the name {:?} of the frontmatter is not the last segment of the path of {uri}",
                frontmatter.name()
            )));
        }
        if self.files.len() >= MAX_RESOURCES {
            return Err(InvalidSkill::new(format_args!(
                "{uri} has more than {MAX_RESOURCES} files"
            )));
        }
        let mut files = BTreeMap::new();
        for (path, content) in [(SKILL_FILE.to_owned(), skill_file)]
            .into_iter()
            .chain(self.files)
        {
            let file = ServedFile {
                mime_type: media_type(&path, &content),
                content,
            };
            if files.insert(uri.file(&path)?, file).is_some() {
                return Err(InvalidSkill::new(format_args!(
                    "the file {path:?} of {uri} stands twice"
                )));
            }
        }
        for file in files.keys() {
            let mut folder = file.as_str();
            while let Some((parent, _)) = folder
                .rsplit_once('/')
                .filter(|(parent, _)| parent.len() > uri.root().len())
            {
                if files.contains_key(parent) {
                    return Err(InvalidSkill::new(format_args!(
                        "{parent} is both a file and a folder"
                    )));
                }
                folder = parent;
            }
        }
        Ok(CodeSkill(ServedSkill {
            uri,
            frontmatter,
            files: files
                .into_iter()
                .map(|(uri, file)| (uri, Arc::new(file)))
                .collect(),
            folders: Vec::new(),
            place: None,
            is_listed: self.is_listed,
        }))
    }
}

/// A skill that was made in code.
#[derive(Debug)]
pub struct CodeSkill(pub(super) ServedSkill);

impl CodeSkill {
    /// Returns the URI of the skill's `SKILL.md`.
    #[must_use]
    pub fn uri(&self) -> &SkillUri {
        &self.0.uri
    }
}

fn generator<F, Fut>(generate: F) -> Content
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = HandlerResult<Vec<u8>>> + Send + 'static,
{
    Content::Generated {
        start: "".into(),
        generate: Arc::new(move || Box::pin(generate())),
    }
}

/// Writes a `SKILL.md` whose frontmatter is read back as the same fields.
fn write_skill_file(
    fields: Map<String, Value>,
    body: Content,
) -> Result<(Frontmatter, Content), InvalidSkill> {
    let frontmatter = Frontmatter::from_fields(fields)?;
    let mut text = "---\n".to_owned();
    for (key, value) in frontmatter.fields() {
        // JSON is YAML, in the flow style.
        text.push_str(&format!("{}: {value}\n", Value::from(key.as_str())));
    }
    text.push_str("---\n");
    let read_back = Frontmatter::parse(text.as_bytes())?;
    if let Some(field) = frontmatter.difference(&read_back) {
        return Err(InvalidSkill::new(format_args!(
            "the field {field} cannot be written as YAML"
        )));
    }
    let file = match body {
        Content::Stored(body) => {
            let mut file = text.into_bytes();
            file.extend_from_slice(body.bytes());
            Content::from_bytes(file)
        }
        Content::Generated { generate, .. } => Content::Generated {
            start: text.into(),
            generate,
        },
    };
    Ok((frontmatter, file))
}
