//! Does the description fit the service? Its methods, and what is really answered.

use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::place::{Folder, NO_RUN, Service, TOKEN, spec};
use crate::sites::{business, page, plain, serve};

/// The description of a service.
struct Description(Value);

impl Description {
    fn of(service: &Service) -> Description {
        Description(service.get("/openapi.json").ends(200).json())
    }

    fn at(&self, pointer: &str) -> &Value {
        let at = pointer.strip_prefix('#').expect("a place in this document");
        self.0.pointer(at).unwrap_or_else(|| panic!("nothing at {pointer}"))
    }

    /// What a reference leads to.
    fn meant<'d>(&'d self, value: &'d Value) -> &'d Value {
        value["$ref"].as_str().map_or(value, |pointer| self.at(pointer))
    }

    /// Fails unless the operation has this answer: its status, its type, and what is in it.
    #[track_caller]
    fn assert_fits(&self, path: &str, method: &str, answer: &Answer) {
        let operation = &self.0["paths"][path][method];
        assert!(operation.is_object(), "{method} {path} is not described");
        let response = self.meant(&operation["responses"][answer.status.to_string()]);
        assert!(
            response.is_object(),
            "{method} {path} is not described with {}: {}",
            answer.status,
            answer.body
        );
        let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap();
        let content = &response["content"][kind];
        assert!(content.is_object(), "{method} {path} is not described as {kind:?}");
        for (name, _) in response["headers"].as_object().into_iter().flatten() {
            assert!(
                answer.header(&name.to_ascii_lowercase()).is_some(),
                "{method} {path} lacks {name}"
            );
        }
        let value = match kind {
            "application/json" => answer.json(),
            _ => Value::from(answer.body.as_str()),
        };
        if let Err(why) = self.fits(&content["schema"], &value) {
            panic!("{method} {path}: {why}\n{value:#}");
        }
    }

    /// Whether a value is what a schema says, by those of JSON Schema's words that the description uses.
    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let schema = self.meant(schema);
        let known = [
            "type",
            "properties",
            "required",
            "additionalProperties",
            "items",
            "enum",
            "const",
            "anyOf",
            "pattern",
            "format",
            "minimum",
            "maximum",
            "minItems",
            "maxItems",
            "maxLength",
            "default",
            "description",
            "example",
        ];
        for (word, _) in schema.as_object().into_iter().flatten() {
            assert!(known.contains(&word.as_str()), "this test does not know `{word}`");
        }
        if let Some(any) = schema["anyOf"].as_array() {
            let tries: Vec<_> = any.iter().map(|schema| self.fits(schema, value)).collect();
            return match tries.iter().any(Result::is_ok) {
                true => Ok(()),
                false => Err(format!("none of several: {tries:?}")),
            };
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => vec![],
        };
        if !types.is_empty() && !types.iter().any(|kind| is_of(kind, value)) {
            return Err(format!("{value} is none of {types:?}"));
        }
        if schema.get("const").is_some_and(|wanted| wanted != value) {
            return Err(format!("{value} is not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
            return Err(format!("{value} is none of {}", schema["enum"]));
        }
        if let Some(number) = value.as_f64() {
            let outside = |bound: &str, is: fn(f64, f64) -> bool| {
                schema[bound].as_f64().is_some_and(|b| is(number, b))
            };
            if outside("minimum", |n, min| n < min) || outside("maximum", |n, max| n > max) {
                return Err(format!("{number} is out of bounds"));
            }
        }
        for item in value.as_array().into_iter().flatten() {
            self.fits(&schema["items"], item).map_err(|why| format!("[]: {why}"))?;
        }
        let Some(members) = value.as_object() else { return Ok(()) };
        for required in schema["required"].as_array().into_iter().flatten() {
            if !members.contains_key(required.as_str().unwrap()) {
                return Err(format!("lacks {required}"));
            }
        }
        for (name, value) in members {
            match schema["properties"].get(name) {
                Some(schema) => self.fits(schema, value).map_err(|why| format!("{name}: {why}"))?,
                None if schema["additionalProperties"] == false => {
                    return Err(format!("`{name}` is not described"));
                }
                None if schema["additionalProperties"].is_object() => {
                    self.fits(&schema["additionalProperties"], value)
                        .map_err(|why| format!("{name}: {why}"))?;
                }
                None => {}
            }
        }
        Ok(())
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => panic!("no type `{kind}`"),
    }
}

#[test]
fn every_path_has_the_methods_that_are_described_and_no_other() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    for (path, operations) in description.0["paths"].as_object().unwrap() {
        let target = path
            .replace("{slug}", "shop")
            .replace("{trace_id}", NO_RUN)
            .replace("{hostname}", "shop.test");
        for method in ["get", "put", "post", "delete", "patch"] {
            let headers = [service.host(), format!("Authorization: Bearer {TOKEN}")];
            let answer = send(service.address, &method.to_uppercase(), &target, &headers, b"");
            let described = operations.get(method).is_some();
            assert_eq!(answer.status != 405, described, "{method} {path}: {}", answer.body);
            if described {
                description.assert_fits(path, method, &answer);
            }
        }
    }
}

#[test]
fn real_answers_are_as_described() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test"), plain("other.test").pages(20, 15, 500)]);
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    let fits = |path: &str, method: &str, answer: Answer| {
        description.assert_fits(path, method, &answer);
        answer
    };
    let order = json!({"url": page(&sites, "shop.test", "/"), "mode": "light"});
    fits("/api/orbit/{slug}/plan", "post", service.post("/api/orbit/shop/plan", &order)).ends(200);
    let done =
        fits("/api/orbit/{slug}/ingest", "post", service.post("/api/orbit/shop/ingest", &order))
            .ends(200);
    let trace = done.json()["evidence"]["traceId"].as_str().unwrap().to_owned();
    let other = json!({"url": page(&sites, "other.test", "/"), "mode": "light"});
    let begun = fits(
        "/api/orbit/{slug}/ingest",
        "post",
        service.post_with("/api/orbit/shop/ingest", &other, &["Prefer: respond-async"]),
    );
    let at_work = begun.ends(202).json()["traceId"].as_str().unwrap().to_owned();
    let run = "/api/orbit/{slug}/runs/{trace_id}";
    let target = |trace: &str, rest: &str| format!("/api/orbit/shop/runs/{trace}{rest}");
    fits(run, "get", service.get(&target(&at_work, ""))).ends(200);
    let cancel = format!("{run}/cancel");
    fits(&cancel, "post", service.post(&target(&at_work, "/cancel"), &json!({})));
    fits(&format!("{run}/events"), "get", service.get(&target(&at_work, "/events"))).ends(200);
    fits(&cancel, "post", service.post(&target(&trace, "/cancel"), &json!({}))).ends(200);
    for rest in ["", "/evidence", "/tiles", "/events"] {
        fits(&format!("{run}{rest}"), "get", service.get(&target(&trace, rest))).ends(200);
    }
    fits("/api/orbit/{slug}/runs", "get", service.get("/api/orbit/shop/runs")).ends(200);
    fits("/api/domains/{hostname}", "get", service.get("/api/domains/shop.test")).ends(200);
    let html =
        "<title>Lucia</title><h1>Trattoria Lucia</h1><a href='tel:+493012345678'>030 12345678</a>";
    let imported =
        service.post_bytes("/api/orbit/shop/import", html.as_bytes(), &["Content-Type: text/html"]);
    fits("/api/orbit/{slug}/import", "post", imported).ends(200);
    for path in ["/api/health/checks", "/healthz", "/metrics", "/openapi.json"] {
        fits(path, "get", service.get(path)).ends(200);
    }
    // Progress is the data of events.
    let events = service.get(&target(&at_work, "/events")).events();
    assert_eq!(events.last().unwrap().0, "done");
}

#[test]
fn progress_is_as_described() {
    let folder = Folder::new();
    let sites = serve(vec![business("shop.test")]);
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    let run =
        service.begin("shop", &json!({"url": page(&sites, "shop.test", "/"), "mode": "light"}));
    let events = service.get(&format!("{run}/events")).ends(200).events();
    assert!(events.len() > 1, "{events:?}");
    for (name, data) in events {
        if name == "progress" {
            description.fits(description.at("#/components/schemas/Progress"), &data).unwrap();
        }
    }
}

#[test]
fn examples_are_as_described() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    let schemas = description.0["components"]["schemas"].as_object().unwrap();
    let with_example = schemas.iter().filter(|(_, schema)| schema.get("example").is_some());
    for (name, schema) in with_example {
        description.fits(schema, &schema["example"]).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // The seed's own request is one of them.
    let seed = json!({"url": "https://example.com", "mode": "standard", "userUrls": []});
    assert_eq!(schemas["IngestRequest"]["example"], seed);
    for path in ["/api/orbit/{slug}/ingest", "/api/orbit/{slug}/plan"] {
        let body =
            &description.0["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        for (name, example) in body["examples"].as_object().unwrap() {
            let fits = description.fits(&body["schema"], &example["value"]);
            fits.unwrap_or_else(|why| panic!("{path}, {name}: {why}"));
        }
    }
}
