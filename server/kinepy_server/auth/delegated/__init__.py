"""Users and rights that another API server knows, the host: how an aggregated server lets requests pass.

Who asks is told by the host's front proxy in headers, by a certificate of the host's CA, or by a token that the
host reviews; whether it may is asked of the host. Imported only where a server is an aggregated one.
"""
