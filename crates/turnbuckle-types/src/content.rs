//! Content: what tools return and prompts and samples are made of.
//!
//! Received binary data stay in Base64 text; [`Image`](crate::Image) and [`Audio`](crate::Audio)
//! are for sending some.

use std::borrow::Cow;

use crate::object::object;
use crate::tagged::tagged;
use crate::words::words;
use crate::{Annotations, Icon, Meta, Number, Resource, ResourceContents};

words! {
    /// The sender of a message.
    pub enum Role {
        /// The user, or a program that acts for the user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}

tagged! {
    /// One piece of content of a tool result or a prompt message.
    ///
    /// Specification: server/tools, Tool Result (2026-07-28).
    pub enum ContentBlock by "type" {
        /// Text.
        Text(TextContent) = "text",
        /// A picture.
        Image(ImageContent) = "image",
        /// Sound.
        Audio(AudioContent) = "audio",
        /// A reference to a resource that the client may read.
        ResourceLink(Box<ResourceLink>) = "resource_link",
        /// A resource with its contents.
        Resource(EmbeddedResource) = "resource",
    }
}

object! {
    /// Text for the model or the user, as a block of content.
    pub struct TextContent tagged "type" = "text" {
        /// The text.
        req text: String = "text",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A picture.
    pub struct ImageContent as pub from_base64 tagged "type" = "image" {
        /// The picture in Base64.
        req data: String = "data" is base64,
        /// The media type.
        req mime_type: String = "mimeType",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// Sound.
    pub struct AudioContent as pub from_base64 tagged "type" = "audio" {
        /// The sound in Base64.
        req data: String = "data" is base64,
        /// The media type.
        req mime_type: String = "mimeType",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A reference to a resource, which need not stand in the server's list.
    pub struct ResourceLink tagged "type" = "resource_link" {
        /// The resource's URI.
        req uri: String = "uri" is uri,
        /// The name for programs.
        req name: String = "name",
        /// The name for people.
        opt title: String = "title",
        /// The description, for the model.
        opt description: String = "description",
        /// The media type.
        opt mime_type: String = "mimeType",
        /// The size in bytes, before any encoding.
        opt size: Number = "size" is integer,
        /// The icons.
        opt icons: Vec<Icon> = "icons",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }

    /// A resource with its contents.
    pub struct EmbeddedResource tagged "type" = "resource" {
        /// The contents.
        req resource: ResourceContents = "resource",
        /// Annotations for the reader.
        opt annotations: Annotations = "annotations",
        /// Metadata.
        map meta: Meta = "_meta",
    }
}

/// Writes what the blocks of tools and of sampling do alike with their variant `Text`.
macro_rules! text_blocks {
    ($Block:ident) => {
        impl $Block {
            /// Creates text.
            #[must_use]
            pub fn text(text: impl Into<String>) -> Self {
                Self::Text($crate::TextContent::new(text))
            }

            /// Returns the text, if this is text.
            #[must_use]
            pub fn as_text(&self) -> Option<&str> {
                match self {
                    Self::Text(content) => Some(&content.text),
                    _ => None,
                }
            }
        }

        impl From<&str> for $Block {
            fn from(text: &str) -> Self {
                Self::text(text)
            }
        }

        impl From<String> for $Block {
            fn from(text: String) -> Self {
                Self::text(text)
            }
        }
    };
}
pub(crate) use text_blocks;

text_blocks!(ContentBlock);

impl ContentBlock {
    /// Creates a reference to a resource.
    #[must_use]
    pub fn resource_link(uri: impl Into<String>, name: impl Into<String>) -> Self {
        ResourceLink::new(uri, name).into()
    }

    /// Creates a resource with its contents.
    #[must_use]
    pub fn resource(contents: impl Into<ResourceContents>) -> Self {
        Self::Resource(EmbeddedResource::new(contents))
    }
}

/// Joins those texts that there are, one per line.
pub(crate) fn join_texts<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Cow<'a, str> {
    let mut joined = Cow::Borrowed("");
    for (at, text) in texts.flatten().enumerate() {
        match at {
            0 => joined = Cow::Borrowed(text),
            _ => {
                let joined = joined.to_mut();
                joined.push('\n');
                joined.push_str(text);
            }
        }
    }
    joined
}

impl From<ResourceLink> for ContentBlock {
    fn from(link: ResourceLink) -> Self {
        Self::ResourceLink(Box::new(link))
    }
}

impl From<Resource> for ResourceLink {
    fn from(resource: Resource) -> Self {
        let Resource {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        } = resource;
        Self {
            uri,
            name,
            title,
            description,
            mime_type,
            size,
            icons,
            annotations,
            meta,
            extra,
        }
    }
}
