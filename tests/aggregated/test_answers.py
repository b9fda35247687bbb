"""Answers of the host are kept for a while, and asked for once."""

import asyncio

import pytest

from kinepy_server.auth.delegated.answers import Answers
from tests.aggregated.clocks import HandClock


class Oracle:
    """Answers one question after the other, each when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __call__(self) -> str:
        self.asked += 1
        return await asyncio.shield(self.answer)


async def test_those_who_ask_at_once_share_one_question() -> None:
    answers: Answers[str, str] = Answers(HandClock(), keep_s=10, answers_max=10)
    oracle = Oracle()
    asking = [asyncio.create_task(answers.ask("k", oracle)) for _ in range(3)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    oracle.answer.set_result("yes")
    assert await asyncio.gather(*asking[1:]) == ["yes", "yes"]
    assert (oracle.asked, answers.known("k")) == (1, "yes")


async def test_an_answer_is_forgotten_after_its_time() -> None:
    clock = HandClock()
    answers: Answers[str, str] = Answers(clock, keep_s=10, answers_max=10)
    oracle = Oracle()
    oracle.answer.set_result("yes")
    await answers.ask("k", oracle)
    clock.seconds += 9.9
    assert await answers.ask("k", oracle) == "yes"
    clock.seconds += 0.1
    assert answers.known("k") is None
    await answers.ask("k", oracle)
    assert oracle.asked == 2


async def test_what_failed_is_asked_again_and_all_who_wait_hear_of_it() -> None:
    answers: Answers[str, str] = Answers(HandClock(), keep_s=10, answers_max=10)
    failing, working = Oracle(), Oracle()
    asking = [asyncio.create_task(answers.ask("k", failing)) for _ in range(2)]
    await asyncio.sleep(0)
    failing.answer.set_exception(ValueError("down"))
    assert [type(one) for one in await asyncio.gather(*asking, return_exceptions=True)] == [ValueError] * 2
    working.answer.set_result("yes")
    assert await answers.ask("k", working) == "yes"


async def test_what_is_not_to_be_kept_is_asked_each_time() -> None:
    answers: Answers[str, str] = Answers(HandClock(), keep_s=10, answers_max=10)
    oracle = Oracle()
    oracle.answer.set_result("yes")
    await answers.ask("k", oracle, keep=False)
    assert answers.known("k") is None


async def test_the_ones_asked_for_last_are_kept() -> None:
    answers: Answers[int, str] = Answers(HandClock(), keep_s=10, answers_max=2)
    oracle = Oracle()
    oracle.answer.set_result("yes")
    for key in (1, 2, 1, 3):
        await answers.ask(key, oracle)
    assert [answers.known(key) for key in (1, 2, 3)] == ["yes", None, "yes"]


async def test_nobody_need_wait_for_a_failure() -> None:
    answers: Answers[str, str] = Answers(HandClock(), keep_s=10, answers_max=10)
    oracle = Oracle()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await answers.ask("k", oracle)
    oracle.answer.set_exception(ValueError("down"))
    # An exception that nobody looked at would be told when it is collected: warnings are errors here.
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert answers.known("k") is None
