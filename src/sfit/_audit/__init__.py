"""The audit: everything that a careful analyst would run on a fitted model, in one document."""

from sfit._audit._call import audit
from sfit._audit._result import Audit, AuditSettings

__all__ = ["Audit", "AuditSettings", "audit"]
