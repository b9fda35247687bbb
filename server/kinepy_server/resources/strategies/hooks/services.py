"""Services: which addresses they have. The address itself is allocated when they are stored."""

from collections.abc import Mapping, Sequence

from kinepy_server.resources.checks.causes import invalid, path_of
from kinepy_server.resources.resource import FieldError, JsonObject
from kinepy_server.resources.strategies.typed import Hooks

HEADLESS = "None"
_FAMILIES = ("ipFamilies", "ipFamilyPolicy")
_ADDRESSES = ("clusterIP", "clusterIPs")
NODE_PORT_TYPES = frozenset(("NodePort", "LoadBalancer"))
NO_DUAL_STACK = "this cluster is not configured for dual-stack services"
NO_FAMILY = "not configured on this cluster"


def _create(service: JsonObject) -> None:
    _settle(service["spec"])


def _update(new: JsonObject, old: JsonObject) -> None:
    """What was allocated stays, unless the client says otherwise or the type has no use for it."""
    spec, stored = new["spec"], old["spec"]
    if stored.get("type") != spec["type"]:
        _drop_useless(spec, stored)
    if spec["type"] == "ExternalName":
        _settle(spec)
        return
    if stored.get("type") != "ExternalName":
        if spec.get("clusterIP") in (None, "", stored.get("clusterIP")):
            _take(spec, stored, _ADDRESSES)
        else:
            spec["clusterIPs"] = [spec["clusterIP"]]
        for field in _FAMILIES:
            if not spec.get(field) and stored.get(field):
                spec[field] = stored[field]
    if spec["type"] in NODE_PORT_TYPES:
        _take_node_ports(spec, stored)
    _settle(spec)


_USERS = {
    "clusterIP": frozenset(("ClusterIP", "NodePort", "LoadBalancer")),
    "internalTrafficPolicy": frozenset(("ClusterIP", "NodePort", "LoadBalancer")),
    "externalTrafficPolicy": NODE_PORT_TYPES,
    "healthCheckNodePort": NODE_PORT_TYPES,
    "allocateLoadBalancerNodePorts": frozenset(("LoadBalancer",)),
    "loadBalancerClass": frozenset(("LoadBalancer",)),
}
"""Fields that only some types have a use for."""


def _drop_useless(spec: JsonObject, stored: JsonObject) -> None:
    """What the old type had and the new one has no use for goes, unless the client has just set it."""
    for field, users in _USERS.items():
        if spec["type"] not in users and field in spec and spec[field] == stored.get(field):
            del spec[field]


def _take(spec: JsonObject, stored: JsonObject, fields: Sequence[str]) -> None:
    for field in fields:
        if field in stored:
            spec[field] = stored[field]


def _take_node_ports(spec: JsonObject, stored: JsonObject) -> None:
    known = {
        (port.get("protocol"), port.get("port")): port.get("nodePort") for port in stored.get("ports") or ()
    }
    for port in spec.get("ports") or ():
        before = known.get((port.get("protocol"), port.get("port")))
        if before and not port.get("nodePort"):
            port["nodePort"] = before


def _settle(spec: JsonObject) -> None:
    """Addresses and families that agree with the type."""
    if spec["type"] == "ExternalName":
        for field in (*_FAMILIES, "clusterIPs"):
            spec.pop(field, None)
        return
    if spec.get("clusterIP") and not spec.get("clusterIPs"):
        spec["clusterIPs"] = [spec["clusterIP"]]
    elif spec.get("clusterIPs") and not spec.get("clusterIP"):
        spec["clusterIP"] = spec["clusterIPs"][0]
    # A headless service without pods of its own may lead anywhere.
    anywhere = spec.get("clusterIP") == HEADLESS and not spec.get("selector")
    if not spec.get("ipFamilies"):
        spec["ipFamilies"] = ["IPv4", "IPv6"] if anywhere else ["IPv4"]
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = "RequireDualStack" if anywhere else "SingleStack"
    if spec["type"] == "ClusterIP":
        for port in spec.get("ports") or ():
            port.pop("nodePort", None)


def _check(service: JsonObject) -> Sequence[FieldError]:
    """There is one family of addresses to be allocated from."""
    spec = service["spec"]
    if spec.get("type") == "ExternalName" or spec.get("clusterIP") == HEADLESS:
        return ()
    errors = []
    policy = spec.get("ipFamilyPolicy")
    if policy == "RequireDualStack":
        errors.append(invalid(path_of("spec.ipFamilyPolicy"), policy, NO_DUAL_STACK))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if family != "IPv4":
            errors.append(invalid((path_of("spec.ipFamilies"), index), family, NO_FAMILY))
    return errors


def _check_update(new: JsonObject, old: JsonObject) -> Sequence[FieldError]:
    spec, stored = new["spec"], old["spec"]
    before, after = stored.get("clusterIP"), spec.get("clusterIP")
    unallocated = ("", None, HEADLESS)
    if "ExternalName" in (spec.get("type"), stored.get("type")) or before in unallocated or before == after:
        return ()
    path = (path_of("spec.clusterIPs"), 0)
    return [invalid(path, spec.get("clusterIPs") or [after], "may not change once set")]


HOOKS: Mapping[str, Hooks] = {
    "v1.Service": Hooks(create=_create, update=_update, check=_check, check_update=_check_update),
}
