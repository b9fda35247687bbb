"""Update (3.2): one winner per version, the order of the checks, what cannot be changed, who owns what."""

import asyncio

from tests.http.writing import CONFIGMAPS, LEASES, Api, configmap, managers

MODIFIED = (
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes'
    " to the latest version and try again"
)


async def test_of_many_writers_of_one_version_one_wins(api: Api) -> None:
    version = (await api.post(CONFIGMAPS, configmap())).version
    replies = await asyncio.gather(
        *(
            api.put(f"{CONFIGMAPS}/a", configmap(data={"n": str(n)}, resourceVersion=version))
            for n in range(10)
        )
    )
    assert sorted(reply.code for reply in replies) == [200] + [409] * 9
    assert {reply.message for reply in replies if reply.code == 409} == {MODIFIED}


async def test_unconditional_writers_never_conflict(api: Api) -> None:
    await api.post(CONFIGMAPS, configmap())
    replies = await asyncio.gather(
        *(api.put(f"{CONFIGMAPS}/a", configmap(data={"n": str(n)})) for n in range(10))
    )
    assert {reply.code for reply in replies} == {200}
    assert len({reply.version for reply in replies}) == 10


async def test_a_stale_version_wins_over_bad_content(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(data={"bad key!": ""}, resourceVersion="1"))
    assert (reply.code, reply.message) == (409, MODIFIED)


async def test_a_version_that_is_no_number_is_an_error(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap())
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(resourceVersion="abc"))
    assert (reply.code, reply.message) == (500, 'strconv.ParseUint: parsing "abc": invalid syntax')


async def test_some_types_need_a_version(memory_api: Api) -> None:
    lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}
    await memory_api.post(LEASES, lease)
    reply = await memory_api.put(f"{LEASES}/l", lease)
    assert reply.code == 422
    assert reply.body["details"]["kind"] == "leases"
    assert reply.message.endswith(
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    )


async def test_an_unchanged_object_keeps_its_version(api: Api) -> None:
    made = await api.post(CONFIGMAPS, configmap(data={"k": "v"}))
    again = await api.put(f"{CONFIGMAPS}/a?fieldManager=other", configmap(data={"k": "v"}))
    assert again.content == made.content


async def test_an_unchanged_object_with_a_stale_version_conflicts(api: Api) -> None:
    first = await api.post(CONFIGMAPS, configmap())
    await api.put(f"{CONFIGMAPS}/a", configmap(data={"k": "v"}))
    stale = configmap(data={"k": "v"}, resourceVersion=first.version)
    assert (await api.put(f"{CONFIGMAPS}/a", stale)).code == 409


async def test_another_uid_is_another_object(memory_api: Api) -> None:
    uid = (await memory_api.post(CONFIGMAPS, configmap())).body["metadata"]["uid"]
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(uid="other"))
    assert reply.code == 409
    assert "Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0" in reply.message
    assert reply.message.endswith(f"UID in precondition: other, UID in object meta: {uid}")


async def test_server_fields_stay_as_they_are(memory_api: Api) -> None:
    made = await memory_api.post(CONFIGMAPS, configmap())
    claimed = configmap(creationTimestamp="2001-01-01T00:00:00Z", generation=7, selfLink="/x")
    reply = await memory_api.put(f"{CONFIGMAPS}/a", claimed)
    assert reply.body["metadata"] == made.body["metadata"]


async def test_name_and_namespace_must_be_those_of_the_address(memory_api: Api) -> None:
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap("b"))
    assert reply.message == "the name of the object (b) does not match the name on the URL (a)"
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(namespace="other"))
    assert reply.message.startswith("the namespace of the provided object does not match")


async def test_dry_run_changes_nothing(api: Api) -> None:
    made = await api.post(CONFIGMAPS, configmap(data={"k": "1"}))
    reply = await api.put(f"{CONFIGMAPS}/a?dryRun=All", configmap(data={"k": "2"}))
    assert reply.body["data"] == {"k": "2"}
    assert (await api.get(f"{CONFIGMAPS}/a")).content == made.content


async def test_an_immutable_configmap_stays(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, {**configmap(data={"k": "1"}), "immutable": True})
    reply = await memory_api.put(f"{CONFIGMAPS}/a", {**configmap(data={"k": "2"}), "immutable": True})
    assert reply.code == 422
    assert "field is immutable when `immutable` is set" in reply.message


async def test_fields_move_to_who_changes_them(memory_api: Api) -> None:
    await memory_api.post(f"{CONFIGMAPS}?fieldManager=one", configmap(data={"a": "1", "b": "1"}))
    reply = await memory_api.put(f"{CONFIGMAPS}/a?fieldManager=two", configmap(data={"a": "1", "b": "2"}))
    assert managers(reply) == {"one": {"f:data": {".": {}, "f:a": {}}}, "two": {"f:data": {"f:b": {}}}}


async def test_removed_fields_are_nobodys(memory_api: Api) -> None:
    await memory_api.post(f"{CONFIGMAPS}?fieldManager=one", configmap(data={"a": "1", "b": "1"}))
    reply = await memory_api.put(f"{CONFIGMAPS}/a?fieldManager=two", configmap(data={"a": "1"}))
    assert managers(reply) == {"one": {"f:data": {".": {}, "f:a": {}}}}
    reply = await memory_api.put(f"{CONFIGMAPS}/a?fieldManager=two", configmap())
    assert managers(reply) == {}


async def test_an_empty_list_of_managers_forgets_them(memory_api: Api) -> None:
    await memory_api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(data={"a": "1"}, managedFields=[]))
    assert managers(reply) == {}


async def test_managers_survive_a_client_that_does_not_send_them(memory_api: Api) -> None:
    made = await memory_api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    broken = [{"manager": "x", "operation": "Nonsense"}]
    reply = await memory_api.put(f"{CONFIGMAPS}/a", configmap(data={"a": "1"}, managedFields=broken))
    assert managers(reply) == managers(made)


async def test_old_managers_are_merged_when_there_are_too_many(memory_api: Api) -> None:
    await memory_api.post(f"{CONFIGMAPS}?fieldManager=m0", configmap(data={"k0": "v"}))
    for n in range(1, 15):
        body = {"data": {f"k{n}": "v"}}
        reply = await memory_api.patch(f"{CONFIGMAPS}/a?fieldManager=m{n}", body)
    found = managers(reply)
    assert len(found) == 10
    assert "ancient-changes" in found
    owned = {field for fields in found.values() for field in fields["f:data"]}
    assert owned == {".", *(f"f:k{n}" for n in range(15))}
