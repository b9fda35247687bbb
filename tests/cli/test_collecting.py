"""A server that starts spares the garbage collector, and only then."""

import gc

from kinepy_server.cli.collecting import collect_as_usual, collect_rarely


def test_garbage_is_collected_as_usual_once_a_server_has_started() -> None:
    usual = gc.get_threshold()
    try:
        collect_rarely()
        rarely = gc.get_threshold()
        collect_as_usual()
        assert gc.get_threshold() == usual < rarely
        assert gc.get_freeze_count() > 0
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
