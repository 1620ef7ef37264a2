"""Records with a figure changed, for trials: the value is another, and so is the figure behind it."""

import dataclasses

from hwlab.specs.chips import Chip, chip


def chip_with(id: str, values: dict) -> Chip:
    """The chip of that id with other values, by field: ``{"peak_flop_per_s.fp32": 25e9, "counts.cores": 60}``.

    A field that the chip does not have is added under the source of its first figure; rivals of the old value go.
    """
    known = chip(id)
    figures, fields = dict(known.figures), {}
    for path, value in values.items():
        like = figures.get(path) or next(iter(figures.values()))
        figures[path] = dataclasses.replace(like, value=value, rivals=())
        family, _, key = path.partition(".")
        if key and hasattr(known, family):
            fields[family] = {**fields.get(family, getattr(known, family)), key: value}
        elif not key and hasattr(known, family):
            fields[family] = value
    return dataclasses.replace(known, **fields, figures=figures)
