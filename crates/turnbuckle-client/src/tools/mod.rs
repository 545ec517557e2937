//! The definitions of the server's tools, as far as calls need them: the arguments that HTTP
//! headers mirror, the annotations, and the output schemas.
//!
//! Specification: server/tools, "Output Schema" (2026-07-28).

pub(crate) mod invalid_items;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use turnbuckle_schema::{SchemaError, SchemaLimits, Validator};

use turnbuckle_types::method::ListTools;
use turnbuckle_types::{CallToolResult, ListToolsResult, Request, Schema, TaskSupportLevel, Tool};
use turnbuckle_wire::era::{ParamHeader, param_headers};

use crate::connection::Connection;
use crate::error::Error;
use crate::tools::invalid_items::InvalidItemReporter;

/// The most tools that are recorded. Other tools can be called, but their results are not checked.
const MAX_TOOLS: usize = 10_000;
/// The most bytes of recorded definitions.
const MAX_DEFINITION_BYTES: usize = 32 << 20;
/// The most validators that stay compiled. One more drops the oldest.
const MAX_COMPILED: usize = 256;

/// The definitions of tools from the lists that the client has read.
#[derive(Default)]
pub(crate) struct ToolDefinitions {
    state: RwLock<ToolTable>,
    /// The number of `notifications/tools/list_changed` so far.
    changes: AtomicU64,
    /// Reports tools and other items that are left out of lists.
    pub(crate) invalid_items: InvalidItemReporter,
    /// The limits of output schemas, if they are not the default ones.
    pub(crate) limits: OnceLock<SchemaLimits>,
}

/// The recorded tools.
#[derive(Default)]
struct ToolTable {
    known: HashMap<String, KnownTool>,
    bytes: usize,
    /// The tools with a compiled validator, the oldest first.
    compiled: VecDeque<String>,
}

/// One recorded tool.
struct KnownTool {
    headers: Arc<[ParamHeader]>,
    /// True if the annotations say that a second call does no harm.
    retry_safe: bool,
    /// The part of the tool's calls that are tasks of the core.
    tasks: TaskSupportLevel,
    output: Option<OutputSchema>,
    /// The version of the list that the definition came with.
    version: DefinitionVersion,
    /// The bytes that count against [`MAX_DEFINITION_BYTES`].
    size: usize,
}

/// The version of a list of tools: the connection, and the number of changes before the list was
/// read.
#[derive(Clone, Copy, PartialEq, Eq)]
struct DefinitionVersion(u64, u64);

/// The output schema of a tool.
#[derive(Clone)]
enum OutputSchema {
    Declared(Arc<DeclaredSchema>),
    /// A schema that exceeded [`MAX_DEFINITION_BYTES`].
    Dropped,
}

/// A schema and, once it was needed, its validator.
struct DeclaredSchema {
    schema: Schema,
    compiled: OnceLock<Result<Validator, SchemaError>>,
}

impl ToolDefinitions {
    fn read(&self) -> RwLockReadGuard<'_, ToolTable> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ToolTable> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn version(&self, connection: &Connection) -> DefinitionVersion {
        DefinitionVersion(connection.generation, self.changes.load(Ordering::Relaxed))
    }

    /// Records the tools of a page and removes those whose HTTP headers are not valid.
    pub(crate) fn record_page(&self, connection: &Connection, list: &mut ListToolsResult) {
        let version = self.version(connection);
        // Calls wait for the lock: no schema is read and no callback is called under it.
        list.tools
            .retain(|tool| match param_headers(&tool.input_schema) {
                Ok(headers) => {
                    self.write().record(tool, headers, version);
                    true
                }
                // Without mirrored headers, an invalid annotation of one does no harm.
                Err(_) if !connection.mirrors_headers() => {
                    self.write().record(tool, Vec::new(), version);
                    true
                }
                Err(error) => {
                    self.write().forget(&tool.name);
                    self.invalid_items
                        .report(ListTools::METHOD, &tool.name, &error.to_string());
                    false
                }
            });
    }

    /// Takes note that the server's tools changed.
    pub(crate) fn mark_changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether a tool is recorded, but in a version that may have changed since.
    pub(crate) fn is_outdated(&self, connection: &Connection, tool: Option<&str>) -> bool {
        let version = self.version(connection);
        let state = self.read();
        tool.and_then(|tool| state.known.get(tool))
            .is_some_and(|known| known.version != version)
    }

    /// Returns the arguments of a tool that headers mirror; `None` for an unknown tool.
    pub(crate) fn param_headers(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let state = self.read();
        state.known.get(tool).map(|known| known.headers.clone())
    }

    /// Returns whether a tool's annotations say that a second call does no harm.
    pub(crate) fn is_retry_safe(&self, tool: &str) -> bool {
        let state = self.read();
        state.known.get(tool).is_some_and(|known| known.retry_safe)
    }

    /// Returns the part of a tool's calls that are tasks of the core; `None` for an unknown tool.
    pub(crate) fn task_support(&self, tool: &str) -> Option<TaskSupportLevel> {
        let state = self.read();
        state.known.get(tool).map(|known| known.tasks)
    }

    /// Checks the structured content of a result against the tool's output schema.
    pub(crate) fn check_structured_content(
        &self,
        connection: &Connection,
        tool: &str,
        result: &CallToolResult,
    ) -> Result<(), Error> {
        if !connection.negotiated_revision.features().structured_output || result.is_error() {
            return Ok(());
        }
        let Some(output) = self.output(tool) else {
            return Ok(());
        };
        let mismatch = |reason: String| Error::OutputMismatch {
            tool: tool.to_owned(),
            reason,
        };
        let value = result
            .structured_content
            .as_ref()
            .ok_or_else(|| mismatch("the result has no structured content".into()))?;
        let validator =
            self.validator(tool, &output)
                .map_err(|reason| Error::UnusableOutputSchema {
                    tool: tool.to_owned(),
                    reason,
                })?;
        validator
            .validate(value.into())
            .map_err(|found| mismatch(found.describe("structuredContent").to_string()))
    }

    fn output(&self, tool: &str) -> Option<OutputSchema> {
        self.read().known.get(tool)?.output.clone()
    }

    /// Returns the validator of a tool's results, compiled at its first use.
    fn validator<'o>(&self, tool: &str, output: &'o OutputSchema) -> Result<&'o Validator, String> {
        let OutputSchema::Declared(declared) = output else {
            return Err("the definitions of the server's tools take too much room".into());
        };
        let mut is_new = false;
        let validator = declared.compiled.get_or_init(|| {
            is_new = true;
            let limits = self.limits.get().copied().unwrap_or_default();
            Validator::compile_within(&declared.schema, &limits)
        });
        if is_new {
            self.write().record_compiled(tool);
        }
        validator.as_ref().map_err(SchemaError::to_string)
    }
}

/// Returns the part of a tool's calls that are tasks of the core, as its definition says.
fn task_support(tool: &Tool) -> TaskSupportLevel {
    let execution = tool.execution.as_ref();
    let declared = execution.and_then(|execution| execution.task_support);
    declared.unwrap_or(TaskSupportLevel::Forbidden)
}

impl ToolTable {
    fn record(&mut self, tool: &Tool, headers: Vec<ParamHeader>, version: DefinitionVersion) {
        let before = self.forget(&tool.name);
        let mut size = tool.name.len();
        if !headers.is_empty() {
            let path_sizes = headers.iter().map(|param| size_of_val(&*param.path));
            size += tool.input_schema.as_str().len() + path_sizes.sum::<usize>();
        }
        if self.known.len() >= MAX_TOOLS || self.bytes + size > MAX_DEFINITION_BYTES {
            return;
        }
        let output = tool.output_schema.as_ref().map(|schema| {
            let wanted = schema.as_str().len();
            if self.bytes + size + wanted > MAX_DEFINITION_BYTES {
                return OutputSchema::Dropped;
            }
            size += wanted;
            // The validator of an unchanged schema stays compiled.
            let same = before.and_then(|before| before.output);
            same.filter(|output| output.has_text(schema))
                .unwrap_or_else(|| OutputSchema::new(schema))
        });
        let hints = tool.annotations.as_ref();
        let known = KnownTool {
            headers: headers.into(),
            retry_safe: hints.is_some_and(|hints| {
                hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
            }),
            tasks: task_support(tool),
            output,
            version,
            size,
        };
        self.bytes += size;
        self.known.insert(tool.name.clone(), known);
    }

    fn forget(&mut self, tool: &str) -> Option<KnownTool> {
        let known = self.known.remove(tool)?;
        self.bytes -= known.size;
        Some(known)
    }

    fn record_compiled(&mut self, tool: &str) {
        self.compiled.retain(|name| name != tool);
        self.compiled.push_back(tool.to_owned());
        if self.compiled.len() <= MAX_COMPILED {
            return;
        }
        let oldest = self.compiled.pop_front();
        let known = oldest.and_then(|oldest| self.known.get_mut(&oldest));
        if let Some(known) = known
            && let Some(OutputSchema::Declared(declared)) = &known.output
        {
            known.output = Some(OutputSchema::new(&declared.schema));
        }
    }
}

impl OutputSchema {
    fn new(schema: &Schema) -> Self {
        Self::Declared(Arc::new(DeclaredSchema {
            schema: schema.clone(),
            compiled: OnceLock::new(),
        }))
    }

    fn has_text(&self, schema: &Schema) -> bool {
        matches!(self, Self::Declared(declared) if declared.schema.as_str() == schema.as_str())
    }
}

impl fmt::Debug for ToolDefinitions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.read();
        f.debug_struct("ToolDefinitions")
            .field("known", &state.known.len())
            .finish_non_exhaustive()
    }
}
