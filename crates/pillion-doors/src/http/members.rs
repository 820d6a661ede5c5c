//! The parameters of a request to a path: members of its body, parts of its address, and what
//! the path says about them itself.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::OnceLock;

use pillion_catalogue::{
    Code, Definition, Error, Fault, Field, MemberLimit, Members, Result, Route, invalid,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// What a path makes of a body.
#[derive(Debug)]
pub(super) struct Shape {
    route: Route,
    definition: Definition,
    /// The members that become parameters, if not all do. To find that out takes a while, and
    /// there are many paths: with the first request.
    taken: OnceLock<Option<HashSet<String>>>,
}

impl Shape {
    pub(super) fn new(definition: &Definition, route: Route) -> Self {
        Self {
            route,
            definition: *definition,
            taken: OnceLock::new(),
        }
    }

    /// The parameters; `named` are those of the address.
    pub(super) fn params(
        &self,
        body: Option<Box<RawValue>>,
        named: &[(String, String)],
    ) -> Result<Option<Box<RawValue>>> {
        let route = &self.route;
        let named = named.iter();
        let named: Vec<(&str, String)> = named
            .map(|(name, value)| (route.parameter(name), json!(value).to_string()))
            .collect();
        let taken = self.taken.get_or_init(|| taken(&self.definition, route));
        let Some(taken) = taken else {
            return with(body, &named);
        };
        // Of members with one name the last counts, as with other servers of such contracts.
        let mut members: Map<String, Value> = match body.as_deref().map(RawValue::get) {
            None | Some("null") => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|error| unreadable(&error))?,
        };
        members.retain(|name, _| taken.contains(name));
        let mut faults = Vec::new();
        for field in route.fields {
            if !members.contains_key(field.name)
                && let Some(default) = field.default.and_then(|d| serde_json::from_str(d).ok())
            {
                members.insert(field.name.to_owned(), default);
            }
            faults.extend(fault(field, members.get(field.name)));
        }
        if !faults.is_empty() {
            return Err(invalid(faults));
        }
        let text = Value::Object(members).to_string();
        let body = RawValue::from_string(text).map_err(Error::internal)?;
        let fixed = route.fixed.iter();
        let fixed = fixed.map(|(name, value)| (*name, (*value).to_owned()));
        with(
            Some(body),
            &named.into_iter().chain(fixed).collect::<Vec<_>>(),
        )
    }
}

/// The members of a body that become parameters, if not all do: no part of the path does.
fn taken(definition: &Definition, route: &Route) -> Option<HashSet<String>> {
    let mut taken: HashSet<String> = match route.members {
        Members::All => return None,
        Members::Listed => route.fields.iter().map(|f| f.name.to_owned()).collect(),
        Members::Known => {
            let schema = definition.params_schema();
            let known = schema.get("properties").and_then(Value::as_object);
            known.into_iter().flat_map(Map::keys).cloned().collect()
        }
    };
    for name in route.parameters().map(|part| route.parameter(part)) {
        taken.remove(name);
    }
    for (name, _) in route.fixed {
        taken.remove(*name);
    }
    Some(taken)
}

/// What is wrong with a member, if something is.
fn fault(field: &Field, value: Option<&Value>) -> Option<Fault> {
    let Some(value) = value else {
        let missing = || Fault::new(field.name, "missing", "Field required");
        return field.is_required.then(missing);
    };
    if value.is_null() && !field.is_required {
        return None;
    }
    let of = |rule: &str, msg: String| Some(Fault::new(field.name, rule, msg).given(value));
    let characters = |count: usize| match count {
        1 => "1 character".to_owned(),
        count => format!("{count} characters"),
    };
    match field.limit {
        MemberLimit::None => None,
        MemberLimit::Length(least, most) => {
            let Some(text) = value.as_str() else {
                return of("string_type", "Input should be a valid string".to_owned());
            };
            let length = text.chars().count();
            if length < least {
                let least = characters(least);
                let msg = format!("String should have at least {least}");
                return of("string_too_short", msg);
            }
            let msg = || format!("String should have at most {}", characters(most));
            (length > most)
                .then(msg)
                .and_then(|msg| of("string_too_long", msg))
        }
        MemberLimit::Range(least, most) => {
            let Some(number) = value.as_f64() else {
                return of("float_type", "Input should be a valid number".to_owned());
            };
            if number < least as f64 {
                let msg = format!("Input should be greater than or equal to {least}");
                return of("greater_than_equal", msg);
            }
            let msg = || format!("Input should be less than or equal to {most}");
            let is_above = number > most as f64;
            is_above
                .then(msg)
                .and_then(|msg| of("less_than_equal", msg))
        }
    }
}

/// More members beside the others, which stay the text they are.
fn with(params: Option<Box<RawValue>>, more: &[(&str, String)]) -> Result<Option<Box<RawValue>>> {
    if more.is_empty() {
        return Ok(params);
    }
    let text = match params.as_deref().map(RawValue::get) {
        None | Some("null") => Cow::Borrowed("{}"),
        Some(text) => Cow::Borrowed(text),
    };
    let inside = text
        .trim()
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'));
    let inside = inside.ok_or_else(not_an_object)?.trim();
    let mut members: Vec<String> = more
        .iter()
        .map(|(name, value)| format!("{}:{value}", json!(name)))
        .collect();
    if !inside.is_empty() {
        members.push(inside.to_owned());
    }
    let text = format!("{{{}}}", members.join(","));
    RawValue::from_string(text)
        .map(Some)
        .map_err(|_| not_an_object())
}

/// Of a body whose frame is JSON: it is no object, or something in it cannot be read, such as
/// half of a pair of surrogates or a number that is too large.
fn unreadable(error: &serde_json::Error) -> Error {
    match error.is_data() {
        true => not_an_object(),
        false => Error::new(Code::InvalidJson, format!("the body is not JSON: {error}")),
    }
}

/// A body that is no object.
pub(super) fn not_an_object() -> Error {
    let fault = Fault::new("", "model_attributes_type", "the body is a JSON object");
    invalid(vec![fault])
}

/// What is wrong with a request, as the contract with desktop apps has it.
pub(super) fn faults(error: &Error, route: &Route) -> Vec<Fault> {
    let mut faults = Fault::all(error);
    if faults.is_empty() {
        let rule = match error.code {
            Code::InvalidJson => "json_invalid",
            _ => "value_error",
        };
        faults.push(Fault::new("", rule, error.message.as_str()));
    }
    for fault in &mut faults {
        let first = fault.loc.first().and_then(Value::as_str);
        let part = route
            .parameters()
            .find(|part| first == Some(route.parameter(part)));
        let place = match first {
            Some(_) if part.is_some() => "path",
            Some(name) if route.query.contains(&name) => "query",
            _ => "body",
        };
        if let Some(part) = part {
            fault.loc[0] = part.into();
        }
        fault.loc.insert(0, place.into());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use pillion_catalogue::{Context, Method, Operation, Safety};

    /// Do nothing, with whatever.
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema, clap::Args)]
    struct Nothing {
        /// What is known.
        #[serde(default)]
        code: Option<String>,
        #[serde(default)]
        seconds: Option<f64>,
        #[serde(default)]
        memory: Option<u64>,
        #[serde(default)]
        lane: Option<String>,
        #[serde(default)]
        session: Option<String>,
    }

    impl Operation for Nothing {
        const NAME: &'static str = "test.nothing";
        const SAFETY: Safety = Safety::Read;
        type Service = ();
        type Output = bool;

        async fn run(self, _: Context<()>) -> Result<bool> {
            Ok(true)
        }
    }

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    fn shaped(route: Route, body: Option<&str>) -> Result<String> {
        let shape = Shape::new(&Definition::of::<Nothing>(), route);
        let named = [("id".to_owned(), "a\"b".to_owned())];
        let params = shape.params(body.map(raw), &named)?;
        Ok(params.map_or_else(String::new, |params| params.get().to_owned()))
    }

    #[test]
    fn parts_of_the_path_stand_beside_the_body() {
        let route = Route::new(Method::Post, "/x/{id}");
        let merged = |body| shaped(route, body);
        assert_eq!(merged(None).unwrap(), r#"{"id":"a\"b"}"#);
        assert_eq!(merged(Some("{ }")).unwrap(), r#"{"id":"a\"b"}"#);
        assert_eq!(
            merged(Some(r#"{"n":12345678901234567890123}"#)).unwrap(),
            r#"{"id":"a\"b","n":12345678901234567890123}"#
        );
        let error = merged(Some("[1]")).unwrap_err();
        assert_eq!(error.code, Code::InvalidParams);
    }

    const FIELDS: &[Field] = &[
        Field::required("code", MemberLimit::Length(1, 3)),
        Field::optional("seconds", MemberLimit::Range(1, 120)).or("20"),
        Field::optional("memory", MemberLimit::Range(64, 128)),
    ];

    #[test]
    fn a_path_has_limits_and_values_of_its_own() {
        let route = Route::contract(Method::Post, "/x/{id}")
            .takes(FIELDS)
            .named(&[("id", "session")])
            .fixes(&[("lane", "\"user\"")]);
        let made = |body| shaped(route, Some(body));
        assert_eq!(
            made(r#"{"code":"äöü","memory":null,"lane":"expert","session":"other"}"#).unwrap(),
            r#"{"session":"a\"b","lane":"user","code":"äöü","memory":null,"seconds":20}"#
        );
        let known = Route {
            members: Members::Known,
            ..route
        };
        let body = r#"{"code":"a","lane":"expert","session":"other","other":1,"timeout_ms":5}"#;
        assert_eq!(
            shaped(known, Some(body)).unwrap(),
            r#"{"session":"a\"b","lane":"user","code":"a","timeout_ms":5,"seconds":20}"#
        );
        for (body, rules) in [
            (r#"{"code":""}"#, &[("code", "string_too_short")][..]),
            (r#"{"code":"abcd"}"#, &[("code", "string_too_long")]),
            (r#"{"code":null}"#, &[("code", "string_type")]),
            (
                r#"{"seconds":0.5,"memory":129}"#,
                &[
                    ("code", "missing"),
                    ("seconds", "greater_than_equal"),
                    ("memory", "less_than_equal"),
                ],
            ),
            (r#"{"code":"a","memory":"b"}"#, &[("memory", "float_type")]),
            ("[]", &[("", "model_attributes_type")]),
            (r#"{"code":"a\ud83d"}"#, &[("", "json_invalid")]),
            (r#"{"code":"a","seconds":1e999}"#, &[("", "json_invalid")]),
        ] {
            let error = made(body).unwrap_err();
            let faults = faults(&error, &route);
            let found: Vec<_> = faults
                .iter()
                .map(|fault| {
                    assert_eq!(fault.loc[0], "body");
                    let name = fault.loc.get(1).and_then(Value::as_str);
                    (name.unwrap_or_default(), fault.rule.as_str())
                })
                .collect();
            assert_eq!(found, rules, "{body}");
        }
    }

    #[test]
    fn a_fault_of_a_part_of_the_path_is_found_there() {
        let route = Route::contract(Method::Get, "/x/{id}").named(&[("id", "session")]);
        let error = pillion_catalogue::invalid_field("session", "value_error", "no");
        assert_eq!(faults(&error, &route)[0].loc, [json!("path"), json!("id")]);
        let error = Error::new(Code::InvalidParams, "no");
        assert_eq!(faults(&error, &route)[0].loc, [json!("body")]);
    }
}
