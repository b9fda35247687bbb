"""Create (3.1): what is stored, what is refused, and that one of many wins."""

import asyncio
import re
from random import Random
from typing import Any

import pytest

from kinepy import open_store
from kinepy_server.context import Context
from kinepy_server.objects import metadata as checks
from kinepy_server.objects import names
from kinepy_server.objects.names import generated_name, name_problems, prefix_problems
from kinepy_server.objects.uids import new_uid
from kinepy_server.resources.builtins import builtin_registry
from tests.http.writing import CONFIGMAPS, CORE, LEASES, Api, api_over, configmap, managers

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


async def test_answers_the_whole_object_as_it_is_read_later(api: Api) -> None:
    made = await api.post(CONFIGMAPS, configmap(data={"k": "v"}))
    assert made.code == 201
    assert UUID4.fullmatch(made.body["metadata"]["uid"])
    assert (await api.get(f"{CONFIGMAPS}/a")).content == made.content


async def test_one_of_many_wins_and_the_others_are_told(api: Api) -> None:
    replies = await asyncio.gather(*(api.post(CONFIGMAPS, configmap(data={"n": str(n)})) for n in range(20)))
    assert sorted(reply.code for reply in replies) == [201] + [409] * 19
    assert 'configmaps "a" already exists' in {r.message for r in replies if r.code == 409}


async def test_sets_what_the_server_decides(memory_api: Api) -> None:
    claimed: Any = {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}
    reply = await memory_api.post(CONFIGMAPS, configmap(**claimed, deletionTimestamp="2001-01-01T00:00:00Z"))
    metadata = reply.body["metadata"]
    assert metadata["uid"] != "mine"
    assert not metadata["creationTimestamp"].startswith("2001")
    assert "deletionTimestamp" not in metadata
    assert "selfLink" not in metadata


async def test_dry_run_stores_nothing_and_shows_no_version(api: Api) -> None:
    before = (await api.get(CONFIGMAPS)).version
    reply = await api.post(f"{CONFIGMAPS}?dryRun=All", configmap())
    assert reply.code == 201
    assert "resourceVersion" not in reply.body["metadata"]
    assert (await api.get(CONFIGMAPS)).version == before


async def test_dry_run_of_an_existing_name_is_refused(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    assert (await memory_api.post(f"{CONFIGMAPS}?dryRun=All", configmap())).code == 409


async def test_a_version_on_a_new_object_is_refused(memory_api: Api) -> None:
    reply = await memory_api.post(CONFIGMAPS, configmap(resourceVersion="7"))
    assert reply.code == 500
    assert reply.message == "resourceVersion should not be set on objects to be created"


@pytest.mark.parametrize("claimed", ["0", "", "abc"])
async def test_a_version_that_says_nothing_is_ignored(memory_api: Api, claimed: str) -> None:
    assert (await memory_api.post(CONFIGMAPS, configmap(resourceVersion=claimed))).code == 201


async def test_a_taken_generated_name_is_drawn_again() -> None:
    async with open_store("sqlite:///:memory:") as store:
        context = Context(store, builtin_registry(), random=Random(1))
        async with api_over(context) as api:
            taken = generated_name("x-", Random(1))
            await api.post(CONFIGMAPS, configmap(taken))
            reply = await api.post(CONFIGMAPS, {"metadata": {"generateName": "x-"}})
            assert reply.code == 201
            assert reply.body["metadata"]["name"] != taken


class Stuck(Random):
    """Always draws the same."""

    def choices(self, population: object, *args: object, **kwargs: object) -> list[str]:  # type: ignore[override]
        return ["b"] * 5


async def test_gives_up_when_no_generated_name_is_free() -> None:
    async with (
        open_store("sqlite:///:memory:") as store,
        api_over(Context(store, builtin_registry(), random=Stuck())) as api,
    ):
        await api.post(CONFIGMAPS, configmap("x-bbbbb"))
        reply = await api.post(CONFIGMAPS, {"metadata": {"generateName": "x-"}})
        assert reply.code == 409
        assert reply.header("retry-after") == ["1"]
        assert reply.message.endswith("the server was not able to generate a unique name for the object")


async def test_a_missing_namespace_is_not_found(api: Api) -> None:
    reply = await api.post("/api/v1/namespaces/none/configmaps", configmap())
    assert (reply.code, reply.message) == (404, 'namespaces "none" not found')


async def test_put_creates_where_the_type_allows_it(api: Api) -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}}
    assert (await api.put(f"{LEASES}/l", lease)).code == 201
    assert (await api.put(f"{CONFIGMAPS}/none", configmap("none"))).code == 404
    missing = LEASES.replace("default", "none")
    assert (await api.put(f"{missing}/l", lease)).message == 'namespaces "none" not found'


async def test_repeated_owners_are_dropped_with_a_warning(memory_api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u1"}
    reply = await memory_api.post(CONFIGMAPS, configmap(ownerReferences=[owner, owner]))
    assert reply.body["metadata"]["ownerReferences"] == [owner]
    assert "duplicate UID(s) observed: u1" in reply.header("warning")[0]


async def test_unknown_fields_warn_by_default_and_refuse_under_strict(memory_api: Api) -> None:
    body = {**configmap(), "frob": 1}
    strict = await memory_api.post(f"{CONFIGMAPS}?fieldValidation=Strict", body)
    assert strict.code == 400
    assert strict.message.endswith('strict decoding error: unknown field "frob"')
    assert (await memory_api.post(CONFIGMAPS, body)).header("warning") == ['299 - "unknown field \\"frob\\""']


async def test_the_creator_owns_what_it_wrote(memory_api: Api) -> None:
    reply = await memory_api.post(f"{CONFIGMAPS}?fieldManager=me", configmap(data={"k": "v"}))
    assert managers(reply) == {"me": {"f:data": {".": {}, "f:k": {}}}}


async def test_what_the_type_adds_is_nobodys(memory_api: Api) -> None:
    reply = await memory_api.post("/api/v1/namespaces", {"metadata": {"name": "n"}})
    label: Any = {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}
    assert managers(reply) == {"tests": {"f:metadata": label}}


@pytest.mark.parametrize("name", [".", "..", "a%25"])
async def test_a_name_that_cannot_be_in_an_address_is_refused(memory_api: Api, name: str) -> None:
    reply = await memory_api.put(f"{CORE}/configmaps/{name}", configmap())
    assert reply.code == 400


def test_name_rules() -> None:
    assert not name_problems("dnsSubdomain", "a-b.c")
    assert name_problems("dnsSubdomain", "a" * 254)[0] == "must be no more than 253 characters"
    assert name_problems("dnsLabel", "a.b") == ("must not contain dots",)
    assert not name_problems("pathSegment", "Some:Role")
    assert name_problems("pathSegment", "a/b%c") == ("may not contain '/'", "may not contain '%'")


def test_a_base_may_end_in_a_dash() -> None:
    assert not prefix_problems("dnsSubdomain", "base-")
    assert prefix_problems("dnsSubdomain", "-")


def test_uids_are_random_uuids_of_version_4() -> None:
    found = {new_uid() for _ in range(1000)}
    assert len(found) == 1000
    assert all(UUID4.fullmatch(uid) for uid in found)


async def test_a_flood_of_wrong_labels_is_refused_in_few_words(memory_api: Api) -> None:
    labels = {f"-{index}": "-" for index in range(20_000)}
    reply = await memory_api.post(CONFIGMAPS, configmap(labels=labels, annotations=labels))
    assert reply.code == 422
    assert len(reply.content) < 200_000


def test_what_is_wrong_with_long_names_is_not_remembered() -> None:
    resource = builtin_registry().lookup("", "v1", "configmaps")
    assert resource is not None
    caches = names._known, checks._known_key_problems, checks._known_label_problems
    before = [cache.cache_info().currsize for cache in caches]
    long = "x" * 9999
    assert len(checks.metadata_errors(resource, {"name": long, "labels": {long: long}})) == 3
    assert [cache.cache_info().currsize for cache in caches] == before
