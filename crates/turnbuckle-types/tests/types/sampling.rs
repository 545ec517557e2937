//! Tool uses and tool results of a conversation stay in pairs.

use turnbuckle_types::{
    PairingFault, RawObject, Role, SamplingMessage, SamplingMessageContentBlock, ToolResultContent,
    ToolUseContent, ToolUsePairingError, check_tool_use_pairing,
};

fn uses(ids: &[&str]) -> SamplingMessage {
    let blocks = ids
        .iter()
        .map(|id| ToolUseContent::new(*id, "tool", RawObject::empty()).into());
    SamplingMessage::assistant(blocks.collect::<Vec<SamplingMessageContentBlock>>())
}

fn results(ids: &[&str]) -> SamplingMessage {
    let blocks = ids.iter().map(|id| ToolResultContent::new(*id).into());
    SamplingMessage::user(blocks.collect::<Vec<SamplingMessageContentBlock>>())
}

fn fault(messages: &[SamplingMessage]) -> (usize, PairingFault) {
    let ToolUsePairingError { message, fault, .. } = check_tool_use_pairing(messages).unwrap_err();
    (message, fault)
}

#[test]
fn whole_conversations_pass() {
    check_tool_use_pairing(&[]).unwrap();
    check_tool_use_pairing(&[
        SamplingMessage::user("hi"),
        SamplingMessage::assistant("ho"),
    ])
    .unwrap();
    check_tool_use_pairing(&[
        SamplingMessage::user("hi"),
        uses(&["a", "b"]),
        results(&["b", "a"]),
        uses(&["a"]),
        results(&["a"]),
        SamplingMessage::assistant("done"),
    ])
    .unwrap();
}

#[test]
fn text_may_stand_beside_a_tool_use() {
    let speech = SamplingMessageContentBlock::text("Let me look.");
    let tool_use = ToolUseContent::new("a", "tool", RawObject::empty()).into();
    let message = SamplingMessage::assistant(vec![speech, tool_use]);
    check_tool_use_pairing(&[message, results(&["a"])]).unwrap();
}

#[test]
fn every_use_is_answered_at_once() {
    assert_eq!(fault(&[uses(&["a"])]), (1, PairingFault::MissingToolResult));
    assert_eq!(
        fault(&[uses(&["a", "b"]), results(&["a"])]),
        (1, PairingFault::MissingToolResult)
    );
    let late = [uses(&["a"]), SamplingMessage::user("wait"), results(&["a"])];
    assert_eq!(fault(&late), (1, PairingFault::MissingToolResult));
    assert_eq!(
        fault(&[uses(&["a"]), uses(&["b"]), results(&["b"])]),
        (1, PairingFault::MissingToolResult)
    );
}

#[test]
fn every_result_answers_a_use() {
    assert_eq!(fault(&[results(&["a"])]), (0, PairingFault::UnknownToolUse));
    assert_eq!(
        fault(&[uses(&["a"]), results(&["a", "b"])]),
        (1, PairingFault::UnknownToolUse)
    );
    assert_eq!(
        fault(&[uses(&["a"]), results(&["a", "a"])]),
        (1, PairingFault::UnknownToolUse)
    );
    let again = [uses(&["a"]), results(&["a"]), results(&["a"])];
    assert_eq!(fault(&again), (2, PairingFault::UnknownToolUse));
}

#[test]
fn results_stand_alone_and_on_their_side() {
    let mixed = SamplingMessage::user(vec![
        SamplingMessageContentBlock::text("Here:"),
        ToolResultContent::new("a").into(),
    ]);
    assert_eq!(
        fault(&[uses(&["a"]), mixed]),
        (1, PairingFault::MixedContent)
    );
    let mut by_user = uses(&["a"]);
    by_user.role = Role::User;
    assert_eq!(fault(&[by_user]), (0, PairingFault::ToolUseByUser));
    let mut by_assistant = results(&["a"]);
    by_assistant.role = Role::Assistant;
    assert_eq!(
        fault(&[uses(&["a"]), by_assistant]),
        (1, PairingFault::ToolResultByAssistant)
    );
    assert_eq!(
        fault(&[uses(&["a", "a"])]),
        (0, PairingFault::DuplicateToolUseId)
    );
}

#[test]
fn a_long_conversation_is_checked_in_reasonable_time() {
    let ids: Vec<String> = (0..100_000).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    check_tool_use_pairing(&[uses(&ids), results(&ids)]).unwrap();
}
