//! The steps that are taken with every server, as `tests/js/servers/README.md` describes them.

mod calls;
mod cancel;
mod changes;
mod lists;
mod prompts;
mod questions;
mod resources;

use std::pin::Pin;

use turnbuckle::Features;

use crate::problem::Problem;
use crate::scene::Scene;

type Taking<'a> = Pin<Box<dyn Future<Output = Result<(), Problem>> + Send + 'a>>;

/// Function that returns a remark about a step in a revision, if there is one.
type Remark = fn(&Features) -> Option<&'static str>;

/// One step.
pub(crate) struct Step {
    /// Name by which the surfaces describe the step.
    pub(crate) name: &'static str,
    /// Takes it; fails unless what has to come of it came.
    pub(crate) take: for<'a> fn(&'a Scene) -> Taking<'a>,
    /// Why a revision has nothing of the kind.
    pub(crate) lacks: Remark,
    /// Remark about the parts of the step that a revision lacks.
    pub(crate) narrows: Remark,
}

impl Step {
    const fn new(name: &'static str, take: for<'a> fn(&'a Scene) -> Taking<'a>) -> Self {
        Self {
            name,
            take,
            lacks: |_| None,
            narrows: |_| None,
        }
    }

    const fn lacks(self, lacks: Remark) -> Self {
        Self { lacks, ..self }
    }

    const fn narrows(self, narrows: Remark) -> Self {
        Self { narrows, ..self }
    }
}

/// Each step, in the order in which they are taken.
pub(crate) const STEPS: &[Step] = &[
    Step::new("lists", |scene| Box::pin(lists::lists(scene))),
    Step::new("structured", |scene| {
        Box::pin(calls::call_structured(scene))
    })
    .lacks(|features| {
        (!features.structured_output).then_some("the revision has no structured output")
    }),
    Step::new("progress", |scene| Box::pin(calls::progress(scene))),
    Step::new("log", |scene| Box::pin(calls::log(scene))),
    Step::new("error", |scene| Box::pin(calls::error(scene))),
    Step::new("read", |scene| Box::pin(resources::read(scene))),
    Step::new("template", |scene| Box::pin(resources::template(scene))),
    Step::new("subscribe", |scene| Box::pin(changes::subscribe(scene))),
    Step::new("list_changed", |scene| {
        Box::pin(changes::list_changed(scene))
    }),
    Step::new("prompt", |scene| Box::pin(prompts::prompt(scene))),
    Step::new("completion", |scene| Box::pin(prompts::completion(scene))),
    Step::new("sampling", |scene| Box::pin(questions::sampling(scene))),
    // Defaults of every kind came to forms together with URLs.
    Step::new("form", |scene| Box::pin(questions::form(scene)))
        .lacks(|features| (!features.elicitation).then_some("the revision has no elicitation"))
        .narrows(|features| {
            let few = "in the revision only booleans have defaults; those that came are demanded";
            (!features.elicitation_url).then_some(few)
        }),
    Step::new("url", |scene| Box::pin(questions::url(scene))).lacks(|features| {
        (!features.elicitation_url).then_some("the revision has no elicitation by URL")
    }),
    Step::new("roots", |scene| Box::pin(questions::roots(scene))),
    Step::new("cancel", |scene| Box::pin(cancel::cancel(scene))),
];
