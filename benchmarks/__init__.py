"""What the project promises about speed and size, measured, beside the field's figures.

`make bench` prints one table of them; `make bench ONLY="project roofline"` the rows of these files. A file here holds
one topic and a function `rows()` that yields `Row`s, measured when it is called.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One line of the table.

    Attributes
    ----------
    what : str
        What is measured, with its setting.
    measured : str
        Value with unit, and spread where it was repeated.
    target : str
        What the project promises; empty where nothing is promised.
    met : bool or None
        Whether the promise is kept; None where nothing is promised.
    peer : str
        The field's figure, or the peer measured in the same run.
    """

    what: str
    measured: str
    target: str = ""
    met: bool | None = None
    peer: str = ""
