"""CustomResourceDefinitions from files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from kinepy_server.cli.problems import Problem

KIND: Final = "CustomResourceDefinition"
API_VERSION: Final = "apiextensions.k8s.io/v1"
SUFFIXES: Final = frozenset((".yaml", ".yml", ".json"))

Json = dict[str, Any]


def read_definitions(paths: Sequence[Path]) -> Sequence[Json]:
    """The definitions in files, and in the files of folders; other kinds of objects are passed over.

    Raises `Problem` for a path without any.
    """
    found: dict[str, Json] = {}
    for path in paths:
        some = [definition for file in _files(path) for definition in _definitions(file)]
        if not some:
            raise Problem(f"there is no {KIND} in {path}: give a file or folder of them with --definitions")
        for definition in some:
            name = (definition.get("metadata") or {}).get("name")
            if not isinstance(name, str):
                raise Problem(f"a {KIND} in {path} has no name")
            found[name] = definition
    return list(found.values())


def _files(path: Path) -> Sequence[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and file.is_file())


def _definitions(file: Path) -> Iterator[Json]:
    try:
        documents = list(yaml.load_all(file.read_text(), yaml.CSafeLoader))
    except OSError as error:
        raise Problem(f"cannot read {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise Problem(f"{file} is no YAML: {error}") from error
    for document in documents:
        yield from _of_document(file, document)


def _of_document(file: Path, document: Any) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if str(document.get("kind", "")).endswith("List") and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _of_document(file, item)
    elif document.get("kind") == KIND:
        if document.get("apiVersion") != API_VERSION:
            raise Problem(f"{file}: a {KIND} of {document.get('apiVersion')}: write it in {API_VERSION}")
        yield document
