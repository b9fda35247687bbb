"""The options of the commands. Each is also an environment variable: KINEPY_ and its name."""

from pathlib import Path
from typing import Annotated

import typer

from kinepy_server.cli.problems import Problem, reported

DEFAULT_DATA = Path("kinepy-data")
DEFAULT_LISTEN = "127.0.0.1:6443"


def _folder(path: str | Path) -> Path:
    """A path that says something: the empty one would be the current folder."""
    with reported():
        if path == "":
            raise Problem("--data is empty: name a folder, or write . for the current one")
    return Path(path)


Data = Annotated[
    Path,
    typer.Option(
        "--data",
        envvar="KINEPY_DATA",
        parser=_folder,
        metavar="FOLDER",
        help="Folder of database, certificates, token and kubeconfig.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        "--database",
        envvar="KINEPY_DATABASE",
        help="sqlite:///file.db, sqlite:///:memory: or postgresql://user:password@host:port/name. "
        "[default: sqlite file kinepy.db in the data folder]",
    ),
]
Listen = Annotated[
    str,
    typer.Option("--listen", envvar="KINEPY_LISTEN", metavar="HOST:PORT", help="Address of the HTTP API."),
]
EtcdListen = Annotated[
    str | None,
    typer.Option(
        "--etcd-listen", envvar="KINEPY_ETCD_LISTEN", metavar="HOST:PORT", help="Address of the etcd API."
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        "--workers", envvar="KINEPY_WORKERS", min=1, help="Processes that serve, over one database."
    ),
]
Controllers = Annotated[
    str,
    typer.Option(
        "--controllers", envvar="KINEPY_CONTROLLERS", help="Names with commas between them, `all` or `none`."
    ),
]
Insecure = Annotated[
    bool,
    typer.Option(
        "--insecure", envvar="KINEPY_INSECURE", help="Plain HTTP, everybody is admin; loopback only."
    ),
]
InsecureAnywhere = Annotated[
    bool,
    typer.Option(
        "--insecure-anywhere",
        envvar="KINEPY_INSECURE_ANYWHERE",
        help="With --insecure: allow addresses that others can reach.",
    ),
]
TlsCert = Annotated[
    Path | None,
    typer.Option("--tls-cert", envvar="KINEPY_TLS_CERT", help="Certificate chain to serve with, PEM."),
]
TlsKey = Annotated[
    Path | None, typer.Option("--tls-key", envvar="KINEPY_TLS_KEY", help="Key of --tls-cert, PEM.")
]
TlsSan = Annotated[
    list[str] | None,
    typer.Option(
        "--tls-san", envvar="KINEPY_TLS_SAN", help="A further name or address in the certificate; repeatable."
    ),
]
ClientCa = Annotated[
    Path | None,
    typer.Option(
        "--client-ca",
        envvar="KINEPY_CLIENT_CA",
        help="CA of client certificates, PEM. [default: the server's own CA in the data folder]",
    ),
]
AuthorizationMode = Annotated[
    str,
    typer.Option(
        "--authorization-mode",
        envvar="KINEPY_AUTHORIZATION_MODE",
        help="RBAC, or AlwaysAllow: every user that is known may do everything.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        envvar="KINEPY_TOKEN_FILE",
        help='Further users: lines of token,user,uid,"group1,group2".',
    ),
]
AdvertiseUrl = Annotated[
    str | None,
    typer.Option(
        "--advertise-url", envvar="KINEPY_ADVERTISE_URL", help="URL that clients use, for the kubeconfig."
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", envvar="KINEPY_SET", metavar="NAME=VALUE", help="Any setting of README's table; repeatable."
    ),
]
Retention = Annotated[
    list[str] | None,
    typer.Option(
        "--retention",
        envvar="KINEPY_RETENTION",
        metavar="PREFIX=POLICY",
        help="History to keep of a prefix's keys: an age (1h), a number of changes (100000), a size (512MiB), "
        "some of them with commas between them, or last, or forever; without PREFIX= of all others; repeatable.",
    ),
]
Aggregated = Annotated[
    bool,
    typer.Option(
        "--aggregated",
        envvar="KINEPY_AGGREGATED",
        help="Serve only the types of --definitions, behind another API server, which knows users and rights.",
    ),
]
HostKubeconfig = Annotated[
    Path | None,
    typer.Option(
        "--host-kubeconfig",
        envvar="KINEPY_HOST_KUBECONFIG",
        help="With --aggregated: how the other API server is reached. [default: as the Pod that this is]",
    ),
]
Definitions = Annotated[
    list[Path] | None,
    typer.Option(
        "--definitions",
        envvar="KINEPY_DEFINITIONS",
        metavar="FILE|DIR",
        help="With --aggregated: CustomResourceDefinitions, YAML or JSON; repeatable.",
    ),
]
ProxyCa = Annotated[
    Path | None,
    typer.Option(
        "--requestheader-client-ca-file",
        envvar="KINEPY_REQUESTHEADER_CLIENT_CA_FILE",
        help="With --aggregated: CA of the front proxy's certificate, PEM. [default: what the host's ConfigMap says, "
        "as for all that follow]",
    ),
]
ProxyNames = Annotated[
    list[str] | None,
    typer.Option(
        "--requestheader-allowed-names",
        envvar="KINEPY_REQUESTHEADER_ALLOWED_NAMES",
        help="Common names of the front proxy, with commas between them; repeatable. [default: any]",
    ),
]
UsernameHeaders = Annotated[
    list[str] | None,
    typer.Option(
        "--requestheader-username-headers",
        envvar="KINEPY_REQUESTHEADER_USERNAME_HEADERS",
        help="Headers in which it names the user. [default: x-remote-user]",
    ),
]
UidHeaders = Annotated[
    list[str] | None,
    typer.Option(
        "--requestheader-uid-headers",
        envvar="KINEPY_REQUESTHEADER_UID_HEADERS",
        help="Headers in which it names the user's uid. [default: none]",
    ),
]
GroupHeaders = Annotated[
    list[str] | None,
    typer.Option(
        "--requestheader-group-headers",
        envvar="KINEPY_REQUESTHEADER_GROUP_HEADERS",
        help="Headers in which it names groups. [default: x-remote-group]",
    ),
]
ExtraPrefixes = Annotated[
    list[str] | None,
    typer.Option(
        "--requestheader-extra-headers-prefix",
        envvar="KINEPY_REQUESTHEADER_EXTRA_HEADERS_PREFIX",
        help="How headers begin in which it tells more of the user. [default: x-remote-extra-]",
    ),
]
Service = Annotated[
    str,
    typer.Option(
        "--service",
        envvar="KINEPY_SERVICE",
        metavar="NAMESPACE/NAME",
        help="The Service by which the host reaches the aggregated server.",
    ),
]
ServicePort = Annotated[
    int, typer.Option("--port", envvar="KINEPY_SERVICE_PORT", min=1, max=65535, help="Port of the Service.")
]
User = Annotated[
    str | None,
    typer.Option("--user", envvar="KINEPY_USER", help="Issue a client certificate for this user."),
]
Group = Annotated[
    list[str] | None,
    typer.Option("--group", envvar="KINEPY_GROUP", help="With --user: a group of the user; repeatable."),
]
To = Annotated[
    int | None,
    typer.Option("--to", envvar="KINEPY_TO", min=1, help="Give up history before this revision."),
]
Keep = Annotated[
    str | None,
    typer.Option("--keep", envvar="KINEPY_KEEP", help="Keep the history of the last 30s, 10m, 1h or 7d."),
]
Reason = Annotated[
    str, typer.Option("--reason", envvar="KINEPY_REASON", help="Why, for those who read the table of epochs.")
]
Force = Annotated[bool, typer.Option("--force", envvar="KINEPY_FORCE", help="Replace what is there.")]
History = Annotated[
    bool,
    typer.Option(
        "--history", envvar="KINEPY_HISTORY", help="All revisions that are kept, not only the last."
    ),
]
Output = Annotated[str, typer.Option("--output", "-o", envvar="KINEPY_OUTPUT", help="table or json.")]
