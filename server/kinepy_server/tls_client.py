"""How this server, as a client, verifies others."""

import ssl


def client_tls(authorities: str) -> ssl.SSLContext:
    """TLS that trusts these certificates (PEM), or the system's when there are none, as the original's clients do.

    A chain may end at any of them, also at one that is no root; and certificates that lack what only newer
    authorities put into theirs are taken, whichever version of Python runs this. Raises `ssl.SSLError` for a text
    that holds no certificate.
    """
    # Between certificates there may be anything, such as names in letters that the ssl module does not take.
    pem = authorities.encode("ascii", "replace").decode()
    context = ssl.create_default_context(cadata=pem or None)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
