"""Field sets and managedFields: who owns which field."""
