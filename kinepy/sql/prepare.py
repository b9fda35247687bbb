"""From a statement to the text of one dialect, once per process.

SQLAlchemy's execution machinery costs more than SQLite needs for the work itself, so the drivers execute the
text. What SQLAlchemy is for here is one statement for two databases, checked against the tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import asyncpg as postgresql_asyncpg
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex, CreateTable
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

DialectName = Literal["sqlite", "postgresql"]

_DIALECTS: Final[Mapping[DialectName, Dialect]] = {
    "sqlite": sqlite.dialect(paramstyle="qmark"),
    "postgresql": postgresql_asyncpg.dialect(),  # type: ignore[no-untyped-call]  # SQLAlchemy left it so
}
_DDL_DIALECTS: Final[Mapping[DialectName, Dialect]] = {
    "sqlite": sqlite.dialect(),
    "postgresql": postgresql.dialect(),  # type: ignore[no-untyped-call]  # as above
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """The text of a statement and the names of its parameters, in the order of their places."""

    text: str
    names: tuple[str, ...]
    constants: Mapping[str, Any]

    def args(self, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        """The parameters in the order of their places."""
        constants = self.constants
        return tuple(parameters[name] if name in parameters else constants[name] for name in self.names)


def prepare(statement: ClauseElement, dialect: DialectName) -> Prepared:
    """Compile a statement. Takes a good part of a millisecond: keep the result."""
    compiled = statement.compile(dialect=_DIALECTS[dialect])
    assert isinstance(compiled, SQLCompiler), statement
    constants = {name: value for name, value in compiled.params.items() if value is not None}
    return Prepared(str(compiled), tuple(compiled.positiontup or ()), constants)


class PreparedStatements:
    """Every statement that was asked for so far, prepared for one dialect."""

    def __init__(self, dialect: DialectName) -> None:
        self._dialect: DialectName = dialect
        self._prepared: dict[ClauseElement, Prepared] = {}

    def __getitem__(self, statement: ClauseElement) -> Prepared:
        prepared = self._prepared.get(statement)
        if prepared is None:
            prepared = self._prepared[statement] = prepare(statement, self._dialect)
        return prepared


def create_schema(metadata: sa.MetaData, dialect: DialectName) -> list[str]:
    """The statements that make all tables and indexes in an empty database."""
    target = _DDL_DIALECTS[dialect]
    statements = []
    for table in metadata.sorted_tables:
        statements.append(str(CreateTable(table).compile(dialect=target)))
        statements.extend(str(CreateIndex(index).compile(dialect=target)) for index in table.indexes)
    return statements


class Unindexed(ColumnElement[Any]):
    """A column as a mere value, so that SQLite's planner does not reach the row through the column's index.

    SQLite plans without knowing how many rows a condition leaves; PostgreSQL knows, and is left alone.
    """

    inherit_cache = True

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.column = column
        self.type = column.type


@compiles(Unindexed)
def _compile_plain(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return str(compiler.process(element.column, **options))


@compiles(Unindexed, "sqlite")
def _compile_sqlite(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return f"+{compiler.process(element.column, **options)}"
