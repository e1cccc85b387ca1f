"""why(): why a .grad is None, zero or NaN. watch(): the same with the line where the gradient was lost."""

from gradlab.diagnosis.asking import why
from gradlab.diagnosis.causes import CAUSES
from gradlab.diagnosis.report import Diagnoses, Diagnosis
from gradlab.diagnosis.watching import watch

__all__ = ["CAUSES", "Diagnoses", "Diagnosis", "watch", "why"]
