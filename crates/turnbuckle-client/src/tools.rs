//! What is known of the server's tools from their lists: which arguments headers mirror, and what
//! their structured results have to look like.
//!
//! Specification: server/tools, Output Schema (2026-07-28).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use turnbuckle_schema::{SchemaFault, SchemaLimits, Validator};

use turnbuckle_types::{CallToolResult, ListToolsResult, Schema, Tool};
use turnbuckle_wire::era::{ParamHeader, param_headers};

use crate::Error;
use crate::live::Live;

/// Tools that are remembered. Others are called all the same, without what would be known of them.
const KNOWN: usize = 10_000;
/// What is remembered of them, in bytes of their definitions.
const KNOWN_BYTES: usize = 32 << 20;
/// Validators that are kept compiled; the oldest makes room for another.
const COMPILED: usize = 256;

/// The tools that were listed.
#[derive(Default)]
pub(crate) struct Tools {
    state: RwLock<State>,
    /// Counts how often the server said that its tools changed.
    changes: AtomicU64,
    /// Who hears of a tool that is left out, by name and reason.
    pub(crate) on_invalid: OnceLock<OnInvalid>,
    /// The bounds of the server's schemas, where they are not the usual ones.
    pub(crate) limits: OnceLock<SchemaLimits>,
}

type OnInvalid = Box<dyn Fn(&str, &str) + Send + Sync>;

#[derive(Default)]
struct State {
    known: HashMap<String, Known>,
    bytes: usize,
    /// The tools whose validators are compiled, the oldest first.
    compiled: VecDeque<String>,
}

struct Known {
    headers: Arc<[ParamHeader]>,
    /// Whether a call may be made again: the server says that nothing is lost by it.
    repeatable: bool,
    output: Option<Output>,
    /// When it was listed.
    edition: Edition,
    /// What it takes of [`KNOWN_BYTES`].
    size: usize,
}

/// The connection and the number of changes before a definition was heard.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Edition(u64, u64);

/// What structured results have to look like.
#[derive(Clone)]
enum Output {
    Declared(Arc<Declared>),
    /// There was no room for the schema.
    Forgotten,
}

struct Declared {
    schema: Schema,
    compiled: OnceLock<Result<Validator, SchemaFault>>,
}

impl Tools {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn edition(&self, live: &Live) -> Edition {
        Edition(live.generation, self.changes.load(Ordering::Relaxed))
    }

    /// Notes what a page of tools says, and drops the tools whose definitions are invalid.
    pub(crate) fn learn(&self, live: &Live, list: &mut ListToolsResult) {
        let edition = self.edition(live);
        // Calls wait for the lock: neither a schema is read under it, nor is anybody told.
        list.tools.retain(|tool| match param_headers(&tool.input_schema) {
            Ok(headers) => {
                self.write().learn(tool, headers, edition);
                true
            }
            // Where no header mirrors anything, a mistake about that is none.
            Err(_) if !live.mirrors_headers() => {
                self.write().learn(tool, Vec::new(), edition);
                true
            }
            Err(error) => {
                self.write().forget(&tool.name);
                tracing::warn!(tool = %tool.name, %error, "a tool with an invalid definition is left out");
                if let Some(heard) = self.on_invalid.get() {
                    heard(&tool.name, &error.to_string());
                }
                false
            }
        });
    }

    /// The server says that its tools changed.
    pub(crate) fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a tool is known, but may be another by now.
    pub(crate) fn is_outdated(&self, live: &Live, tool: Option<&str>) -> bool {
        let edition = self.edition(live);
        let state = self.read();
        tool.and_then(|tool| state.known.get(tool))
            .is_some_and(|known| known.edition != edition)
    }

    /// The arguments of a tool that headers mirror, as far as they are known.
    pub(crate) fn headers(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        let state = self.read();
        state.known.get(tool).map(|known| known.headers.clone())
    }

    /// Whether the server says that calling it again does no harm.
    pub(crate) fn is_repeatable(&self, tool: &str) -> bool {
        let state = self.read();
        state.known.get(tool).is_some_and(|known| known.repeatable)
    }

    /// Checks a structured result against the schema that the tool declared.
    pub(crate) fn check(
        &self,
        live: &Live,
        tool: &str,
        result: &CallToolResult,
    ) -> Result<(), Error> {
        if !live.speaks.features().structured_output || result.is_error == Some(true) {
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
            .ok_or_else(|| mismatch("it has no structured content".into()))?;
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

    fn output(&self, tool: &str) -> Option<Output> {
        self.read().known.get(tool)?.output.clone()
    }

    /// The validator of a tool's results, compiled when it is first needed.
    fn validator<'o>(&self, tool: &str, output: &'o Output) -> Result<&'o Validator, String> {
        let Output::Declared(declared) = output else {
            return Err("the definitions of the server's tools take too much room".into());
        };
        let mut is_new = false;
        let validator = declared.compiled.get_or_init(|| {
            is_new = true;
            let limits = self.limits.get().copied().unwrap_or_default();
            Validator::compile_within(&declared.schema, &limits)
        });
        if is_new {
            self.write().note_compiled(tool);
        }
        validator.as_ref().map_err(SchemaFault::to_string)
    }
}

impl State {
    fn learn(&mut self, tool: &Tool, headers: Vec<ParamHeader>, edition: Edition) {
        let before = self.forget(&tool.name);
        let mut size = tool.name.len();
        if !headers.is_empty() {
            let ways = headers.iter().map(|param| size_of_val(&*param.path));
            size += tool.input_schema.as_str().len() + ways.sum::<usize>();
        }
        if self.known.len() >= KNOWN || self.bytes + size > KNOWN_BYTES {
            return;
        }
        let output = tool.output_schema.as_ref().map(|schema| {
            let wanted = schema.as_str().len();
            if self.bytes + size + wanted > KNOWN_BYTES {
                return Output::Forgotten;
            }
            size += wanted;
            // What was compiled of the same schema stays so.
            let same = before.and_then(|before| before.output);
            same.filter(|output| output.is_of(schema))
                .unwrap_or_else(|| Output::declared(schema))
        });
        let hints = tool.annotations.as_ref();
        let known = Known {
            headers: headers.into(),
            repeatable: hints.is_some_and(|hints| {
                hints.read_only_hint == Some(true) || hints.idempotent_hint == Some(true)
            }),
            output,
            edition,
            size,
        };
        self.bytes += size;
        self.known.insert(tool.name.clone(), known);
    }

    fn forget(&mut self, tool: &str) -> Option<Known> {
        let known = self.known.remove(tool)?;
        self.bytes -= known.size;
        Some(known)
    }

    fn note_compiled(&mut self, tool: &str) {
        self.compiled.retain(|name| name != tool);
        self.compiled.push_back(tool.to_owned());
        if self.compiled.len() <= COMPILED {
            return;
        }
        let oldest = self.compiled.pop_front();
        let known = oldest.and_then(|oldest| self.known.get_mut(&oldest));
        if let Some(known) = known
            && let Some(Output::Declared(declared)) = &known.output
        {
            known.output = Some(Output::declared(&declared.schema));
        }
    }
}

impl Output {
    fn declared(schema: &Schema) -> Self {
        Self::Declared(Arc::new(Declared {
            schema: schema.clone(),
            compiled: OnceLock::new(),
        }))
    }

    fn is_of(&self, schema: &Schema) -> bool {
        matches!(self, Self::Declared(declared) if declared.schema.as_str() == schema.as_str())
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.read();
        f.debug_struct("Tools")
            .field("known", &state.known.len())
            .finish_non_exhaustive()
    }
}
