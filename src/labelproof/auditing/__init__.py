"""Which label combinations a trained model can never predict, and whether that matters."""

from labelproof.auditing.audit_result import Audit
from labelproof.auditing.auditor import audit
from labelproof.auditing.document import AuditDocument
from labelproof.auditing.index import IndexAudit, audit_index
from labelproof.auditing.reading import read_document
from labelproof.auditing.vocabulary import VocabularyAudit, audit_vocabulary
from labelproof.importers.assumptions import AS_FOUND

__all__ = [
    "AS_FOUND",
    "Audit",
    "AuditDocument",
    "IndexAudit",
    "VocabularyAudit",
    "audit",
    "audit_index",
    "audit_vocabulary",
    "read_document",
]
