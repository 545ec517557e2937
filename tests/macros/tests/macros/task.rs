//! The key `task` of `#[tool]`.

use std::time::Duration;

use turnbuckle::{TaskSupport, Tool, item, tool};

#[tool(task)]
fn plain() {}

#[tool(task = "required")]
fn required() {}

#[tool(task(after = Duration::from_secs(5)))]
fn later() {}

#[tool(task(resumable))]
fn resumable() {}

#[tool(task(required, after = Duration::from_millis(2 * 50), resumable))]
fn everything() {}

#[tool(task(required = false))]
fn nothing() {}

#[test]
fn task_sets_what_a_person_would_write() {
    let by_hand = |name: &'static str, support| {
        let tool = Tool::builder(name).task(support);
        format!("{:?}", tool.handler(|| ()))
    };
    let optional = TaskSupport::optional;
    let cases = [
        (item!(plain), by_hand("plain", optional())),
        (
            item!(required),
            by_hand("required", TaskSupport::required()),
        ),
        (
            item!(later),
            by_hand("later", optional().after(Duration::from_secs(5))),
        ),
        (
            item!(resumable),
            by_hand("resumable", optional().resumable()),
        ),
        (
            item!(everything),
            by_hand(
                "everything",
                TaskSupport::required()
                    .after(Duration::from_millis(100))
                    .resumable(),
            ),
        ),
        (item!(nothing), by_hand("nothing", optional())),
    ];
    for (by_attribute, by_hand) in cases {
        assert_eq!(format!("{by_attribute:?}"), by_hand);
    }
}
