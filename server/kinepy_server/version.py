"""/version: what the server says it is (DISC-6)."""

import platform
import sys

import orjson

from kinepy import __version__
from kinepy_server.context import Context
from kinepy_server.request import Request
from kinepy_server.response import Response

MAJOR, MINOR, PATCH, OLDEST_MINOR = "1", "36", "3", "35"
GIT_VERSION = f"v{MAJOR}.{MINOR}.{PATCH}+kinepy.{__version__}"
"""The Kubernetes version whose API is served, as a semantic version with kinepy's own behind it."""

_BODY = orjson.dumps(
    {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": OLDEST_MINOR,
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{platform.system()}/{platform.machine()}".lower(),
    }
)


async def handle_version(context: Context, request: Request) -> Response:
    """The version of the API and of kinepy."""
    return Response(200, _BODY)
