//! Damaged input: nothing panics, and what still decodes is stable.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;
use turnbuckle_types::*;

/// A small generator with a fixed seed (xorshift), so that a failure repeats.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

const TOKENS: [&str; 18] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "null",
    "true",
    "-",
    "0",
    "1.10",
    "1e999",
    "\"type\":",
    "\"type\":\"text\",",
    "\\u0000",
    "\"extra\":{},",
    "\u{e9}",
];

fn damage(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..=random.below(3) {
        let at = random.below(chars.len());
        match random.below(4) {
            0 => drop(chars.remove(at)),
            1 => chars.insert(at, TOKENS[random.below(TOKENS.len())].to_owned()),
            2 => chars[at] = TOKENS[random.below(TOKENS.len())].to_owned(),
            _ => {
                let end = (at + random.below(12)).min(chars.len());
                let piece = chars[at..end].concat();
                chars.insert(at, piece);
            }
        }
        if chars.is_empty() {
            break;
        }
    }
    chars.concat()
}

/// Returns the number of damaged forms of the sample that still decode.
fn survive<T: DeserializeOwned + Serialize + Debug + PartialEq>(sample: &str) -> usize {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut decoded = 0;
    for _ in 0..3_000 {
        let text = damage(sample, &mut random);
        let Ok(value) = serde_json::from_str::<T>(&text) else {
            continue;
        };
        let written = serde_json::to_string(&value).unwrap();
        let again: T = serde_json::from_str(&written).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert_eq!(again, value, "{text}");
        assert_eq!(serde_json::to_string(&again).unwrap(), written, "{text}");
        decoded += 1;
    }
    decoded
}

macro_rules! damaged {
    ($($test:ident: $Type:ty, $sample:literal;)+) => { $(
        #[test]
        fn $test() {
            let decoded = survive::<$Type>($sample);
            assert!((30..2_970).contains(&decoded), "{decoded}: the damage is too mild or too hard");
        }
    )+ };
}

damaged! {
    tool: Tool, r#"{"name":"n","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true},"_meta":{"a":1.10}}"#;
    call: CallToolRequestParams, r#"{"name":"n","arguments":{"x":1.10},"inputResponses":{"k":{"action":"accept"}},"requestState":"s"}"#;
    result: CallToolResult, r#"{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"m"}],"isError":true}"#;
    contents: ReadResourceResult, r#"{"contents":[{"uri":"u","text":"a"},{"uri":"u","blob":"AA=="}],"ttlMs":60000}"#;
    sampling: CreateMessageRequestParams, r#"{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"i","content":[]}]}],"maxTokens":10}"#;
    form: ElicitRequestParams, r#"{"mode":"form","message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"]},"b":{"type":"integer","minimum":1}},"required":["a"]}}"#;
    answer: ElicitResult, r#"{"action":"accept","content":{"a":"x","b":1.10,"c":["d"],"e":true}}"#;
    questions: InputRequiredResult, r#"{"inputRequests":{"k":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"u"}}},"requestState":"s"}"#;
    capabilities: ClientCapabilities, r#"{"elicitation":{"url":{}},"sampling":{"tools":{}},"extensions":{"a/b":{"c":1.10}}}"#;
    progress: ProgressNotificationParams, r#"{"progressToken":123456789012345678901,"progress":0.10,"total":1e2}"#;
}
