"""How well a pod's claims on its node are kept: its quality of service class."""

from collections.abc import Mapping
from typing import Any

from kinepy_server.resources.resource import JsonObject
from kinepy_server.schema.quantity import BadQuantity, quantity_value

COMPUTE = ("cpu", "memory")


def quality_class(spec: JsonObject) -> str:
    """Guaranteed when all containers get exactly what they may use, BestEffort when none asks for anything."""
    asked, guaranteed = False, True
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        requests, limits = _values(resources.get("requests")), _values(resources.get("limits"))
        asked = asked or bool(requests or limits)
        if len(limits) < len(COMPUTE) or any(requests.get(name) != limits[name] for name in limits):
            guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"


def _values(amounts: Mapping[str, str] | None) -> Mapping[str, Any]:
    found = {name: _value(amounts[name]) for name in COMPUTE if amounts and name in amounts}
    return {name: value for name, value in found.items() if value}


def _value(text: str) -> Any:
    try:
        return quantity_value(text)
    except BadQuantity:
        return 0
