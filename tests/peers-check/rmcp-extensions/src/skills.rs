//! Skills: a server of a folder, and a client that reads and verifies all files of a server's skills.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmcp::handler::server::skill_catalog::SkillCatalog;
use rmcp::model::{
    GetSkillRequestParams, GetSkillResult, ListResourcesResult, ListSkillsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    ResourceContents, ServerCapabilities, ServerConfig, SkillResources, sha256_digest, validate_skills,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RequestContext, ServiceError};
use rmcp::transport::{TokioChildProcess, stdio};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::{Map, Value, json};
use tokio::process::Command;

#[derive(Clone)]
struct Server(Arc<SkillCatalog>);

pub(crate) async fn serve(folder: &Path) -> Result<(), Box<dyn Error>> {
    let server = Server(Arc::new(SkillCatalog::from_dir(folder)?));
    server.serve(stdio()).await?.waiting().await?;
    Ok(())
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(
            ServerCapabilities::builder()
                .enable_resources()
                .enable_skills_with_directory_read()
                .build(),
        )
    }

    async fn list_skills(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        Ok(self.0.list_skills())
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.0.get_skill(&request.uri)
    }

    async fn read_resource_directory(
        &self,
        request: ReadResourceDirectoryRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceDirectoryResult, ErrorData> {
        self.0.read_resource_directory(&request.uri)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.0.resources()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.0.read_resource(&request.uri);
        read.map(Into::into)
            .ok_or_else(|| ErrorData::resource_not_found(request.uri, None))
    }
}

pub(crate) async fn read(program: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut command = Command::new(program);
    command.args(arguments);
    let lifecycle = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::LATEST],
    };
    let client = ().serve_with_lifecycle(TokioChildProcess::new(command)?, lifecycle).await?;
    let skills = client.list_all_skills().await?;
    validate_skills(&skills)?;
    let mut read = Map::new();
    let mut directories = Map::new();
    for skill in &skills {
        let got = client.get_skill(GetSkillRequestParams::new(&skill.uri)).await?;
        assert_eq!(&got.skill, skill, "skills/get and skills/list agree");
        let SkillResources::Files(files) = &skill.resources else {
            continue;
        };
        let mut digests = Map::new();
        for file in files {
            let result = client.read_resource(ReadResourceRequestParams::new(&file.uri)).await?;
            let bytes = match &result.contents[..] {
                [ResourceContents::TextResourceContents { text, .. }] => text.clone().into_bytes(),
                [ResourceContents::BlobResourceContents { blob, .. }] => BASE64_STANDARD.decode(blob)?,
                _ => return Err(format!("{}: not one content", file.uri).into()),
            };
            file.verify(&bytes)?;
            digests.insert(file.uri.clone(), sha256_digest(&bytes).into());
        }
        read.insert(skill.uri.clone(), Value::Object(digests));
        let root = skill.uri.trim_end_matches("/SKILL.md");
        let children = client
            .read_resource_directory(ReadResourceDirectoryRequestParams::new(root))
            .await?;
        let uris: Vec<_> = children.resources.iter().map(|child| child.uri.clone()).collect();
        directories.insert(root.to_owned(), json!(uris));
    }
    let unknown = client.get_skill(GetSkillRequestParams::new("skill://no/such/SKILL.md")).await;
    let code = match unknown {
        Err(ServiceError::McpError(error)) => error.code.0,
        other => return Err(format!("an unknown skill: {other:?}").into()),
    };
    println!("{}", json!({"skills": read, "directories": directories, "unknown": code}));
    client.cancel().await?;
    Ok(())
}
