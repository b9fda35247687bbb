"""Policies that contradict each other or blow objects up end in an answer, soon."""

from tests.admission.objects import binding, mutating, mutating_binding, operating, policy, put_in_force
from tests.http.writing import CONFIGMAPS, Api, configmap


async def test_policies_that_never_agree_are_asked_twice_at_most(api: Api) -> None:
    for name in ("one", "two"):
        text = f'object.data.?trail.orValue("") + "{name} "'
        says = operating(f'[JSONPatch{{op: "add", path: "/data/trail", value: {text}}}]')
        await put_in_force(api, mutating(name, [says], reinvocationPolicy="IfNeeded"))
        await put_in_force(api, mutating_binding(name, name))
    created = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    assert created.body["data"]["trail"] == "one two one two "


async def test_policies_that_double_a_text_again_and_again_are_stopped(api: Api) -> None:
    doubles = operating(
        '[JSONPatch{op: "replace", path: "/data/a", value: object.data.a + object.data.a}]',
    )
    for number in range(30):
        await put_in_force(api, mutating(f"m{number:02}", [doubles]))
        await put_in_force(api, mutating_binding(f"m{number:02}", f"b{number:02}"))
    refused = await api.post(CONFIGMAPS, configmap(data={"a": "1"}))
    assert refused.code == 403 and refused.message.endswith("operation cancelled: actual cost limit exceeded")
    assert (await api.get(f"{CONFIGMAPS}/a")).code == 404


async def test_of_policies_that_contradict_each_other_one_refuses(api: Api) -> None:
    for value in ("1", "2"):
        await put_in_force(api, policy(f"p{value}", [{"expression": f"object.data.a == '{value}'"}]))
        await put_in_force(api, binding(f"b{value}", f"p{value}"))
    for value, by in (("1", "p2"), ("2", "p1")):
        refused = await api.post(CONFIGMAPS, configmap(data={"a": value}))
        assert refused.code == 422 and f"'{by}'" in refused.message
