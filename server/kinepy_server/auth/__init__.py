"""Who asks, and whether they may.

`authenticate` turns credentials into a user, `authorize` decides whether that user may do a request. Both are
pure; tokens, certificates and kubeconfig files are made by the modules beside them.
"""
