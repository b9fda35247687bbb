"""Programs that people use, run with the kubeconfig of a server."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

TIMEOUT_S = 60
CLUSTER_SCOPED = "Warning: deleting cluster-scoped resources, not scoped to the provided namespace\n"


@dataclass(frozen=True)
class Program:
    """A program with a home and a kubeconfig of its own."""

    name: str
    kubeconfig: Path
    home: Path

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """One command to its end, whatever its exit code."""
        return subprocess.run(
            [self.name, *arguments],
            capture_output=True,
            text=True,
            input=stdin,
            timeout=TIMEOUT_S,
            env={"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "PATH": os.environ["PATH"]},
            check=False,
        )

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        """One command that must succeed, without an unexpected warning; returns what it prints."""
        done = self.run(*arguments, stdin=stdin)
        said = done.stderr.replace(CLUSTER_SCOPED, "")
        assert (done.returncode, said) == (0, ""), (arguments, done.stdout, done.stderr)
        return done.stdout
