"""Admission: what a namespace's own objects demand of new ones."""

from kinepy_server.admission.hook import Admit, admission_of, has_plugins
from kinepy_server.admission.quota import charge_of

__all__ = ["Admit", "admission_of", "charge_of", "has_plugins"]
