//! The graph: its lines, and its operations.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use turnbuckle::data;

use crate::fault::{Fault, Result};

/// A thing that has observations.
#[data(rename_all = "camelCase")]
#[derive(Clone)]
pub(super) struct Entity {
    /// Name of the entity, unlike all others
    pub(super) name: String,
    #[schema(description = "Kind of the entity, such as `person`")]
    entity_type: String,
    /// Facts about the entity, one each
    observations: Vec<String>,
}

/// A relation between two entities, which need not exist.
#[data(rename_all = "camelCase")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Relation {
    /// Name of the entity at its start
    from: String,
    /// Name of the entity at its end
    to: String,
    #[schema(description = "Kind of the relation, such as `knows`")]
    relation_type: String,
}

/// Observations to add.
#[data(rename_all = "camelCase")]
pub(super) struct NewObservations {
    /// Name of an entity that is there
    entity_name: String,
    /// Facts to add, one each
    contents: Vec<String>,
}

/// Observations that were added.
#[data(rename_all = "camelCase")]
pub(super) struct AddedObservations {
    entity_name: String,
    added_observations: Vec<String>,
}

/// Observations to delete.
#[data(rename_all = "camelCase")]
pub(super) struct Deletion {
    /// Name of an entity that is there
    entity_name: String,
    /// Facts to delete, as they were added
    observations: Vec<String>,
}

/// Entities and relations.
#[data]
#[derive(Default)]
pub(super) struct View {
    entities: Vec<Entity>,
    relations: Vec<Relation>,
}

/// The whole graph.
#[derive(Default)]
pub(super) struct Graph {
    entities: Vec<Stored<Entity>>,
    relations: Vec<Stored<Relation>>,
}

/// An entity or relation in the file.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    #[serde(flatten)]
    item: T,
    /// The members that only other programs know.
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Line<E, R> {
    Entity(E),
    Relation(R),
}

impl<T> From<T> for Stored<T> {
    fn from(item: T) -> Self {
        let others = Map::new();
        Self { item, others }
    }
}

impl Graph {
    /// Reads the lines of a file.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut graph = Self::default();
        let lines = text.lines().enumerate();
        for (index, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
            // A line of another kind is of a file that belongs to another program.
            match serde_json::from_str(line) {
                Ok(Line::Entity(entity)) => graph.entities.push(entity),
                Ok(Line::Relation(relation)) => graph.relations.push(relation),
                Err(error) => {
                    return Err(Fault::new(format!(
                        "line {} is no entity or relation, so the file is no graph: {error}",
                        index + 1
                    )));
                }
            }
        }
        Ok(graph)
    }

    /// Returns the lines of a file.
    pub(super) fn to_text(&self) -> Result<String> {
        let mut lines = Vec::new();
        for entity in &self.entities {
            lines.push(serde_json::to_string(&Line::<_, ()>::Entity(entity))?);
        }
        for relation in &self.relations {
            lines.push(serde_json::to_string(&Line::<(), _>::Relation(relation))?);
        }
        Ok(lines.join("\n"))
    }

    /// Adds those entities whose names are new, and returns them.
    pub(super) fn create_entities(&mut self, entities: Vec<Entity>) -> Vec<Entity> {
        let names = self.entities.iter().map(|stored| stored.item.name.clone());
        let mut names: HashSet<_> = names.collect();
        let is_new = |entity: &Entity| names.insert(entity.name.clone());
        let new: Vec<_> = entities.into_iter().filter(is_new).collect();
        self.entities.extend(new.iter().cloned().map(Stored::from));
        new
    }

    /// Adds those relations that are new, and returns them.
    pub(super) fn create_relations(&mut self, relations: Vec<Relation>) -> Vec<Relation> {
        let known = self.relations.iter().map(|stored| stored.item.clone());
        let mut known: HashSet<_> = known.collect();
        let is_new = |relation: &Relation| known.insert(relation.clone());
        let new: Vec<_> = relations.into_iter().filter(is_new).collect();
        self.relations.extend(new.iter().cloned().map(Stored::from));
        new
    }

    /// Adds observations that are new, and returns them.
    pub(super) fn add_observations(
        &mut self,
        observations: Vec<NewObservations>,
    ) -> Result<Vec<AddedObservations>> {
        let entities = self.entities.iter_mut().map(|stored| &mut stored.item);
        let mut entities: HashMap<_, _> = entities
            .map(|entity| (entity.name.clone(), &mut entity.observations))
            .collect();
        let add = |new: NewObservations| {
            let known = entities.get_mut(&new.entity_name).ok_or_else(|| {
                Fault::new(format!("Entity with name {} not found", new.entity_name))
            })?;
            let mut all: HashSet<_> = known.iter().cloned().collect();
            let is_new = |content: &String| all.insert(content.clone());
            let added: Vec<_> = new.contents.into_iter().filter(is_new).collect();
            known.extend(added.iter().cloned());
            Ok(AddedObservations {
                entity_name: new.entity_name,
                added_observations: added,
            })
        };
        observations.into_iter().map(add).collect()
    }

    /// Deletes entities, and the relations that they have.
    pub(super) fn delete_entities(&mut self, names: Vec<String>) {
        let names: HashSet<_> = names.into_iter().collect();
        self.entities
            .retain(|stored| !names.contains(&stored.item.name));
        self.relations
            .retain(|Stored { item, .. }| !names.contains(&item.from) && !names.contains(&item.to));
    }

    /// Deletes observations of entities.
    pub(super) fn delete_observations(&mut self, deletions: Vec<Deletion>) {
        let mut deleted: HashMap<String, HashSet<String>> = HashMap::new();
        for deletion in deletions {
            let observations = deleted.entry(deletion.entity_name).or_default();
            observations.extend(deletion.observations);
        }
        for Stored { item: entity, .. } in &mut self.entities {
            if let Some(deleted) = deleted.get(&entity.name) {
                entity
                    .observations
                    .retain(|observation| !deleted.contains(observation));
            }
        }
    }

    /// Deletes relations.
    pub(super) fn delete_relations(&mut self, relations: Vec<Relation>) {
        let deleted: HashSet<_> = relations.into_iter().collect();
        self.relations
            .retain(|stored| !deleted.contains(&stored.item));
    }

    /// Finds entities that have a text in their name, type or observations, whatever the case of its letters.
    pub(super) fn search(self, query: &str) -> View {
        let query = query.to_lowercase();
        let has = |text: &String| text.to_lowercase().contains(&query);
        self.choose(|entity| {
            has(&entity.name) || has(&entity.entity_type) || entity.observations.iter().any(has)
        })
    }

    /// Finds entities by their names.
    pub(super) fn open(self, names: Vec<String>) -> View {
        let names: HashSet<_> = names.into_iter().collect();
        self.choose(|entity| names.contains(&entity.name))
    }

    /// Returns all entities and relations.
    pub(super) fn into_view(self) -> View {
        let entities = self.entities.into_iter().map(|stored| stored.item);
        let relations = self.relations.into_iter().map(|stored| stored.item);
        View {
            entities: entities.collect(),
            relations: relations.collect(),
        }
    }

    /// Returns some entities, and the relations that one of them has.
    fn choose(self, is_chosen: impl Fn(&Entity) -> bool) -> View {
        let all = self.into_view();
        let entities: Vec<_> = all.entities.into_iter().filter(is_chosen).collect();
        let names: HashSet<_> = entities.iter().map(|entity| &entity.name).collect();
        let has_end =
            |relation: &Relation| names.contains(&relation.from) || names.contains(&relation.to);
        let relations = all.relations.into_iter().filter(has_end).collect();
        View {
            entities,
            relations,
        }
    }
}
