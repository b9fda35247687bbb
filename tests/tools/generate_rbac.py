"""Write the server's table of bootstrap roles and bindings from lists of them in YAML.

    python tests/tools/generate_rbac.py LIST...

Each LIST is what `kubectl get clusterroles,clusterrolebindings -o yaml` or `kubectl get roles,rolebindings -A
-o yaml` prints of an API server that nobody has used yet. Only objects with the bootstrap label are taken over.
"""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

OUT = Path(__file__).parents[2] / "server" / "kinepy_server" / "data" / "bootstrap_rbac.json"
BOOTSTRAP_LABEL = "kubernetes.io/bootstrapping"
PARTS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
SECTIONS = {
    "ClusterRole": "clusterroles",
    "Role": "roles",
    "ClusterRoleBinding": "clusterrolebindings",
    "RoleBinding": "rolebindings",
}

Json = dict[str, Any]


def rule_row(rule: Json) -> list[list[str]]:
    """A rule as a row of its parts, without empty ones at the end."""
    row = [sorted(rule.get(part) or []) for part in PARTS]
    while not row[-1]:
        row.pop()
    return row


def entry(obj: Json) -> Json:
    """What an object says beyond its name and what all bootstrap objects say."""
    found: Json = {}
    labels = {k: v for k, v in obj["metadata"].get("labels", {}).items() if k != BOOTSTRAP_LABEL}
    if labels:
        found["labels"] = labels
    if obj["kind"].endswith("Binding"):
        found["role"] = [obj["roleRef"]["kind"], obj["roleRef"]["name"]]
        found["subjects"] = [
            [s["kind"], s["name"], s.get("namespace", "")] for s in obj.get("subjects") or []
        ]
    elif "aggregationRule" in obj:
        found["gathers"] = [s["matchLabels"] for s in obj["aggregationRule"]["clusterRoleSelectors"]]
    else:
        found["rules"] = [rule_row(rule) for rule in obj["rules"] or []]
    return found


def table(lists: Iterable[Json]) -> Json:
    """All bootstrap objects of the lists."""
    sections: Json = {name: {} for name in SECTIONS.values()}
    for one in lists:
        for obj in one["items"]:
            metadata = obj["metadata"]
            if BOOTSTRAP_LABEL in metadata.get("labels", {}):
                namespace = metadata.get("namespace")
                name = f"{namespace}/{metadata['name']}" if namespace else metadata["name"]
                sections[SECTIONS[obj["kind"]]][name] = entry(obj)
    return sections


def main(paths: Iterable[str]) -> None:
    sections = table(yaml.safe_load(Path(path).read_text()) for path in paths)
    parts = []
    for section, entries in sections.items():
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(entries[name])}" for name in sorted(entries))
        parts.append(f" {json.dumps(section)}: {{\n{lines}\n }}")
    OUT.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
