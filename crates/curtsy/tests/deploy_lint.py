#!/usr/bin/env python3
"""Checks the files in `deploy/` and `.github/` without starting anything.

Deployment files: they can be parsed, versions are pinned, nothing runs as root or listens on public
addresses, and they name the same metrics, variables, alerts and sections as the reference
(docs/reference/fleet.md, docs/reference/metrics.md). Workflows: actions are pinned by commit,
permissions and time limits are set, and the paths that they name exist. Issue forms: every answer
is text.

    deploy_lint.py [ROOT]

ROOT is the repository; the default is the one with this file. Prints a line for each failure. Exits
with 1 after a failure and with 77 if PyYAML is missing. Not checked: whether images exist and
start, and whether workflows run.
"""

import json
import re
import sys
from pathlib import Path

try:
    import yaml
except ImportError:
    print("deploy files: not checked, PyYAML is missing\nhint: install `python3-yaml`", file=sys.stderr)
    sys.exit(77)

DOCS = "docs/reference/fleet.md"
METRICS = "docs/reference/metrics.md"
DOCKERFILE = "deploy/Dockerfile"
COMPOSE = "deploy/compose.yaml"
SEEDS = "deploy/seeds.example.yaml"
PROMETHEUS = "deploy/prometheus/prometheus.yml"
ALERTS = "deploy/prometheus/alerts.yml"
DATASOURCES = "deploy/grafana/provisioning/datasources/prometheus.yaml"
PROVIDERS = "deploy/grafana/provisioning/dashboards/curtsy.yaml"
DASHBOARD = "deploy/grafana/dashboards/curtsy.json"
KUBERNETES = "deploy/kubernetes/curtsy.yaml"
WORKFLOWS = (".github/workflows/test.yml", ".github/workflows/release.yml")
FORMS = ".github/ISSUE_TEMPLATE"

# Files of the user, which the repository doesn't hold.
OWN_FILES = {"./seeds.yaml"}
# SIGTERM finishes in so many seconds; whoever kills waits longer.
FINISHES_IN = 10
# Series that Prometheus makes itself.
MADE_BY_PROMETHEUS = {"up"}
PROMQL_WORDS = {"and", "or", "unless", "offset", "bool", "on", "ignoring", "group_left", "group_right"}


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[3]
    files = Files(root)
    docs = Docs(files)
    user = check_dockerfile(files, docs)
    for name, check in (
        (COMPOSE, lambda: check_compose(files, docs)),
        (SEEDS, lambda: check_seeds(files)),
        (PROMETHEUS, lambda: check_prometheus(files, docs)),
        (DASHBOARD, lambda: check_dashboard(files, docs)),
        (KUBERNETES, lambda: check_kubernetes(files, docs, user)),
        *((name, lambda name=name: check_workflow(files, name)) for name in WORKFLOWS),
        (FORMS, lambda: check_forms(files)),
    ):
        try:
            check()
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            files.check(False, name, f"a part of it, or of what belongs to it, has another shape than expected: {one_line(repr(error))}")
    for failure in files.failures:
        print(failure)
    if files.failures:
        return 1
    print(f"deploy files and workflows: {files.checks} checks passed")
    return 0


class Files:
    """The repository's files, and what was found in them."""

    def __init__(self, root):
        self.root = root
        self.checks = 0
        self.failures = []

    def check(self, holds, name, message):
        self.checks += 1
        if not holds:
            self.failures.append(f"{name}: {message}")
        return bool(holds)

    def text(self, name):
        path = self.root / name
        if self.check(path.is_file(), name, "is missing"):
            return path.read_text(encoding="utf-8")
        return ""

    def yaml(self, name):
        documents = self.yamls(name)
        return documents[0] if documents else {}

    def yamls(self, name):
        return self.parsed_yaml(name, self.text(name))

    def parsed_yaml(self, name, text):
        try:
            documents = [document for document in yaml.load_all(text, OnceLoader) if document is not None]
        except yaml.YAMLError as error:
            self.check(False, name, f"is no YAML: {one_line(error)}")
            return []
        mappings = all(isinstance(document, dict) for document in documents)
        self.check(documents and mappings, name, "holds no mapping")
        return documents if mappings else []

    def json(self, name):
        try:
            document = json.loads(self.text(name))
        except ValueError as error:
            self.check(False, name, f"is no JSON: {one_line(error)}")
            return {}
        self.check(isinstance(document, dict), name, "holds no object")
        return document if isinstance(document, dict) else {}


class OnceLoader(yaml.SafeLoader):
    """YAML in which a key is given once: of two, PyYAML would silently take the last."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(None, None, f"`{key.value}` is given twice", key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


class Docs:
    """What the reference pages of the fleet say."""

    def __init__(self, files):
        text = files.text(DOCS)
        self.terms = set(re.findall(r"`([^`\n]+)`", text))
        self.anchors = set()
        for heading in re.findall(r"^#+ (.+)$", text, re.M):
            anchor = slug(heading)
            files.check(anchor not in self.anchors, DOCS, f"has two sections `#{anchor}`")
            self.anchors.add(anchor)
        for anchor in re.findall(r"\]\(#([^)]+)\)", text):
            files.check(anchor in self.anchors, DOCS, f"links `#{anchor}`, which isn't there")
        marked = r"<!-- begin fleet metrics -->(.*?)<!-- end fleet metrics -->"
        listed = re.search(marked, files.text(METRICS), re.S)
        files.check(listed, METRICS, "has no list of metrics between its marks")
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \|", listed[1] if listed else "", re.M)
        self.metrics = dict(rows)
        files.check(len(rows) == len(self.metrics), METRICS, "lists a metric twice")
        for name, kind in rows:
            files.check(kind in ("counter", "gauge", "histogram"), METRICS, f"`{name}` is a `{kind}`")
            files.check(name.endswith("_total") == (kind == "counter"), METRICS, f"`{name}` is a {kind}: `_total` ends counters only")
        self.alerts = set(re.findall(r"`(Curtsy\w+)`", text))

    def knows_series(self, name):
        if name in self.metrics:
            return self.metrics[name] != "histogram"
        base, _, end = name.rpartition("_")
        return self.metrics.get(base) == "histogram" and end in ("bucket", "sum", "count")


def check_dockerfile(files, docs):
    """Returns the user that the program runs as."""
    name = DOCKERFILE
    ignored = files.text(".dockerignore").split("\n")
    for folder in ("target", ".git"):
        files.check(folder in ignored, ".dockerignore", f"`{folder}` is not ignored")
    stages, last = [], []
    for word, rest in instructions(files.text(name)):
        if word == "FROM":
            parts = [part for part in rest.split() if not part.startswith("--")]
            image = parts[0] if parts else ""
            known = image in stages or image == "scratch"
            files.check(known or is_pinned(image), name, f"`FROM {image}` is not pinned to a version")
            stages.append(parts[2] if len(parts) > 2 else str(len(stages)))
            last = []
            continue
        last.append((word, rest))
        if word == "ADD":
            files.check(not re.search(r"\w+://|git@", rest), name, f"`ADD {rest}` takes a URL: nothing says what comes")
        if word == "COPY":
            source = re.search(r"--from=(\S+)", rest)
            if source:
                files.check(source[1] in stages or is_pinned(source[1]), name, f"`COPY --from={source[1]}` is not pinned")
        if word == "RUN" and "apt-get install" in rest:
            files.check("--no-install-recommends" in rest, name, "`apt-get install` lacks `--no-install-recommends`")
            files.check("rm -rf /var/lib/apt/lists" in rest, name, "apt's lists are not removed in the step that got them")
        if word == "RUN" and "cargo build" in rest:
            files.check("--locked" in rest, name, "`cargo build` lacks `--locked`")
        if word == "ENV":
            for variable in re.findall(r"(PAGE_FETCHER_\w+)=", rest):
                files.check(variable in docs.terms, name, f"`{variable}` is not in {DOCS}")
    files.check(stages, name, "has no stage")
    of = {word: [rest for other, rest in last if other == word] for word, _ in last}
    users = of.get("USER", [])
    user = re.fullmatch(r"([1-9]\d*)(:[1-9]\d*)?", users[-1]) if users else None
    files.check(user, name, "the last stage has no `USER` with a number that is not root's")
    for word in ("ENTRYPOINT", "CMD"):
        given = of.get(word, [])
        files.check(len(given) == 1, name, f"the last stage has {len(given)} `{word}`, not one")
        files.check(all(is_exec_form(rest) for rest in given), name, f"`{word}` is not in exec form")
    checks = of.get("HEALTHCHECK", [])
    files.check(len(checks) == 1, name, f"the last stage has {len(checks)} `HEALTHCHECK`, not one")
    for rest in checks:
        command = rest.partition("CMD")[2].strip()
        files.check(is_exec_form(command), name, "`HEALTHCHECK` has no command in exec form")
    return int(user[1]) if user else None


def check_compose(files, docs):
    name = COMPOSE
    text = files.text(name)
    compose = files.yaml(name)
    bare = re.sub(r"^\s*#.*$", "", text, flags=re.M).replace("$$", "")
    for variable in sorted(set(re.findall(r"\$\{?(\w+)", bare))):
        files.check(variable in docs.terms, name, f"`{variable}` is not in {DOCS}")
    files.check("${PAGE_FETCHER_CONTACT:?" in bare, name, "`PAGE_FETCHER_CONTACT` is not demanded")
    services = compose.get("services") or {}
    files.check(services, name, "has no services")
    for service, is_ in services.items():
        check_service(files, docs, compose, service, is_)
    for service, is_ in services.items():
        waits_for = is_.get("depends_on") or {}
        waits_for = waits_for if isinstance(waits_for, dict) else dict.fromkeys(waits_for, {})
        for other, how in waits_for.items():
            if files.check(other in services, name, f"`{service}` depends on `{other}`, which isn't there"):
                healthy = (how or {}).get("condition") == "service_healthy"
                tested = (services[other].get("healthcheck") or {}).get("test")
                files.check(not healthy or tested, name, f"`{service}` waits for the health of `{other}`, which has no test")
    for service, is_ in services.items():
        environment = is_.get("environment")
        if isinstance(environment, dict) and "PAGE_FETCHER_REDIS_URL" in environment:
            check_host_states(files, service, environment["PAGE_FETCHER_REDIS_URL"], services)


def check_service(files, docs, compose, service, is_):
    name = COMPOSE

    def check(holds, message):
        return files.check(holds, name, f"`{service}` {message}")

    check(is_pinned(is_.get("image", "")), f"has the image `{is_.get('image')}`, which is not pinned to a version")
    check(not is_.get("privileged"), "is privileged")
    for space in ("network_mode", "pid", "ipc", "userns_mode"):
        check(is_.get(space) != "host", f"has the machine's own `{space}`")
    check(not is_.get("cap_add"), "adds capabilities")
    check("ALL" in (is_.get("cap_drop") or []), "keeps capabilities")
    check("no-new-privileges:true" in (is_.get("security_opt") or []), "may gain privileges")
    check(is_.get("read_only") is True, "may write to its root file system")
    check(is_.get("user") not in ("root", "0", 0), "runs as root")
    health = is_.get("healthcheck") or {}
    check(health.get("test") or health.get("disable") is True, "says nothing about its health")
    for port in is_.get("ports") or []:
        local = port.get("host_ip") == "127.0.0.1" if isinstance(port, dict) else re.match(r"127\.0\.0\.1:\d+:", str(port))
        check(local, f"publishes `{port}` not on 127.0.0.1 alone")
    environment = is_.get("environment") or {}
    if check(isinstance(environment, dict), "has an environment that is no mapping"):
        for variable in environment:
            if variable.startswith("PAGE_FETCHER_"):
                check(variable in docs.terms, f"sets `{variable}`, which is not in {DOCS}")
    for volume in is_.get("volumes") or []:
        source, colon, _ = volume.partition(":") if isinstance(volume, str) else (volume.get("source", ""), ":", "")
        check("docker.sock" not in source, "holds the engine's socket")
        if source in OWN_FILES:
            made = volume.get("bind", {}).get("create_host_path") if isinstance(volume, dict) else None
            check(made is False, f"mounts `{source}`, and a folder is made if it is missing")
        elif source.startswith("."):
            check((files.root / "deploy" / source).exists(), f"mounts `{source}`, which isn't there")
        elif colon and not source.startswith("/"):
            check(source in (compose.get("volumes") or {}), f"mounts the volume `{source}`, which is not declared")
    build = is_.get("build")
    if build:
        dockerfile = files.root / "deploy" / build.get("context", ".") / build.get("dockerfile", "Dockerfile")
        check(dockerfile.is_file(), "is built from a Dockerfile that isn't there")
        grace = re.fullmatch(r"(\d+)s", str(is_.get("stop_grace_period", "")))
        check(grace and int(grace[1]) > FINISHES_IN, f"is killed before it may finish ({FINISHES_IN} s)")


def check_host_states(files, service, url, services):
    """The Redis that holds host states must not evict, and should lose nothing."""
    host = re.fullmatch(r"rediss?://(?:[^@/]*@)?([\w.-]+)(?::\d+)?(?:/\d+)?", url)
    store = services.get(host[1]) if host else None
    if not files.check(store, COMPOSE, f"`{service}` has its host states at `{url}`, which is none of the services"):
        return
    command = [str(part) for part in store.get("command") or []]
    said = dict(zip(command, command[1:]))
    for flag, value in (("--maxmemory-policy", "noeviction"), ("--appendonly", "yes"), ("--appendfsync", "always")):
        files.check(said.get(flag) == value, COMPOSE, f"`{host[1]}` holds host states without `{flag} {value}`")


def check_seeds(files):
    check_seeds_of(files, SEEDS, files.yaml(SEEDS))


def check_seeds_of(files, name, seeds):
    files.check(set(seeds) <= {"queue", "seeds"}, name, "has other keys than `queue` and `seeds`")
    files.check(seeds.get("seeds"), name, "has no seeds")
    for number, seed in enumerate(seeds.get("seeds") or [], 1):

        def check(holds, message):
            files.check(holds, name, f"seed {number} {message}")

        check(("url" in seed) != ("sitemap" in seed), "has not one of `url` and `sitemap`")
        check(("every" in seed) != ("cron" in seed), "has not one of `every` and `cron`")
        check(set(seed) <= {"url", "sitemap", "every", "cron", "priority"}, "has a key that is unknown")
        check(re.match(r"https?://", str(seed.get("url", seed.get("sitemap")))), "is no http or https URL")
        check("every" not in seed or re.fullmatch(r"(\d+[smhd])+", str(seed["every"])), "has no span in `every`")
        check("cron" not in seed or len(str(seed["cron"]).split()) == 5, "has not five fields in `cron`")
        check(seed.get("priority", "normal") in ("high", "normal", "low"), "has a priority that is unknown")


def check_prometheus(files, docs):
    prometheus = files.yaml(PROMETHEUS)
    jobs = {job.get("job_name") for job in prometheus.get("scrape_configs") or []}
    for rules in prometheus.get("rule_files") or []:
        files.check((files.root / PROMETHEUS).with_name(rules).is_file(), PROMETHEUS, f"`{rules}` isn't there")
    files.check("alerts.yml" in (prometheus.get("rule_files") or []), PROMETHEUS, "doesn't read `alerts.yml`")
    alerts = set()
    for group in files.yaml(ALERTS).get("groups") or []:
        for rule in group.get("rules") or []:
            check_alert(files, docs, jobs, rule)
            files.check(rule.get("alert") not in alerts, ALERTS, f"`{rule.get('alert')}` is there twice")
            alerts.add(rule.get("alert"))
    files.check(alerts, ALERTS, "has no alerts")
    for alert in sorted(docs.alerts - alerts):
        files.check(False, DOCS, f"explains `{alert}`, which isn't in {ALERTS}")


def check_alert(files, docs, jobs, rule):
    alert = rule.get("alert")

    def check(holds, message):
        return files.check(holds, ALERTS, f"`{alert}` {message}")

    check("for" in rule, "has no `for`")
    check((rule.get("labels") or {}).get("severity") in ("page", "ticket"), "has no severity")
    annotations = rule.get("annotations") or {}
    for part in ("summary", "description"):
        check(annotations.get(part), f"has no {part}")
    page, _, anchor = str(annotations.get("runbook", "")).partition("#")
    check(page == DOCS and anchor in docs.anchors, f"names `{annotations.get('runbook')}`, which is no section of {DOCS}")
    check(alert in docs.alerts, f"is not explained in {DOCS}")
    expression = str(rule.get("expr", ""))
    for job in re.findall(r'job="([^"]*)"', expression):
        check(job in jobs, f"asks for the job `{job}`, which {PROMETHEUS} doesn't have")
    check_expression(files, docs, ALERTS, f"`{alert}`", expression)


def check_expression(files, docs, name, where, expression):
    used = series(expression)
    files.check(used, name, f"{where} asks for no series")
    for one in sorted(used - MADE_BY_PROMETHEUS):
        files.check(docs.knows_series(one), name, f"{where} asks for `{one}`, which is not among the metrics in {METRICS}")


def series(expression):
    """The names of series in PromQL: what is left without texts, labels, spans, functions and words."""
    rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", expression)
    rest = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", rest)
    rest = re.sub(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", "", rest)
    names = re.findall(r"(?<![\w.])([A-Za-z_:][\w:]*)(?!\w)(?!\s*\()", rest)
    return {name for name in names if name not in PROMQL_WORDS}


def check_dashboard(files, docs):
    name = DASHBOARD
    dashboard = files.json(name)
    sources = {source.get("uid") for source in files.yaml(DATASOURCES).get("datasources") or []}
    files.check(sources, DATASOURCES, "has no data sources")
    mounted = []
    for service in (files.yaml(COMPOSE).get("services") or {}).values():
        mounted += [volume.split(":")[1] for volume in service.get("volumes") or [] if isinstance(volume, str) and ":" in volume]
    for provider in files.yaml(PROVIDERS).get("providers") or []:
        path = provider.get("options", {}).get("path")
        files.check(path in mounted, PROVIDERS, f"reads `{path}`, which {COMPOSE} doesn't mount")
    panels = dashboard.get("panels") or []
    files.check(panels, name, "has no panels")
    ids, taken = set(), {}
    for panel in panels:
        where = f"`{panel.get('title')}`"
        files.check(panel.get("id") not in ids, name, f"{where} has the number of another panel")
        ids.add(panel.get("id"))
        for asked in [panel, *panel.get("targets", [])]:
            uid = asked.get("datasource", {}).get("uid")
            files.check(uid in sources, name, f"{where} asks `{uid}`, which is no data source in {DATASOURCES}")
        files.check(panel.get("targets"), name, f"{where} shows nothing")
        for target in panel.get("targets", []):
            check_expression(files, docs, name, where, target.get("expr", ""))
        place = panel.get("gridPos", {})
        x, y, width, height = (place.get(side, 0) for side in "xywh")
        files.check(0 < width and x + width <= 24, name, f"{where} is wider than the page")
        cells = {(column, row) for column in range(x, x + width) for row in range(y, y + height)}
        over = next((taken[cell] for cell in cells if cell in taken), None)
        files.check(over is None, name, f"{where} lies over {over}")
        taken.update(dict.fromkeys(cells, where))


def check_kubernetes(files, docs, user):
    name = KUBERNETES
    objects = files.yamls(name)
    held = {(one.get("kind"), one.get("metadata", {}).get("name")): one for one in objects}
    files.check(len(held) == len(objects), name, "has two objects of one name")
    labels = []
    for (kind, object_name), one in held.items():
        if kind in ("Deployment", "StatefulSet", "DaemonSet"):
            template = one["spec"]["template"]
            labels.append(template["metadata"]["labels"])
            wanted = one["spec"]["selector"]["matchLabels"]
            where = f"{kind} `{object_name}`"
            files.check(selects(wanted, labels[-1]), name, f"{where} doesn't select its own pods")
            check_pod(files, where, template["spec"], held, user)
        if kind == "ConfigMap" or kind == "Secret":
            data = one.get("data") or one.get("stringData") or {}
            for key, value in data.items():
                if key.startswith("PAGE_FETCHER_"):
                    files.check(key in docs.terms, name, f"`{key}` is not in {DOCS}")
                if key == "seeds.yaml":
                    for seeds in files.parsed_yaml(f"{name}, seeds.yaml", value):
                        check_seeds_of(files, f"{name}, seeds.yaml", seeds)
    files.check(labels, name, "runs nothing")
    for (kind, object_name), one in held.items():
        if kind == "HorizontalPodAutoscaler":
            target = one["spec"]["scaleTargetRef"]
            found = held.get((target["kind"], target["name"]))
            files.check(found, name, f"`{object_name}` scales `{target['name']}`, which isn't there")
            files.check("replicas" not in (found or {}).get("spec", {}), name, f"`{object_name}` and `{target['name']}` both say how many")
        if kind in ("PodDisruptionBudget", "Service"):
            selector = one["spec"]["selector"]
            wanted = selector.get("matchLabels", selector)
            files.check(any(selects(wanted, given) for given in labels), name, f"{kind} `{object_name}` selects no pods")


def check_pod(files, where, pod, held, user):
    def check(holds, message):
        return files.check(holds, KUBERNETES, f"{where} {message}")

    security = pod.get("securityContext") or {}
    check(security.get("runAsNonRoot") is True, "may run as root")
    check(user is None or security.get("runAsUser") == user, f"runs as another user than the image's ({user})")
    check((security.get("seccompProfile") or {}).get("type") == "RuntimeDefault", "has no seccomp profile")
    check(pod.get("automountServiceAccountToken") is False, "holds a token of the cluster")
    for space in ("hostNetwork", "hostPID", "hostIPC"):
        check(not pod.get(space), f"has the machine's own network or processes (`{space}`)")
    check(pod.get("terminationGracePeriodSeconds", 0) > FINISHES_IN, f"is killed before it may finish ({FINISHES_IN} s)")
    volumes = {volume.get("name") for volume in pod.get("volumes") or []}
    for volume in pod.get("volumes") or []:
        check("hostPath" not in volume, f"mounts a path of the machine (`{volume.get('name')}`)")
        source = (volume.get("configMap") or {}).get("name")
        check(not source or ("ConfigMap", source) in held, f"mounts the ConfigMap `{source}`, which isn't there")
    check(pod.get("containers"), "has no containers")
    for container in pod.get("containers") or []:
        check_container(files, f"{where}, `{container.get('name')}`,", container, volumes, held)


def check_container(files, where, container, volumes, held):
    def check(holds, message):
        return files.check(holds, KUBERNETES, f"{where} {message}")

    check(is_pinned(container.get("image", "")), f"has the image `{container.get('image')}`, which is not pinned to a version")
    resources = container.get("resources") or {}
    for kind, what in (("requests", "cpu"), ("requests", "memory"), ("limits", "memory")):
        check(what in (resources.get(kind) or {}), f"has no {what} in its {kind}")
    security = container.get("securityContext") or {}
    check(security.get("allowPrivilegeEscalation") is False, "may gain privileges")
    check(security.get("readOnlyRootFilesystem") is True, "may write to its root file system")
    check("ALL" in ((security.get("capabilities") or {}).get("drop") or []), "keeps capabilities")
    check(not (security.get("capabilities") or {}).get("add"), "adds capabilities")
    check(not security.get("privileged"), "is privileged")
    # What serves nothing can't be probed.
    ports = {port.get("name") for port in container.get("ports") or []} | {port.get("containerPort") for port in container.get("ports") or []}
    serves_health = container.get("args", [None])[0] == "worker"
    check(ports or not serves_health, "has no port for its health")
    for probe, path in (("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        asked = (container.get(probe) or {}).get("httpGet") or {}
        if ports or probe in container:
            check(asked.get("path") == path, f"has no {probe} at {path}")
            check(asked.get("port") in ports, f"has a {probe} at a port that isn't its own")
    for mount in container.get("volumeMounts") or []:
        check(mount.get("name") in volumes, f"mounts `{mount.get('name')}`, which isn't there")
    for source in container.get("envFrom") or []:
        for key, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            if key in source:
                check((kind, source[key].get("name")) in held, f"takes variables of the {kind} `{source[key].get('name')}`, which isn't there")


def instructions(text):
    """A Dockerfile's instructions, each on one line and without comments."""
    joined = re.sub(r"\\\n", " ", re.sub(r"^[ \t]*#.*\n?", "", text, flags=re.M))
    for line in joined.split("\n"):
        word, _, rest = line.strip().partition(" ")
        if word:
            yield word.upper(), " ".join(rest.split())


def is_exec_form(rest):
    try:
        parts = json.loads(rest)
    except ValueError:
        return False
    return isinstance(parts, list) and len(parts) > 0 and all(isinstance(part, str) for part in parts)


def check_workflow(files, name):
    """Checks a workflow of GitHub Actions."""
    workflow = files.yaml(name)
    files.check(
        workflow.get("permissions") == {"contents": "read"},
        name,
        "the permissions of the whole workflow are not `contents: read`",
    )
    files.check("concurrency" in workflow, name, "has no `concurrency`")
    for job, body in workflow.get("jobs", {}).items():
        files.check("timeout-minutes" in body, name, f"the job `{job}` has no `timeout-minutes`")
        for need in body.get("needs", []):
            files.check(need in workflow["jobs"], name, f"`{job}` needs `{need}`, which is no job")
        for step in body["steps"]:
            action = step.get("uses")
            if action:
                pinned = re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action)
                files.check(pinned, name, f"`uses: {action}` is not pinned by a commit")
                if action.startswith("actions/checkout@"):
                    kept = step.get("with", {}).get("persist-credentials")
                    files.check(kept is False, name, f"`{job}` keeps git's credentials")
            commands = step.get("run", "")
            files.check("${{" not in commands, name, f"`{job}` has an expression in a script")
            for path in re.findall(r"(?:^|\s)\./([\w.-]+)", commands):
                files.check((files.root / path).is_file(), name, f"runs `./{path}`, which is missing")
    for paths in re.findall(r"hashFiles\(([^)]*)\)", files.text(name)):
        for path in re.findall(r"'([^']+)'", paths):
            files.check(any(files.root.glob(path)), name, f"no file is called `{path}`")


def check_forms(files):
    """Checks the issue forms: GitHub refuses a form with an answer such as `No` without quotes."""
    forms = sorted((files.root / FORMS).glob("*.yml"))
    files.check(forms, FORMS, "has no form")
    for path in forms:
        name = f"{FORMS}/{path.name}"
        form = files.yaml(name)
        for key in ("name", "description", "body"):
            files.check(form.get(key), name, f"has no `{key}`")
        seen = set()
        for field in form["body"]:
            if field["type"] == "markdown":
                continue
            files.check(field["id"] not in seen, name, f"two fields are called `{field['id']}`")
            seen.add(field["id"])
            files.check(field["attributes"].get("label"), name, f"`{field['id']}` has no label")
            for option in field["attributes"].get("options", []):
                files.check(isinstance(option, str), name, f"the answer `{option}` is not text")


def is_pinned(image):
    """Whether an image has a digest, or a tag with a version of two numbers at least."""
    if re.search(r"@sha256:[0-9a-f]{64}$", image):
        return True
    tag = image.rpartition("/")[2].partition(":")[2]
    return "latest" not in tag and re.search(r"\d+\.\d+", tag) is not None


def selects(wanted, labels):
    return all(labels.get(key) == value for key, value in wanted.items())


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def one_line(error):
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
