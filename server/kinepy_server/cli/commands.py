"""The commands and their options; what they do is in the modules beside this one."""

from typing import Annotated

import typer

from kinepy_server.cli import arguments as a
from kinepy_server.cli import options as o

app = typer.Typer(
    name="kinepy",
    help="The storage and the API of Kubernetes on an ordinary SQL database.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from kinepy import __version__

        typer.echo(f"kinepy {__version__}")
        raise typer.Exit


@app.callback()
def kinepy(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """The storage and the API of Kubernetes on an ordinary SQL database."""


@app.command()
def serve(
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    listen: o.Listen = o.DEFAULT_LISTEN,
    etcd_listen: o.EtcdListen = None,
    workers: o.Workers = 1,
    controllers: o.Controllers = "all",
    insecure: o.Insecure = False,
    insecure_anywhere: o.InsecureAnywhere = False,
    tls_cert: o.TlsCert = None,
    tls_key: o.TlsKey = None,
    tls_san: o.TlsSan = None,
    client_ca: o.ClientCa = None,
    token_file: o.TokenFile = None,
    authorization_mode: o.AuthorizationMode = "RBAC",
    advertise_url: o.AdvertiseUrl = None,
    retention: o.Retention = None,
    settings: o.Set = None,
    aggregated: o.Aggregated = False,
    host_kubeconfig: o.HostKubeconfig = None,
    definitions: o.Definitions = None,
    requestheader_client_ca_file: o.ProxyCa = None,
    requestheader_allowed_names: o.ProxyNames = None,
    requestheader_username_headers: o.UsernameHeaders = None,
    requestheader_uid_headers: o.UidHeaders = None,
    requestheader_group_headers: o.GroupHeaders = None,
    requestheader_extra_headers_prefix: o.ExtraPrefixes = None,
) -> None:
    """Serve the Kubernetes API until SIGTERM or Ctrl-C."""
    given = locals()
    from kinepy_server.cli.collecting import collect_rarely
    from kinepy_server.cli.problems import reported

    collect_rarely()
    with reported():
        from kinepy_server.cli.plan import make_plan
        from kinepy_server.cli.serve import run

        if etcd_listen is not None:
            etcd(data, database, etcd_listen)
        run(make_plan(**{name: value for name, value in given.items() if name != "etcd_listen"}))


@app.command()
def etcd(
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    listen: o.Listen = "127.0.0.1:2379",
) -> None:
    """Serve the etcd v3 API (not in this release)."""
    typer.echo(
        "kinepy: the etcd API is not in this release: use `kinepy serve`, the Kubernetes API", err=True
    )
    raise SystemExit(2)


@app.command()
def kubeconfig(data: o.Data = o.DEFAULT_DATA, user: o.User = None, group: o.Group = None) -> None:
    """Print the kubeconfig that `kinepy serve` wrote, or one with a certificate for another user."""
    from kinepy_server.cli.problems import reported

    with reported():
        from kinepy_server.cli.kubeconfig import kubeconfig_for

        typer.echo(kubeconfig_for(data, user, group or []), nl=False)


@app.command()
def apiservice(
    service: o.Service,
    data: o.Data = o.DEFAULT_DATA,
    definitions: o.Definitions = None,
    port: o.ServicePort = 443,
) -> None:
    """Print the APIServices by which a host reaches an aggregated server, for `kubectl apply -f -`."""
    from kinepy_server.cli.problems import reported

    with reported():
        from kinepy_server.cli.apiservice import api_services

        typer.echo(api_services(data, definitions or [], service=service, port=port), nl=False)


@app.command()
def migrate(data: o.Data = o.DEFAULT_DATA, database: o.Database = None) -> None:
    """Bring the database's schema up to date; `kinepy serve` does it by itself."""
    from kinepy_server.cli.upkeep import run_migrate

    run_migrate(data, database)


@app.command()
def status(data: o.Data = o.DEFAULT_DATA, database: o.Database = None, output: o.Output = "table") -> None:
    """Print figures of the store, and of the server that runs on the data folder."""
    from kinepy_server.cli.status import run_status

    run_status(data, database, output)


@app.command()
def compact(
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    to: o.To = None,
    keep: o.Keep = None,
    retention: o.Retention = None,
) -> None:
    """Give up old history: all before now, before a revision, or all but the last hours; but never that of a prefix
    which --retention keeps forever."""
    from kinepy_server.cli.upkeep import run_compact

    run_compact(data, database, to=to, keep=keep, retention=retention or [])


@app.command()
def check(data: o.Data = o.DEFAULT_DATA, database: o.Database = None) -> None:
    """Check the log and everything derived from it; exits with 1 when a promise is broken."""
    from kinepy_server.cli.upkeep import run_check

    run_check(data, database)


@app.command()
def backup(
    file: a.NewFile,
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    force: o.Force = False,
) -> None:
    """Write the state of a store, which servers may go on changing, to a file: *.gz is compressed."""
    from kinepy_server.cli.transfers import run_backup

    run_backup(data, database, file, force=force)


@app.command()
def restore(
    file: a.OldFile,
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    force: o.Force = False,
) -> None:
    """Fill an empty database from a backup, or replace one with --force; begins a new epoch."""
    from kinepy_server.cli.transfers import run_restore

    run_restore(data, database, file, force=force)


@app.command("export")
def export_file(
    file: a.NewFile,
    data: o.Data = o.DEFAULT_DATA,
    database: o.Database = None,
    history: o.History = False,
    force: o.Force = False,
) -> None:
    """Write the live state, or with --history all that is kept, in the portable format."""
    from kinepy_server.cli.transfers import run_export

    run_export(data, database, file, history=history, force=force)


@app.command("import")
def import_file(source: a.Source, data: o.Data = o.DEFAULT_DATA, database: o.Database = None) -> None:
    """Fill an empty database, revisions kept, from an export or from a kine's database."""
    from kinepy_server.cli.transfers import run_import

    run_import(data, database, source)


@app.command("new-epoch")
def new_epoch(
    data: o.Data = o.DEFAULT_DATA, database: o.Database = None, reason: o.Reason = "restored from a backup"
) -> None:
    """After a restore from backup: jump ahead of every revision that clients may have seen."""
    from kinepy_server.cli.upkeep import run_new_epoch

    run_new_epoch(data, database, reason=reason)
