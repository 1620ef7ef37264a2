"""How it is shown: data, chart, widget."""
