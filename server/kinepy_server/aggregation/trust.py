"""The ConfigMap by which backends learn whom to trust: the authorities of users and of front proxies.

Every server adds its own, and takes nothing away: there may be others with other authorities beside it.
"""

from collections.abc import Mapping

import orjson

from kinepy import KeyRange, KeyValue
from kinepy.errors import KeyExists, RevisionConflict
from kinepy_server.aggregation.checking import ACTOR, MANAGER
from kinepy_server.apply.managed_fields import Writer
from kinepy_server.context import Context
from kinepy_server.errors import StatusError
from kinepy_server.objects.codec import decode
from kinepy_server.objects.namespaces import require_namespace
from kinepy_server.objects.times import timestamp
from kinepy_server.resources.resource import JsonObject, Resource
from kinepy_server.writes.guarded import create_guarded
from kinepy_server.writes.outcome import Write
from kinepy_server.writes.prepare import prepare_changed, prepare_new
from kinepy_server.writes.versions import ServedVersions

NAMESPACE, NAME = "kube-system", "extension-apiserver-authentication"
KEY = f"/registry/configmaps/{NAMESPACE}/{NAME}".encode()
CLIENT_CA, PROXY_CA = "client-ca-file", "requestheader-client-ca-file"
_LISTS: Mapping[str, list[str]] = {
    "requestheader-allowed-names": ["front-proxy-client"],
    "requestheader-extra-headers-prefix": ["X-Remote-Extra-"],
    "requestheader-group-headers": ["X-Remote-Group"],
    "requestheader-uid-headers": ["X-Remote-Uid"],
    "requestheader-username-headers": ["X-Remote-User"],
}
_END = "-----END CERTIFICATE-----"
_AGAIN_S = 1.0
_LOOK_EVERY_S = 60.0
"""How often the authorities may have become others."""


def combined(data: Mapping[str, str], *, client_ca: str, proxy_ca: str) -> dict[str, str]:
    """The ConfigMap's data with what is to be in it. Pure."""
    made = dict(data)
    if client_ca:
        made[CLIENT_CA] = _certificates(data.get(CLIENT_CA, ""), client_ca)
    if proxy_ca:
        made[PROXY_CA] = _certificates(data.get(PROXY_CA, ""), proxy_ca)
        for name, ours in _LISTS.items():
            made[name] = orjson.dumps([*dict.fromkeys((*_list(data.get(name, "")), *ours))]).decode()
    return made


def _certificates(known: str, ours: str) -> str:
    """The certificates of both, each once."""
    found = (part.strip() for part in (known + "\n" + ours).split(_END))
    return "".join(f"{part}\n{_END}\n" for part in dict.fromkeys(found) if part)


def _list(text: str) -> list[str]:
    """A list in JSON; what is none is replaced."""
    try:
        found = orjson.loads(text) if text else []
    except orjson.JSONDecodeError:
        return []
    return [str(one) for one in found] if isinstance(found, list) else []


async def keep_trust(context: Context) -> None:
    """Keep this server's authorities in the ConfigMap; runs until cancelled.

    Where they are not told from the start, they are as soon as there is a backend.
    """
    identity = context.aggregation.identity
    if not identity.publish:
        await context.aggregation.begun.wait()
    async with context.store.watch(KeyRange.single(KEY)) as watch:
        while True:
            proxy_ca = (await identity.front_proxy()).ca
            written = await _ensure(context, client_ca=identity.client_ca, proxy_ca=proxy_ca)
            await watch.next(timeout_s=_LOOK_EVERY_S if written else _AGAIN_S)


async def _ensure(context: Context, *, client_ca: str, proxy_ca: str) -> bool:
    """Whether it is as it should be."""
    resource = context.registry.lookup("", "v1", "configmaps")
    assert resource is not None, "config maps are always served"
    now = timestamp(context.clock.now_us())
    writer = Writer(MANAGER, ServedVersions(context.registry, resource), "", now)
    kv = await context.store.get(KEY)
    data = (decode(resource, kv).get("data") or {}) if kv is not None else {}
    wanted = combined(data, client_ca=client_ca, proxy_ca=proxy_ca)
    if wanted == data:
        return True
    try:
        if kv is None:
            await _create(context, resource, wanted, writer=writer)
        else:
            await _change(context, resource, kv, data=wanted, writer=writer)
    except (KeyExists, RevisionConflict, StatusError):
        return False
    return True


async def _create(context: Context, resource: Resource, data: dict[str, str], *, writer: Writer) -> None:
    obj: JsonObject = {"metadata": {"name": NAME, "namespace": NAMESPACE}, "data": data}
    guard = await require_namespace(context, resource, NAMESPACE, name=NAME)
    value = prepare_new(resource, obj, writer, warnings=[])
    await create_guarded(context, resource, KEY, value=value, actor=ACTOR, guard=guard)


async def _change(
    context: Context, resource: Resource, kv: KeyValue, *, data: dict[str, str], writer: Writer
) -> None:
    new = {**decode(resource, kv), "data": data}
    changed = prepare_changed(resource, new, decode(resource, kv), writer=writer, warnings=[])
    assert isinstance(changed, Write), "what is not being deleted stays"
    await context.store.update(KEY, changed.value, expect=kv.mod_revision, actor=ACTOR)
