"""Which label combinations a trained model can never predict, and whether that matters."""

from labelproof.auditing.assumptions import AS_FOUND
from labelproof.auditing.auditor import audit
from labelproof.auditing.document import AuditDocument
from labelproof.auditing.reading import read_document
from labelproof.auditing.result import Audit

__all__ = ["AS_FOUND", "Audit", "AuditDocument", "audit", "read_document"]
