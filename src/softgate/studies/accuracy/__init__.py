"""Errors in ulps: against arb at points, against the float64 kernel in bulk.

`errors` has the reference values and the errors, `samples` the inputs to measure at, `regions` the
counts by region, `sweep` all 2**32 float32 inputs. Used by certify, by the tests and by the tools.
"""

from .errors import Errors as Errors
from .errors import Reference as Reference
from .errors import correctly_rounded as correctly_rounded
from .errors import gate as gate
from .errors import rounded_one_by_one as rounded_one_by_one
from .errors import scale_graphs as scale_graphs
