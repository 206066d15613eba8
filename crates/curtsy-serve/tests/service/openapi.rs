//! Does the description fit the service? Its methods, and its real answers.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::client::{Answer, send};
use crate::place::{Folder, NO_RUN, Service, TOKEN, spec};
use crate::sites::{business, page, plain, serve};

/// The description of a service.
struct Description {
    document: Value,
    validator: RefCell<Validator>,
}

impl Description {
    fn of(service: &Service) -> Description {
        let document = service.get("/openapi.json").ends(200).json();
        let validator = RefCell::new(Validator::start(&document));
        Description { document, validator }
    }

    fn at(&self, pointer: &str) -> &Value {
        self.document.pointer(&pointer[1..]).unwrap_or(&Value::Null)
    }

    /// Follows a reference.
    fn followed(&self, pointer: String) -> String {
        self.at(&pointer)["$ref"].as_str().map_or(pointer, str::to_owned)
    }

    /// Fails unless the operation describes this answer: its status, type, headers and body.
    #[track_caller]
    fn assert_fits(&self, path: &str, method: &str, answer: &Answer) {
        let what = format!("{method} {path}, {}", answer.status);
        let operation = format!("#/paths/{}/{method}", path.replace('/', "~1"));
        let response = self.followed(format!("{operation}/responses/{}", answer.status));
        assert!(self.at(&response).is_object(), "{what} is not described: {}", answer.body);
        for (name, _) in self.at(&response)["headers"].as_object().into_iter().flatten() {
            let value = answer.header(&name.to_ascii_lowercase());
            let value = value.unwrap_or_else(|| panic!("{what}: lacks {name}"));
            self.fits(&format!("{response}/headers/{name}/schema"), &value.into())
                .unwrap_or_else(|why| panic!("{what}: header {name}: {why}"));
        }
        let kind = answer.header("content-type").unwrap_or_default().split(';').next().unwrap();
        let value = match kind {
            "application/json" => answer.json(),
            _ => Value::from(answer.body.as_str()),
        };
        let schema = format!("{response}/content/{}/schema", kind.replace('/', "~1"));
        assert!(self.at(&schema).is_object(), "{what} is not described as {kind:?}");
        self.fits(&schema, &value).unwrap_or_else(|why| panic!("{what}: {why}\n{value:#}"));
    }

    /// Whether a value is valid by the schema at a pointer.
    fn fits(&self, pointer: &str, value: &Value) -> Result<(), String> {
        assert!(self.at(pointer).is_object(), "no schema at {pointer}");
        self.validator.borrow_mut().ask(&json!([pointer, value]))
    }
}

/// `schema.py`: Python's `jsonschema`, with the description read.
struct Validator {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Validator {
    fn start(document: &Value) -> Validator {
        let python = std::env::var("CURTSY_PYTHON").unwrap_or("python3".into());
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/service/schema.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python, which `./test` installs");
        let answers = BufReader::new(child.stdout.take().unwrap());
        writeln!(child.stdin.as_ref().unwrap(), "{document}").unwrap();
        Validator { child, answers }
    }

    fn ask(&mut self, question: &Value) -> Result<(), String> {
        writeln!(self.child.stdin.as_ref().unwrap(), "{question}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "the validator ended");
        match answer.trim_end() {
            "" => Ok(()),
            why => Err(why.to_owned()),
        }
    }
}

impl Drop for Validator {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

#[test]
fn a_value_that_breaks_one_rule_does_not_fit() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    let schema = "#/components/schemas/Evidence";
    let example = &description.at(schema)["example"];
    description.fits(schema, example).unwrap();
    let set = |pointer: &str, value: Value| {
        let mut broken = example.clone();
        *broken.pointer_mut(pointer).unwrap() = value;
        broken
    };
    let without = |name: &str| {
        let mut broken = example.clone();
        broken.as_object_mut().unwrap().remove(name).unwrap();
        broken
    };
    let more = {
        let mut broken = example.clone();
        broken["more"] = json!(1);
        broken
    };
    for (broken, why) in [
        (set("/traceId", json!("5f1c")), "does not match"),
        (set("/traceId", json!(7)), "is not of type 'string'"),
        (set("/nm_policyVersion", json!("v2")), "was expected"),
        (set("/nm_ingest/outcome", json!("fine")), "is not one of"),
        (set("/nm_ingest/pagesUsed", json!(-1)), "is less than the minimum"),
        (set("/nm_ingest/domainRiskScore", json!(101)), "is greater than the maximum"),
        (without("nm_ingest"), "is a required property"),
        (more, "Additional properties are not allowed"),
    ] {
        let said = description.fits(schema, &broken).expect_err(why);
        assert!(said.contains(why), "{said}");
    }
    let moment = "#/components/schemas/Check/properties/checkedAt";
    description.fits(moment, &json!("2026-11-19T06:30:00.000Z")).unwrap();
    for wrong in ["yesterday", "2026-11-19 06:30:00", "2026-13-19T06:30:00.000Z"] {
        let said = description.fits(moment, &json!(wrong)).expect_err(wrong);
        assert!(said.contains("is not a 'date-time'"), "{said}");
    }
    let urls = "#/components/schemas/IngestRequest/properties/userUrls";
    let said = description.fits(urls, &json!(vec!["https://a.test/"; 1_000])).unwrap_err();
    assert!(said.contains("is too long"), "{said:.200}");
}

#[test]
fn every_path_has_the_methods_that_are_described_and_no_other() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    for (path, operations) in description.document["paths"].as_object().unwrap() {
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
            description.fits("#/components/schemas/Progress", &data).unwrap();
        }
    }
}

#[test]
fn examples_are_as_described() {
    let folder = Folder::new();
    let service = Service::start(spec(folder.store()));
    let description = Description::of(&service);
    let schemas = description.document["components"]["schemas"].as_object().unwrap();
    for (name, schema) in schemas.iter().filter(|(_, schema)| schema.get("example").is_some()) {
        let fits = description.fits(&format!("#/components/schemas/{name}"), &schema["example"]);
        fits.unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    // The seed's own request is one of them.
    let seed = json!({"url": "https://example.com", "mode": "standard", "userUrls": []});
    assert_eq!(schemas["IngestRequest"]["example"], seed);
    for path in ["/api/orbit/{slug}/ingest", "/api/orbit/{slug}/plan"] {
        let body = format!(
            "#/paths/{}/post/requestBody/content/application~1json",
            path.replace('/', "~1")
        );
        for (name, example) in description.at(&body)["examples"].as_object().unwrap() {
            let fits = description.fits(&format!("{body}/schema"), &example["value"]);
            fits.unwrap_or_else(|why| panic!("{path}, {name}: {why}"));
        }
    }
}
