"""Tables of studies as files, CSV and Parquet."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from jostle.arguments import check_arguments
from jostle.errors import InvalidValue, MissingPackage
from jostle.io.new_files import whole

FORMATS = (".csv", ".parquet")
"""File formats of tables."""


@check_arguments
def write_table(columns: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the columns of a table to a file, replacing an existing one.

    Parameters
    ----------
    columns : mapping of str to array_like
        Columns of equal lengths.
    path : str or path
        Name of the file, .csv or .parquet; Parquet needs the package pyarrow.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    InvalidValue
        If the columns have different lengths, or the file has another suffix.
    MissingPackage
        If pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table({"n": np.array([1, 2]), "x": np.array([0.5, np.nan])}, Path(folder) / "a.csv").read_text()
    'n,x\\n1,0.5\\n2,\\n'
    """
    path = Path(path)
    if path.suffix not in FORMATS:
        raise InvalidValue(f"path must end in {' or '.join(FORMATS)}, not be {path.name!r}")
    wrong = [name for name, column in columns.items() if np.ndim(column) != 1]
    if wrong or len({len(column) for column in columns.values()}) > 1:
        raise InvalidValue("columns must be lists of equal length")
    if path.suffix == ".csv":
        with whole(path) as new:
            new.write_text(_csv(columns), encoding="utf-8", newline="")
        return path
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingPackage("a .parquet file needs the package pyarrow: pip install 'jostle[tables]'") from None
    plain = {name: np.asarray(column).tolist() for name, column in columns.items()}
    plain = {name: [None if v != v else v for v in values] for name, values in plain.items()}
    kinds = {name: {type(value) for value in values} - {type(None)} for name, values in plain.items()}
    for name, found in kinds.items():
        if len(found) > 1 and found != {int, float}:
            plain[name] = [None if value is None else str(value) for value in plain[name]]
    with whole(path) as new:
        pq.write_table(pa.table(plain), new)
    return path


def _csv(columns: Mapping[str, Any]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True):
        writer.writerow(["" if value is None or value != value else _shown(value) for value in row])
    return text.getvalue()


def _shown(value: Any) -> Any:
    """Booleans as in TOML and JSON; numbers with all digits."""
    return str(value).lower() if isinstance(value, bool) else repr(value) if isinstance(value, float) else value
