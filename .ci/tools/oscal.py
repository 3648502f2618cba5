# Reads an OSCAL report with compliance-trestle: its types, identifiers and references. Ends with 1 if there is
# something wrong with it.
import argparse
import sys
from pathlib import Path

from trestle.common.err import TrestleError
from trestle.core.validator_factory import validator_factory
from trestle.oscal.assessment_results import AssessmentResults

path = Path(sys.argv[1])
try:
    read = AssessmentResults.oscal_read(path)
except TrestleError as error:
    sys.exit(str(error))
validator = validator_factory.get(argparse.Namespace(mode="all"))
validator.error_msg = ""
if not validator.model_is_valid(read, True, path.parent):
    sys.exit(f"it isn't valid: {validator.error_msg}")
