"""A chart without controls: it fits its place, follows dark mode and can be read as a table."""

from __future__ import annotations

from hwlab.figures.live import compiled, data_markup, fragment, is_static, slot
from hwlab.formula import number


class Shown:
    """A chart as the last line of a cell: a fragment in a built page, the Altair chart itself in a kernel."""

    def __init__(self, chart, alt: str):
        self.chart, self.alt = chart, alt

    def __repr__(self):
        return f"Shown({self.alt!r})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not is_static():
            return self.chart._repr_mimebundle_(include, exclude)
        spec = compiled(self.chart)
        markup = f'{slot(spec, caption=self.alt)}<div class="hw-more">{_data(self.chart.to_dict())}</div>'
        html = fragment(kind="chart", module="chart", markup=markup, state={"payload": {"spec": spec}})
        return {"text/html": html, "text/plain": self.alt}


def show(chart, alt: str | None = None) -> Shown:
    """Show an Altair chart, in a page without a kernel or a network too.

    Parameters
    ----------
    chart : altair chart
        Its own data, if it is a table of rows, becomes a table that the reader may unfold.
    alt : str, optional
        The finding, in a sentence or two: the caption, and what those hear who do not see. By default the chart's
        ``description``.

    Raises
    ------
    ValueError
        If there is neither.

    Examples
    --------
    >>> import altair as alt
    >>> data = alt.Data(values=[{"tokens": 1, "share": 0.34}])
    >>> chart = alt.Chart(data).mark_point().encode(x="tokens:Q", y="share:Q")
    >>> show(chart, alt="One token uses 0.34 % of the chip.")
    Shown('One token uses 0.34 % of the chip.')
    """
    description = alt or chart.to_dict().get("description")
    if not description:
        raise ValueError("the chart has no description; say in alt= what is to be seen, finding first")
    return Shown(chart, description)


def _data(spec: dict) -> str:
    data = spec.get("data", {})
    rows = spec["datasets"][data["name"]] if "name" in data else data.get("values", [])
    if not rows:
        return ""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return data_markup(columns, [[_cell(row.get(key)) for key in columns] for row in rows])


def _cell(value) -> str:
    """A value as a reader sees it; nothing where there is none."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str | bool) else number(value)
