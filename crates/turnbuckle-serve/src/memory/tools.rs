//! The tools, and the resource with the whole graph.

use std::sync::Arc;

use serde::Serialize;
use tokio::sync::Semaphore;
use turnbuckle::prelude::*;
use turnbuckle::types::CallToolResult;

use super::file::GraphFile;
use super::graph::{AddedObservations, Deletion, Entity, Graph, NewObservations, Relation, View};
use crate::fault;
use crate::output::{pretty, schema_of, with_text};

/// The graphs that are read at a time. Other calls wait.
const MAX_CONCURRENT: usize = 4;

/// The URI of the graph.
const GRAPH_URI: &str = "memory://knowledge-graph";

/// The tools of the server.
pub(super) struct Memory {
    file: Arc<GraphFile>,
    permits: Arc<Semaphore>,
}

/// The structured content of `create_entities`.
#[data]
struct CreatedEntities {
    entities: Vec<Entity>,
}

/// The structured content of `create_relations`.
#[data]
struct CreatedRelations {
    relations: Vec<Relation>,
}

/// The structured content of `add_observations`.
#[data]
struct ObservationResults {
    results: Vec<AddedObservations>,
}

/// The structured content of the tools that delete.
#[data]
struct Deleted {
    success: bool,
    message: String,
}

impl Memory {
    /// Creates the tools for a file.
    pub(super) fn new(file: GraphFile) -> Self {
        Self {
            file: Arc::new(file),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }
    }

    /// Runs a change of the graph and notifies those who have subscribed to it.
    fn change<T>(
        &self,
        server: &Server,
        change: impl FnOnce(&mut Graph) -> fault::Result<T>,
    ) -> Result<T> {
        let changed = self
            .file
            .change(change)
            .map_err(IntoFailure::into_failure)?;
        server.notify_resource_updated(GRAPH_URI);
        Ok(changed)
    }

    fn delete(
        &self,
        server: &Server,
        message: &str,
        delete: impl FnOnce(&mut Graph),
    ) -> Result<CallToolResult> {
        self.change(server, |graph| {
            delete(graph);
            Ok(())
        })?;
        let deleted = Deleted {
            success: true,
            message: message.to_owned(),
        };
        with_text(message, &deleted)
    }

    /// Reads the graph and looks at it: at once if it is small, else on a thread that may wait.
    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(Graph) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.file.is_small() {
            return look(self.file.read().map_err(IntoFailure::into_failure)?);
        }
        let permit = self.permits.clone().acquire_owned().await?;
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            look(file.read().map_err(IntoFailure::into_failure)?)
        });
        reading.await?
    }
}

/// Returns a value as JSON on several lines.
fn json<T: Serialize>(value: &T) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

#[server]
impl Memory {
    /// Adds entities to the graph. Names that are there are passed over.
    #[tool(title = "Create Entities", blocking, read_only = false, destructive = false, idempotent = false, open_world = false, output_schema = schema_of::<CreatedEntities>())]
    fn create_entities(&self, entities: Vec<Entity>, server: Server) -> Result<CallToolResult> {
        let entities = self.change(&server, |graph| Ok(graph.create_entities(entities)))?;
        with_text(json(&entities)?, &CreatedEntities { entities })
    }

    /// Adds relations to the graph. Name them in the active voice, such as `works at`.
    #[tool(title = "Create Relations", blocking, read_only = false, destructive = false, idempotent = false, open_world = false, output_schema = schema_of::<CreatedRelations>())]
    fn create_relations(&self, relations: Vec<Relation>, server: Server) -> Result<CallToolResult> {
        let relations = self.change(&server, |graph| Ok(graph.create_relations(relations)))?;
        with_text(json(&relations)?, &CreatedRelations { relations })
    }

    /// Adds observations to entities that are there. Adds none if one entity is missing.
    #[tool(title = "Add Observations", blocking, read_only = false, destructive = false, idempotent = false, open_world = false, output_schema = schema_of::<ObservationResults>())]
    fn add_observations(
        &self,
        observations: Vec<NewObservations>,
        server: Server,
    ) -> Result<CallToolResult> {
        let results = self.change(&server, |graph| graph.add_observations(observations))?;
        with_text(json(&results)?, &ObservationResults { results })
    }

    /// Deletes entities, with the relations from and to them.
    #[tool(title = "Delete Entities", rename_all = "camelCase", blocking, read_only = false, destructive = true, idempotent = true, open_world = false, output_schema = schema_of::<Deleted>())]
    fn delete_entities(
        &self,
        /// Names of the entities
        entity_names: Vec<String>,
        server: Server,
    ) -> Result<CallToolResult> {
        let message = "Entities deleted successfully";
        self.delete(&server, message, |graph| {
            graph.delete_entities(entity_names)
        })
    }

    /// Deletes observations of entities.
    #[tool(title = "Delete Observations", blocking, read_only = false, destructive = true, idempotent = true, open_world = false, output_schema = schema_of::<Deleted>())]
    fn delete_observations(
        &self,
        deletions: Vec<Deletion>,
        server: Server,
    ) -> Result<CallToolResult> {
        let message = "Observations deleted successfully";
        self.delete(&server, message, |graph| {
            graph.delete_observations(deletions)
        })
    }

    /// Deletes relations.
    #[tool(title = "Delete Relations", blocking, read_only = false, destructive = true, idempotent = true, open_world = false, output_schema = schema_of::<Deleted>())]
    fn delete_relations(
        &self,
        /// Relations to delete
        relations: Vec<Relation>,
        server: Server,
    ) -> Result<CallToolResult> {
        let message = "Relations deleted successfully";
        self.delete(&server, message, |graph| graph.delete_relations(relations))
    }

    /// Returns all entities and relations.
    #[tool(title = "Read Graph", read_only = true, destructive = false, idempotent = true, open_world = false, output_schema = schema_of::<View>())]
    async fn read_graph(&self) -> Result<CallToolResult> {
        self.read(|graph| pretty(&graph.into_view())).await
    }

    /// Finds entities whose name, type or observations contain a text, with their relations.
    #[tool(title = "Search Nodes", read_only = true, destructive = false, idempotent = true, open_world = false, output_schema = schema_of::<View>())]
    async fn search_nodes(
        &self,
        /// The text to find, in upper or lower case
        query: String,
    ) -> Result<CallToolResult> {
        self.read(move |graph| pretty(&graph.search(&query))).await
    }

    /// Returns entities by their names, with their relations.
    #[tool(title = "Open Nodes", read_only = true, destructive = false, idempotent = true, open_world = false, output_schema = schema_of::<View>())]
    async fn open_nodes(
        &self,
        /// Names of the entities
        names: Vec<String>,
    ) -> Result<CallToolResult> {
        self.read(move |graph| pretty(&graph.open(names))).await
    }

    /// All entities and relations
    #[resource(
        "memory://knowledge-graph",
        name = "knowledge-graph",
        title = "Knowledge Graph",
        mime = "application/json"
    )]
    async fn knowledge_graph(&self) -> Result<String> {
        self.read(|graph| json(&graph.into_view())).await
    }
}
