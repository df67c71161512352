#!/usr/bin/env python3
"""Generates dashboard.json from the table in panels.py, and checks it together with the alerts.

usage: generate.py                   writes dashboard.json
       generate.py --check           checks that dashboard.json is up to date; that the node's source has every metric of
                                     panels and alerts; that each metric has a panel or a reason for none; and that each
                                     alert has a severity, a summary, a section of docs/operations.md, and tests
       generate.py --against FILE... checks that pages of /metrics have a sample for each selector of panels and alerts
       generate.py --rules           prints all expressions of the dashboard as rules, for `promtool check rules`
"""

import json
import re
import sys
from pathlib import Path

from panels import NOT_SHOWN, ROWS

HERE = Path(__file__).resolve().parent
DASHBOARD = HERE / "dashboard.json"
ALERTS = HERE / "alerts.yml"
TESTS = HERE / "alerts.test.yml"

# Where names of metrics come from; the file's name leads to the prefix.
SOURCE = HERE / "../../crates/node/src/metrics"
PREFIXES = {"kv.rs": "memcached", "process.rs": "process"}
DECLARED = re.compile(r"\bmetrics\s*\.(?:counter|gauge|histogram)s?(?:_seconds)?\(\s*\"(\w+)\"")
# A function of process.rs writes this one with the prefix of the node.
EXCEPTIONS = {"process_build_info": "turnpike_build_info"}

METRIC = re.compile(r"\b(?:(?:turnpike|memcached|process|probe)_\w+|up)\b")
SELECTOR = re.compile(METRIC.pattern + r"(?:\{([^}]*)\})?")
# Prometheus's own metric, and those of its blackbox exporter.
FOREIGN = {"up", "probe_success", "probe_ssl_earliest_cert_expiry"}
# Metrics of hardware, privileges or simulations that a test may lack.
HARDWARE = re.compile(r"turnpike_(?:in_nic_|xdp_|rtl_|frames_lost_)|memcached_(?:xdp|nic)_")

SOURCES = {"type": "prometheus", "uid": "${datasource}"}
# Selects what the variables of the dashboard name.
VARIABLES = 'job=~"$job", instance=~"$instance"'
COLUMNS = 24


# The dashboard.

def selected(expression):
    """The expression with the selectors of the variables."""
    def extend(found):
        labels = found[1]
        return f"{found[0].partition('{')[0]}{{{VARIABLES}{', ' + labels if labels else ''}}}"
    return SELECTOR.sub(extend, expression)


def panel_json(panel, number, left, top):
    height = 8 if panel.kind == "timeseries" else 4
    defaults = {"unit": panel.unit}
    options = {"colorMode": "background" if panel.thresholds else "value", "graphMode": "none", "justifyMode": "auto",
               "orientation": "auto", "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "textMode": "name" if panel.kind == "version" else "auto"}
    if panel.kind == "timeseries":
        defaults["custom"] = {"fillOpacity": 10, "lineWidth": 1, "showPoints": "never", "spanNulls": False}
        options = {"legend": {"calcs": ["lastNotNull", "max"], "displayMode": "table", "placement": "bottom", "showLegend": True},
                   "tooltip": {"mode": "multi", "sort": "desc"}}
    steps = [{"color": "green", "value": None}, *({"color": "red", "value": bound} for bound in panel.thresholds)]
    defaults["thresholds"] = {"mode": "absolute", "steps": steps}
    targets = [{"datasource": SOURCES, "editorMode": "code", "expr": selected(expression), "legendFormat": legend, "range": True,
                "refId": chr(ord("A") + index)} for index, (expression, legend) in enumerate(panel.queries)]
    return {"type": "timeseries" if panel.kind == "timeseries" else "stat", "id": number, "title": panel.title,
            "description": panel.about, "datasource": SOURCES, "gridPos": {"h": height, "w": panel.width, "x": left, "y": top},
            "fieldConfig": {"defaults": defaults, "overrides": []}, "options": options, "targets": targets}


def panels_json():
    """All rows and panels, placed from left to right and from top to bottom."""
    made, number, top = [], 0, 0
    for row in ROWS:
        number += 1
        head = {"type": "row", "id": number, "title": row.title, "collapsed": row.collapsed, "panels": [],
                "gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": top}}
        made.append(head)
        top, left, height = top + 1, 0, 0
        for panel in row.panels:
            if left + panel.width > COLUMNS:
                top, left = top + height, 0
            number += 1
            shown = panel_json(panel, number, left, top)
            left, height = left + panel.width, shown["gridPos"]["h"]
            # Grafana keeps the panels of a collapsed row inside of it.
            (head["panels"] if row.collapsed else made).append(shown)
        top += height
    return made


def variable(name, label, query):
    return {"type": "query", "name": name, "label": label, "datasource": SOURCES, "definition": query,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True, "hide": 0,
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]}, "options": [], "regex": ""}


def dashboard():
    present = '{__name__=~"turnpike_build_info|memcached_up"'
    restarts = selected("resets(turnpike_uptime_seconds[2m]) > 0 or resets(memcached_uptime_seconds[2m]) > 0")
    return {
        "uid": "turnpike", "title": "Turnpike", "description": "Nodes, replicas and key-value stores of Turnpike.",
        "tags": ["turnpike"], "schemaVersion": 39, "version": 1, "id": None, "editable": True, "graphTooltip": 1, "links": [],
        "refresh": "10s", "time": {"from": "now-1h", "to": "now"}, "timepicker": {}, "timezone": "browser", "weekStart": "",
        "fiscalYearStartMonth": 0, "liveNow": False,
        "annotations": {"list": [{"name": "Restarts", "enable": True, "hide": False, "iconColor": "orange", "datasource": SOURCES,
                                  "expr": restarts, "step": "1m", "titleFormat": "restart", "textFormat": "{{instance}}"}]},
        "templating": {"list": [
            {"type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "refresh": 1, "hide": 0,
             "current": {}, "options": [], "regex": "", "multi": False, "includeAll": False},
            variable("job", "Job", f"label_values({present}}}, job)"),
            variable("instance", "Instance", f'label_values({present}, job=~"$job"}}, instance)'),
        ]},
        "panels": panels_json(),
    }


def text():
    return json.dumps(dashboard(), indent=1, ensure_ascii=False) + "\n"


def expressions():
    return [expression for row in ROWS for panel in row.panels for expression, _ in panel.queries]


def rules():
    """All expressions of the dashboard as recording rules; Grafana's variables have some value."""
    lines = ["groups:", "  - name: dashboard", "    rules:"]
    for number, expression in enumerate(expressions()):
        plain = selected(expression).replace("$__rate_interval", "5m")
        lines += [f"      - record: panel:{number}", f"        expr: {json.dumps(plain)}"]
    return "\n".join(lines)


# The checks.

def declared():
    """Names of all metrics in the node's source."""
    names = set()
    for file in SOURCE.glob("*.rs"):
        code = file.read_text().partition("#[cfg(test)]")[0]
        prefix = PREFIXES.get(file.name, "turnpike")
        names |= {f"{prefix}_{name}" for name in DECLARED.findall(code)}
    return {EXCEPTIONS.get(name, name) for name in names}


def base(name):
    """The metric of a sample: a histogram's has a suffix."""
    plain = re.sub(r"_(?:bucket|sum|count)$", "", name)
    return plain if plain.endswith("duration_seconds") else name


def used(texts):
    """Names of metrics in expressions."""
    return {base(name) for expression in texts for name in METRIC.findall(expression)}


def alert_expressions():
    """The expressions of alerts: the lines after `expr:` up to the next key of the alert."""
    return re.findall(r"^ +expr: \|?(.*?)(?=^ +(?:for|labels): ?)", ALERTS.read_text(), re.MULTILINE | re.DOTALL)


def anchors():
    """Anchors of the sections of docs/operations.md."""
    titles = re.findall(r"^#+ (.*)$", (HERE / "../../docs/operations.md").read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def alert_problems():
    known = anchors()
    # The first test is a day of normal operation, in which no alert fires. It proves something about an alert only if
    # the metrics of the alert are in it.
    normal, _, firing = TESTS.read_text().partition("\n\n  - name:")
    quiet = used([normal])
    alerts = re.split(r"^ +- alert: ", ALERTS.read_text(), flags=re.MULTILINE)[1:]
    for alert in alerts:
        name = alert.split()[0]
        for key in ("expr", "severity", "summary", "description", "runbook"):
            if not re.search(rf"^ +{key}: \S", alert, re.MULTILINE):
                yield f"alert {name} has no {key}"
        severity = re.search(r"severity: (\w+)", alert)
        if severity and severity[1] not in ("critical", "warning"):
            yield f"alert {name}: severity {severity[1]} is neither critical nor warning"
        runbook = re.search(r"runbook: (\S+)", alert)
        if runbook and runbook[1] not in {f"docs/operations.md#{anchor}" for anchor in known}:
            yield f"alert {name}: {runbook[1]} is no section"
        expression = re.search(r"expr: (.*?)(?=^ +(?:for|labels):)", alert, re.MULTILINE | re.DOTALL)
        for metric in sorted(used([expression[1]]) - quiet if expression else ()):
            yield f"alert {name}: {metric} is not in the test of normal operation"
        if f'alertname="{name}"' not in firing:
            yield f"alert {name} has no test in which it fires"


def check():
    shown, alerted, names = used(expressions()), used(alert_expressions()), declared()
    if not DASHBOARD.exists() or DASHBOARD.read_text() != text():
        yield "dashboard.json is out of date: run packages/monitoring/generate.py"
    for name in sorted((shown | alerted | set(NOT_SHOWN)) - FOREIGN - names):
        yield f"{name}: crates/node/src/metrics has no such metric"
    for name in sorted(names - shown - set(NOT_SHOWN)):
        yield f"{name} has no panel: add one to panels.py, or a reason to NOT_SHOWN"
    for name in sorted(shown & set(NOT_SHOWN)):
        yield f"{name} has a panel: remove it from NOT_SHOWN"
    yield from alert_problems()


def samples(pages):
    """Name and labels of every sample."""
    for page in pages:
        for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", Path(page).read_text(), re.MULTILINE):
            yield name, set(re.findall(r'(\w+="[^"]*")', labels))


def missing(pages):
    found = list(samples(pages))
    printed = {base(name) for name, _ in found}
    for name in sorted(printed - declared()):
        yield f"{name} is printed, but `declared` does not find it in the source"
    for expression in [*expressions(), *alert_expressions()]:
        for match in SELECTOR.finditer(expression):
            name = match[0].partition("{")[0]
            if name in FOREIGN or HARDWARE.match(name):
                continue
            # Expressions of alerts also select by labels that Prometheus adds.
            labels = {label for label in re.findall(r'(\w+="[^"]*")', match[1] or "") if not label.startswith("job=")}
            if not any(name == other and labels <= have for other, have in found):
                yield f"no page has {match[0]}, of the expression {expression.strip()}"


def main():
    arguments = sys.argv[1:]
    match arguments:
        case []:
            DASHBOARD.write_text(text())
            return 0
        case ["--rules"]:
            print(rules())
            return 0
        case ["--check"]:
            problems = list(check())
        case ["--against", _, *_]:
            problems = list(missing(arguments[1:]))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    for problem in problems:
        print(problem)
    count = sum(len(row.panels) for row in ROWS)
    print(f"{count} panels, {len(used(expressions()))} metrics; without a panel: {', '.join(sorted(NOT_SHOWN))}")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
