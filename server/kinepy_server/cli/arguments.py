"""What stands after a command without a name."""

from pathlib import Path
from typing import Annotated

import typer

NewFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="File to write; with the suffix .gz or .zst it is compressed.")
]
OldFile = Annotated[Path, typer.Argument(metavar="FILE", help="File made by `kinepy backup`.")]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="File made by `kinepy export`, SQLite file of a kine, or URL of a kine's database.",
    ),
]
