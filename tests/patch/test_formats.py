"""What the bodies of patches tell beside the patch."""

import pytest

from kinepy_server.patch.formats import read_json_patch, read_merge_patch, read_strategic_patch
from kinepy_server.resources.builtins import builtin_registry
from kinepy_server.resources.resource import Resource
from kinepy_server.server_settings import ServerSettings

BODY = b'{"data":{"a":"1","b:":"x:y","a":"2"},"list":[{"c":1,"c":1}]}'


@pytest.fixture
def configmaps() -> Resource:
    found = builtin_registry().lookup("", "v1", "configmaps")
    assert found is not None
    return found


@pytest.mark.parametrize("read", [read_merge_patch, read_strategic_patch])
def test_repeated_fields_are_told_and_the_last_counts(read: type, configmaps: Resource) -> None:
    patch = read(BODY, configmaps, ServerSettings())
    assert patch.repeated == ['duplicate field "data.a"', 'duplicate field "list[0].c"']
    assert patch.apply({})["data"] == {"a": "2", "b:": "x:y"}


@pytest.mark.parametrize("read", [read_merge_patch, read_strategic_patch])
def test_a_patch_without_them_tells_nothing(read: type, configmaps: Resource) -> None:
    assert not read(b'{"data":{"a":"b: c"}}', configmaps, ServerSettings()).repeated


def test_members_that_operations_repeat_or_do_not_know_are_told_in_their_order(configmaps: Resource) -> None:
    body = (
        b'[{"op":"add","path":"/data","path":"/data","value":{"k":"1","k":"2"}},'
        b'{"op":"test","path":"/data/k","value":"2","why":"no"}]'
    )
    patch = read_json_patch(body, configmaps, ServerSettings())
    assert patch.repeated == [
        'json patch duplicate field "[0].path"',
        'json patch duplicate field "[0].value.k"',
        'json patch unknown field "[1].why"',
    ]
    assert patch.apply({})["data"] == {"k": "2"}


def test_a_strategic_patch_is_shown_as_the_original_shows_it(configmaps: Resource) -> None:
    patch = read_strategic_patch(b'{"data":{"b":"x","a":null},"n":[1,true]}', configmaps, ServerSettings())
    assert patch.shown == "map[data:map[a:<nil> b:x] n:[1 true]]"
