"""A process that takes the order lock of a database and stands still with it.

python -m tests.faults.lock_holder URL SECONDS     says "held" and waits for a line
"""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from kinepy.clock import SystemClock
from kinepy.drivers import open_driver
from kinepy.settings import Settings


async def hold(url: str, settings: Settings) -> None:
    """Take the lock and wait."""
    driver = await open_driver(url, settings, SystemClock())
    async with driver.write():
        print("held", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    await driver.close()


@contextmanager
def stopped_holder(url: str, *, idle_s: float = 60.0) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock and is stopped. It is killed at the end if it was not before."""
    command = [sys.executable, "-m", "tests.faults.lock_holder", url, str(idle_s)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        yield holder
    finally:
        holder.kill()
        holder.communicate()


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], Settings(idle_in_transaction_timeout_s=float(sys.argv[2]))))
