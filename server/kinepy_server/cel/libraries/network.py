"""URLs, IP addresses and CIDR blocks."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, TypeAlias
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from kinepy_server.cel.errors import EvaluationError
from kinepy_server.cel.signatures import table, traverse
from kinepy_server.cel.values import NAMES

Address: TypeAlias = IPv4Address | IPv6Address
_DECIMALS = re.compile(r"(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){3}", re.ASCII)
_BLOCK = re.compile(r"(.+)/(0|[1-9]\d{0,2})", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PATH_SAFE = "$&+,/:;=@-._~%!'()*"


class Url:
    """An absolute URL or an absolute path."""

    __slots__ = ("parts", "text")

    def __init__(self, text: str, parts: SplitResult) -> None:
        self.text, self.parts = text, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Url) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


class Cidr:
    """A CIDR block as it was written: its address need not be the first of the block."""

    __slots__ = ("address", "network")

    def __init__(self, address: Address, network: IPv4Network | IPv6Network) -> None:
        self.address, self.network = address, network

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cidr) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.address}/{self.network.prefixlen}"


NAMES.update(
    {Url: "kubernetes.URL", IPv4Address: "net.IP", IPv6Address: "net.IP", Cidr: "net.CIDR"},
)


def _url(text: str) -> Url:
    try:
        parts = urlsplit(text)
        port = parts.netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
        valid = (bool(parts.scheme) or text.startswith("/")) and (not port or port.isdecimal())
    except ValueError:
        valid = False
    if not valid or "#" in text or _BAD_ESCAPE.search(text) or any(ord(character) < 32 for character in text):
        raise EvaluationError(f"URL parse error during conversion from string: parse {text!r}: invalid URI")
    return Url(text, parts)


def is_url(text: str) -> bool:
    """Whether the text is an absolute URL or path."""
    try:
        _url(text)
    except EvaluationError:
        return False
    return True


def _host(url: Url) -> str:
    return url.parts.netloc.rpartition("@")[2]


def _hostname(url: Url) -> str:
    host = _host(url)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _port(url: Url) -> str:
    return _host(url).rpartition("]")[2].partition(":")[2]


def _query(url: Url) -> dict[str, list[str]]:
    return parse_qs(url.parts.query, keep_blank_values=True)


def _address(text: str) -> Address:
    found = _parsed(text)
    if isinstance(found, str):
        raise EvaluationError(found)
    return found


def _parsed(text: str) -> Address | str:
    if "%" in text:
        return f'IP address "{text}" with zone value is not allowed'
    try:
        address = ip_address(text)
    except ValueError:
        return f'IP Address "{text}" parse error during conversion from string: unable to parse IP'
    if isinstance(address, IPv4Address):
        return address if _DECIMALS.fullmatch(text) else f'IP Address "{text}" parse error'
    if address.ipv4_mapped is not None:
        return f'IPv4-mapped IPv6 address "{text}" is not allowed'
    return address


def _is_address(text: str) -> bool:
    return not isinstance(_parsed(text), str)


def _is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def _cidr(text: str) -> Cidr:
    match = _BLOCK.fullmatch(text)
    address = _parsed(match[1]) if match is not None else ""
    if match is None or isinstance(address, str) or int(match[2]) > address.max_prefixlen:
        raise EvaluationError(
            f'CIDR "{text}" parse error during conversion from string: invalid CIDR address'
        )
    return Cidr(address, ip_network(f"{address}/{match[2]}", strict=False))


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except EvaluationError:
        return False
    return True


def _contains_address(block: Cidr, address: Any) -> bool:
    found = _address(address) if isinstance(address, str) else address
    return found in block.network


def _contains_block(block: Cidr, other: Any) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    one, two = block.network, inner.network
    return one.version == two.version and one.prefixlen <= two.prefixlen and two.network_address in one


def _link_local_multicast(address: Address) -> bool:
    if isinstance(address, IPv4Address):
        return address in IPv4Network("224.0.0.0/24")
    return address.packed[0] == 0xFF and address.packed[1] & 0x0F == 0x02


def _global_unicast(address: Address) -> bool:
    broadcast = isinstance(address, IPv4Address) and str(address) == "255.255.255.255"
    special = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not (special or broadcast)


FUNCTIONS = [
    *table(
        {
            "url(string) -> url": (_url, traverse),
            "isURL(string) -> bool": (is_url, traverse),
            "url.getScheme() -> string": lambda url: url.parts.scheme,
            "url.getHost() -> string": _host,
            "url.getHostname() -> string": _hostname,
            "url.getPort() -> string": _port,
            "url.getEscapedPath() -> string": lambda url: quote(url.parts.path, safe=_PATH_SAFE),
            "url.getQuery() -> map<string, list<string>>": _query,
            "ip(string) -> ip": (_address, traverse),
            "isIP(string) -> bool": (_is_address, traverse),
            "ip.isCanonical(string) -> bool": (_is_canonical, traverse),
            "string(ip) -> string": str,
            "string(cidr) -> string": str,
            "cidr(string) -> cidr": (_cidr, traverse),
            "isCIDR(string) -> bool": (_is_cidr, traverse),
            "cidr.containsIP(ip) -> bool": _contains_address,
            "cidr.containsIP(string) -> bool": (_contains_address, traverse),
            "cidr.containsCIDR(cidr) -> bool": _contains_block,
            "cidr.containsCIDR(string) -> bool": (_contains_block, traverse),
            "cidr.ip() -> ip": lambda block: block.address,
            "cidr.masked() -> cidr": lambda block: Cidr(block.network.network_address, block.network),
            "cidr.prefixLength() -> int": lambda block: block.network.prefixlen,
        }
    ),
    *table(
        {
            "family() -> int": lambda address: address.version,
            "isUnspecified() -> bool": lambda address: address.is_unspecified,
            "isLoopback() -> bool": lambda address: address.is_loopback,
            "isLinkLocalMulticast() -> bool": _link_local_multicast,
            "isLinkLocalUnicast() -> bool": lambda address: address.is_link_local,
            "isGlobalUnicast() -> bool": _global_unicast,
        },
        methods_of="ip",
    ),
]
