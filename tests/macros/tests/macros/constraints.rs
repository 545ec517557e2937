//! Constraints of `#[schema(…)]`: each is enforced, or refused when the server is built.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use turnbuckle::{Server, data, prompt, prompts, resource, resources, tool, tools};

use crate::arguments::call_text;

#[data]
struct Name(String);

type Names = Option<Vec<Name>>;

/// A type without `#[data]`, of which only its schema knows the kind.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Code(String);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Age(u8);

#[tool]
fn invite(
    #[schema(min_len = 2)] host: Name,
    #[schema(max_len = 2)] guests: Names,
    #[schema(max_len = 3)] code: Code,
    #[schema(max = 9)] age: Option<Age>,
    #[schema(min_len = 1)] drinks: BTreeMap<String, u8>,
) -> String {
    let names = guests.iter().flatten().map(|name| name.0.as_str());
    let names: Vec<&str> = names.chain([&*host.0, &*code.0]).collect();
    format!(
        "{} {} {}",
        names.join(" "),
        age.map_or(0, |age| age.0),
        drinks.len()
    )
}

#[tokio::test]
async fn constraints_of_newtypes_aliases_and_maps_are_enforced() {
    let server = || Server::new("constraints", "1.0.0").tools(tools![invite]);
    let fits = json!({"host": "Ada", "guests": ["Bo", "Cy"], "code": "abc", "age": 9, "drinks": {"tea": 1}});
    let text = call_text(server(), "invite", fits.clone()).await;
    assert_eq!(text, "Bo Cy Ada abc 9 1");
    for (argument, value) in [
        ("host", json!("A")),
        ("guests", json!(["Bo", "Cy", "Di"])),
        ("code", json!("abcd")),
        ("age", json!(10)),
        ("drinks", json!({})),
    ] {
        let mut wrong = fits.clone();
        wrong[argument] = value;
        let text = call_text(server(), "invite", wrong).await;
        let expected = format!("Invalid arguments for tool \"invite\": arguments.{argument}: ");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[tool]
fn misfit_tool(#[schema(max_len = 3)] age: Age) -> u8 {
    age.0
}

#[prompt]
fn misfit_prompt(#[schema(min = 3)] code: Code) -> String {
    code.0
}

#[resource("codes://{code}")]
fn misfit_resource(#[schema(min = 3)] code: Code) -> String {
    code.0
}

#[test]
fn a_constraint_that_only_the_schema_shows_to_be_wrong_is_refused_when_the_server_is_built() {
    let server = || Server::new("constraints", "1.0.0");
    let error = |server: turnbuckle::ServerBuilder| server.build().unwrap_err().to_string();
    let tool = error(server().tools(tools![misfit_tool]));
    let prompt = error(server().prompts(prompts![misfit_prompt]));
    let resource = error(server().resources(resources![misfit_resource]));
    for (text, expected) in [
        (
            tool,
            [
                "\"misfit_tool\"",
                "`maxLength` at \"/properties/age\"",
                "use `maximum`",
            ],
        ),
        (
            prompt,
            [
                "\"misfit_prompt\"",
                "`minimum` at \"/properties/code\"",
                "use `minLength`",
            ],
        ),
        (
            resource,
            ["\"codes://{code}\"", "`minimum` at", "use `minLength`"],
        ),
    ] {
        for part in expected {
            assert!(text.contains(part), "{text}");
        }
    }
}

/// A day with a text form of its own.
struct Day(String);

impl<'de> serde::Deserialize<'de> for Day {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split('-').count() {
            3 => Ok(Self(text)),
            _ => Err(serde::de::Error::custom(
                "input contains invalid characters",
            )),
        }
    }
}

impl schemars::JsonSchema for Day {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "date"})
    }
}

#[tool]
fn remind(days: Vec<Option<Day>>) -> String {
    let days = days.into_iter().flatten().map(|day| day.0);
    days.collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn an_invalid_date_is_refused_with_the_expected_format() {
    let days: Value = json!({"days": ["1999-12-30", "tomorrow"]});
    let server = Server::new("days", "1.0.0").tools(tools![remind]);
    let text = call_text(server, "remind", days).await;
    assert_eq!(
        text,
        "Invalid arguments for tool \"remind\": arguments.days[1]: input contains invalid \
         characters; expected a date such as \"1999-12-31\""
    );
}
