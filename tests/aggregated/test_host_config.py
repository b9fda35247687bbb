"""How the host is reached."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinepy_server.auth.delegated.host_config import BadHostConfig, HostConfig, kubeconfig_host, pod_config

B64 = base64.b64encode(b"PEM").decode()


def written(folder: Path, cluster: Any, user: Any) -> Path:
    """A kubeconfig."""
    file = folder / "kubeconfig"
    config = {
        "current-context": "c",
        "contexts": [{"name": "other"}, {"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://host:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    file.write_text(yaml.safe_dump(config))
    return file


def read(folder: Path, cluster: Any = None, user: Any = None) -> HostConfig:
    """What a kubeconfig says."""
    return kubeconfig_host(written(folder, cluster or {}, user or {}))


def test_certificates_stand_inline_or_in_files_beside_it(tmp_path: Path) -> None:
    (tmp_path / "file.pem").write_text("FILE")
    inline = read(
        tmp_path,
        {"certificate-authority-data": B64, "certificate-authority": "absent"},
        {"client-certificate-data": B64, "client-key": "file.pem"},
    )
    assert (inline.url, inline.ca, inline.certificate, inline.key) == (
        "https://host:6443",
        "PEM",
        "PEM",
        "FILE",
    )
    assert read(tmp_path, {"certificate-authority": "file.pem"}).ca == "FILE"


def test_a_file_of_a_token_goes_before_a_token(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    both = read(tmp_path, user={"token": "old", "tokenFile": "token"})
    assert (both.token, both.token_file) == ("", tmp_path / "token")
    assert read(tmp_path, user={"token": "t"}).token == "t"
    assert read(tmp_path, user={"username": "a", "password": "b"}).password == ("a", "b")


def test_how_the_server_is_verified_is_read(tmp_path: Path) -> None:
    config = read(tmp_path, {"insecure-skip-tls-verify": True, "tls-server-name": "kube"})
    assert (config.unverified, config.server_name) == (True, "kube")


@pytest.mark.parametrize("member", ["exec", "auth-provider", "as"])
def test_ways_to_log_in_that_are_not_followed_are_named(member: str, tmp_path: Path) -> None:
    with pytest.raises(BadHostConfig, match=f"{member} is not followed here"):
        read(tmp_path, user={member: {"command": "aws"}})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no kubeconfig"),
        ("{", "is no kubeconfig"),
        ("current-context: c\ncontexts: []\n", "is no kubeconfig"),
        ("[1]", "is no kubeconfig"),
    ],
)
def test_what_is_no_kubeconfig_is_refused(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(BadHostConfig, match=why):
        kubeconfig_host(file)


def test_a_user_in_the_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(BadHostConfig, match="take the user out of the address") as refused:
        read(tmp_path, {"server": "https://me:s3cret@host:6443"})
    assert "s3cret" not in str(refused.value)


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadHostConfig, match=r"cannot read .*absent"):
        kubeconfig_host(tmp_path / "absent")
    with pytest.raises(BadHostConfig, match=r"cannot read .*absent"):
        read(tmp_path, {"certificate-authority": "absent"})
    with pytest.raises(BadHostConfig, match="is no base64"):
        read(tmp_path, {"certificate-authority-data": "é"})


def test_a_pod_finds_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("CA")
    (tmp_path / "token").write_text("t")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    config = pod_config(environment, tmp_path)
    assert (config.url, config.ca) == ("https://[fd00::1]:443", "CA")
    assert config.token_file == tmp_path / "token"
    with pytest.raises(BadHostConfig, match="give --host-kubeconfig FILE"):
        pod_config({}, tmp_path)


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    shown = repr(
        read(tmp_path, user={"token": "s3cret", "client-key-data": base64.b64encode(b"s3cret").decode()})
    )
    assert "s3cret" not in shown
