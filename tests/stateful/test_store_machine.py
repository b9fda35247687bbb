"""The stateful machine on every database, with much memory and with hardly any."""

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from kinepy import Settings
from tests.backends import BACKENDS, Backend, DatabaseMaker
from tests.contract.stores import FAST
from tests.stateful.machine import StoreMachine

RICH = FAST
SHORT = replace(FAST, page_rows_max=1)
POOR = replace(FAST, ring_bytes_max=2000, cache_bytes_max=500, page_rows_max=2)
NONE = replace(FAST, ring_bytes_max=0, index_bytes_max=0, page_rows_max=2)
EXAMPLES = {"sqlite-memory": 40, "sqlite-file": 10, "postgres": 4}


@pytest.mark.parametrize("memory", [RICH, SHORT, POOR, NONE], ids=["rich", "short pages", "poor", "none"])
@pytest.mark.parametrize("kind", BACKENDS, ids=lambda kind: kind.name)
def test_the_store_does_what_the_model_does(
    kind: Backend, memory: Settings, databases: DatabaseMaker
) -> None:
    class Machine(StoreMachine):
        fresh_url = staticmethod(lambda: databases.fresh_url(kind))
        settings = memory
        durable = kind.durable

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES[kind.name],
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )
