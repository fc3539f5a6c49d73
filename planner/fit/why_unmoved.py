"""Says in one line why runs move no parameter of a calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.fit.chip import OwnFit
from planner.number_text import few, percent

OF_PEAKS = "_efficiency"  # names of the parameters that runs are made for: shares of peaks and bandwidths
MOST = 3  # most parameters to name


def why_unmoved(fit: OwnFit, names: Sequence[str]) -> str:
    """Why the fit moved none of the parameters `names`, none of which was fitted before."""
    used = fit.is_used({})  # an outlier that isn't contradicts nothing
    counted = used if used.any() else fit.weights > 0
    off = np.exp(-fit.residuals({})[counted]) - 1  # expected over measured
    known = [name for name in names if fit.known.get(name, 0) > 0]
    telling = [name for name in known if fit.n_determining(name)]
    silent = [name for name in known if name not in telling and name.endswith(OF_PEAKS)]
    if not telling:
        return f"the runs don't reach where {_listed(known, 'or')} matters: other limits set their times"
    ends = " to ".join(dict.fromkeys(percent(float(end), signed=True) for end in (off.min(), off.max())))
    if np.abs(off).max() <= fit.usual:
        why = f"expected times are {ends} off, within what published runs are off by, {percent(fit.error)}"
    elif off.size == 1:
        why = f"one run, of which the expected time is {ends} off, confirms none; add runs of other sizes"
    elif off.min() < 0 < off.max():
        why = f"the runs contradict each other: expected times are {ends} off"
    else:
        why = f"none explains all of the runs: expected times are {ends} off"
    return f"{why}; of {_listed(silent, 'and')} they say nothing: other limits set their times" if silent else why


def _listed(names: Sequence[str], word: str) -> str:
    return few(names, MOST) if len(names) > MOST else f" {word} ".join(names)
