"""Write the server's data files from measured facts.

    python tests/tools/generate_data.py FACTS ANSWERS

FACTS is a folder with resources, behaviours, tables, field_selectors, schemas and protobuf .json; ANSWERS
holds recorded answers, from which the descriptions of Table columns are taken. What is taken over is said
by `data/enabled.json`: resources that are left out, which resource stores another one's objects, and key
prefixes that are not `/registry/<plural>`. Everything else follows from the facts.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "server" / "kinepy_server" / "data"
TESTS = Path(__file__).parents[1] / "http"
ALWAYS = (
    "meta.v1.DeleteOptions", "meta.v1.Status", "meta.v1.WatchEvent", "authentication.v1.TokenRequest",
    "autoscaling.v1.Scale", "policy.v1.Eviction",
)  # fmt: skip
"""Types in use beside the resources': options of a delete, answers, and what subresources take."""
MESSAGES = (
    "runtime.TypeMeta", "meta.v1.PartialObjectMetadata", "meta.v1.PartialObjectMetadataList",
    "meta.v1beta1.PartialObjectMetadataList", "meta.v1.APIVersions", "meta.v1.APIGroup", "meta.v1.APIGroupList",
    "meta.v1.APIResourceList",
)  # fmt: skip
"""Types that only travel as protobuf messages: envelopes, partial metadata, discovery."""
ORDINARY = {
    "name_rule": "dnsSubdomain", "unconditional_update": True, "create_on_update": False, "has_generation": False,
    "delete_returns": "Status",
}  # fmt: skip
"""Behaviour of what is never stored, which nobody can observe."""
DEFAULT_COLUMNS = [["Name", "string", "name", 0], ["Created At", "date", "", 0]]
"""The columns of types that have none of their own."""
STATUS_METADATA = ("annotations", "finalizers", "labels")

Json = dict[str, Any]


def read(folder: Path, name: str) -> Json:
    content: Json = json.loads((folder / f"{name}.json").read_text())
    return content


def write(name: str, content: Json, folder: Path = DATA) -> None:
    """One entry a line, so that a change of the facts is a readable change."""
    parts = []
    for section, value in sorted(content.items()):
        if isinstance(value, dict):
            lines = ",\n".join(
                f"  {json.dumps(key)}: {json.dumps(value[key], sort_keys=True, ensure_ascii=False)}"
                for key in sorted(value)
            )
            parts.append(f" {json.dumps(section)}: {{\n{lines}\n }}")
        else:
            parts.append(f" {json.dumps(section)}: {json.dumps(value, sort_keys=True, ensure_ascii=False)}")
    (folder / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def column_descriptions(answers: Path) -> dict[str, dict[str, str]]:
    """resource kind column names -> descriptions, found by the exact row of column names."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(answers.glob("table-*.json")):
        for step in json.loads(path.read_text())["steps"]:
            body = step.get("body")
            columns = body.get("columnDefinitions") if isinstance(body, dict) else None
            if columns and all("description" in column for column in columns):
                names = ",".join(column["name"] for column in columns)
                found[names] = {column["name"]: column["description"] for column in columns}
    return found


def columns_of(table: Json, descriptions: Mapping[str, Mapping[str, str]]) -> list[list[Any]]:
    rows = table.get("columns", [])
    known = descriptions.get(",".join(row[0] for row in rows), {})
    common = {
        name: text
        for texts in descriptions.values()
        for name, text in texts.items()
        if name in ("Name", "Age")
    }
    return [[*row, known.get(row[0], common.get(row[0], ""))] for row in rows]


def schema_names(schemas: Json) -> dict[str, str]:
    """`apiVersion/kind` -> schema name."""
    names = {}
    for name, definition in schemas["definitions"].items():
        for group, version, kind in definition.get("gvk", []):
            names[f"{group}/{version}/{kind}"] = name
    return names


def resource_entry(key: str, facts: Mapping[str, Json], enabled: Json, schema: str) -> Json:
    fact = facts["resources"]["resources"][key]
    behaviour = facts["behaviours"]["resources"].get(key, ORDINARY)
    selectors = facts["field_selectors"]["resources"].get(key, {"accepted": [], "errorForm": "A"})
    storage = enabled["storage"].get(key, key)
    stored = facts["resources"]["resources"][storage]
    entry = {
        name: fact[name] for name in ("group", "version", "plural", "singular", "kind", "namespaced", "verbs")
    }
    return entry | {
        "listKind": fact.get("listKind", ""),
        "shortNames": fact.get("shortNames", []),
        "categories": fact.get("categories", []),
        "storageVersionHash": fact.get("storageVersionHash", ""),
        "subresources": fact["subresources"],
        "keyPrefix": enabled["prefixes"].get(storage, f"/registry/{stored['plural']}"),
        "storageVersion": api_version(stored) if "storageGroupVersion" in stored else "",
        "schema": schema,
        "nameRule": behaviour["name_rule"],
        "unconditionalUpdate": behaviour["unconditional_update"],
        "createOnUpdate": behaviour["create_on_update"],
        "deleteReturnsObject": removal_answer(behaviour) == "object",
        "hasGeneration": behaviour["has_generation"],
        "defaultPropagation": behaviour.get("default_propagation", "Background"),
        "fieldLabels": selectors["accepted"],
        "fieldLabelError": facts["field_selectors"]["errorForms"][selectors["errorForm"]],
        "rules": rules_of(behaviour),
    }


def removal_answer(behaviour: Json) -> str:
    """What a delete that removes the object at once returns."""
    found: str = behaviour.get("delete_returns_when_removed_at_once") or behaviour["delete_returns"]
    return found


def api_version(fact: Json) -> str:
    return f"{fact['group']}/{fact['version']}" if fact["group"] else str(fact["version"])


def rules_of(behaviour: Json) -> Json:
    """What a type's strategy does; what most types do is left out."""
    written = behaviour.get("status_subresource", {})
    rules = {
        "generationBy": behaviour.get("generation_bumped_by", ["spec"]),
        "generationStartsAbsent": "generation_fact" in behaviour,
        "keepsStatusOnCreate": behaviour.get("status_reset_on_create") is False,
        "finalizers": behaviour.get("finalizers_added_on_create", []),
        "annotations": behaviour.get("annotations_added_on_create", {}),
        "statusKeeps": [part for part in STATUS_METADATA if written.get(f"{part}_written") is False],
    }
    ordinary = {"generationBy": ["spec"]}
    return {name: value for name, value in rules.items() if value != ordinary.get(name, type(value)())}


def references(shape: Json) -> Iterator[str]:
    if "ref" in shape:
        yield shape["ref"]
    for inner in ("items", "additionalProperties"):
        if inner in shape:
            yield from references(shape[inner])


def reachable_schemas(schemas: Json, roots: Iterable[str]) -> list[str]:
    seen: dict[str, None] = {}
    open_names = list(roots)
    while open_names:
        name = open_names.pop()
        if name in seen:
            continue
        seen[name] = None
        for shape in schemas["definitions"][name].get("properties", {}).values():
            open_names.extend(references(schemas["shapes"][shape]))
    return sorted(seen)


def go_flags(messages: Json, name: str) -> dict[str, str]:
    """json name -> flags of the Go field (p pointer, o omitempty, z omitzero), inlined messages included."""
    flags: dict[str, str] = {}
    for entry in messages.get(name, {}).values():
        json_name, kind, _, flag = [*entry, "", ""][:4]
        if "i" in flag:
            flags |= go_flags(messages, kind)
        else:
            flags[json_name] = flag
    return flags


def schema_tables(facts: Mapping[str, Json], roots: Iterable[str]) -> Json:
    schemas, messages = facts["schemas"], facts["protobuf"]["messages"]
    definitions: Json = {}
    shapes: Json = {}
    for name in reachable_schemas(schemas, roots):
        definition = schemas["definitions"][name]
        entry = {
            part: definition[part]
            for part in ("required", "mapType", "oneOf", "unions")
            if part in definition
        }
        flags, properties = go_flags(messages, name), definition.get("properties", {})
        entry["properties"] = {prop: [shape, flags.get(prop, "o")] for prop, shape in properties.items()}
        for part in ("gvk", "gvkEveryServedGroupVersion"):
            if part in definition:
                entry["gvk"] = definition[part]
        definitions[name] = entry
        shapes |= {shape: schemas["shapes"][shape] for shape in properties.values()}
    special = {
        name: "anyJSON" if kind.startswith("anyJSON") else kind
        for kind, names in schemas["special"].items()
        if isinstance(names, (list, dict))
        for name in names
    }
    kinds: dict[str, list[str]] = {}
    for name in schema_names(schemas):
        group, version, kind = name.split("/")
        kinds.setdefault(f"{group}/{version}" if group else version, []).append(kind)
    return {
        "definitions": definitions,
        "kinds": {version: sorted(names) for version, names in kinds.items()},
        "prefixes": schemas["openapiPrefixes"],
        "shapes": shapes,
        "special": special,
    }


def protobuf_tables(facts: Mapping[str, Json], roots: Iterable[str]) -> Json:
    protobuf = facts["protobuf"]
    messages, open_names = {}, [name for name in roots if name in protobuf["messages"]]
    while open_names:
        name = open_names.pop()
        if name not in messages:
            messages[name] = protobuf["messages"][name]
            open_names += [entry[1] for entry in messages[name].values() if entry[1] in protobuf["messages"]]
    return {
        "messages": messages,
        "metaKinds": protobuf["metaKindsInV1"],
        "prefixes": {
            v: p for v, p in protobuf["groupVersionPackage"].items() if any(n.startswith(p) for n in messages)
        },
    }


def recorded_types(facts: Mapping[str, Json]) -> Json:
    """What tests compare with: the smallest object of each type, objects as sent and as stored, rows of Tables."""
    behaviours, tables = facts["behaviours"]["resources"], facts["tables"]["resources"]
    return {
        "minimal": {key: behaviour["minimal"] for key, behaviour in behaviours.items()},
        "examples": {
            key: [[example["in"], example["out"]] for example in behaviour.get("examples", [])]
            for key, behaviour in behaviours.items()
        },
        "rows": {
            key: [
                [row["object"], row["cells"], row.get("rowConditions")] for row in table.get("examples", [])
            ]
            for key, table in tables.items()
        },
    }


def main(facts_folder: Path, answers: Path) -> None:
    names = ("resources", "behaviours", "tables", "field_selectors", "schemas", "protobuf")
    facts = {name: read(facts_folder, name) for name in names}
    enabled, by_kind = read(DATA, "enabled"), schema_names(facts["schemas"])
    descriptions, resources = column_descriptions(answers), {}
    for key in sorted(facts["resources"]["resources"].keys() - set(enabled["skipped"])):
        fact = facts["resources"]["resources"][key]
        schema = by_kind[f"{fact['group']}/{fact['version']}/{fact['kind']}"]
        entry = resource_entry(key, facts, enabled, schema)
        columns = columns_of(facts["tables"]["resources"].get(key, {}), descriptions)
        entry["columns"] = [] if facts["tables"]["resources"].get(key, {}).get("default_printer") else columns
        resources[key] = entry
    served = {(entry["group"], entry["version"]) for entry in resources.values()}
    groups = [
        group | {"versions": [v for v in group["versions"] if (group["group"], v) in served]}
        for group in facts["resources"]["groups"]
        if any(name == group["group"] for name, _ in served)
    ]
    roots = sorted({entry["schema"] for entry in resources.values()} | set(ALWAYS))
    lists = sorted(
        f"{entry['schema'].rpartition('.')[0]}.{entry['listKind']}"
        for entry in resources.values()
        if entry["listKind"]
    )
    default_columns = columns_of({"columns": DEFAULT_COLUMNS}, descriptions)
    write("resources", {"defaultColumns": default_columns, "groups": groups, "resources": resources})
    write("schemas", schema_tables(facts, roots))
    write("protobuf", protobuf_tables(facts, [*roots, *lists, *MESSAGES]))
    write("types", recorded_types(facts), TESTS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
