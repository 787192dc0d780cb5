"""Sliders of ipywidgets that rank a run again when they move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from core.config.knob_changes import knob_values
from core.config.schema import Parameter, parameters
from core.errors import BadInput, OpenQueryError
from core.features.notebook.display import empty

if TYPE_CHECKING:
    from core.features.notebook.notebook_run import NotebookRun


class KnobControls:
    """A control for each ranking knob, above the ranking and its changes.

    `run` is the run under the present settings. The original run does not change.
    """

    def __init__(self, original: NotebookRun) -> None:
        """Raises BadInput: when ipywidgets is not installed, or the run has no ranking."""
        try:
            import ipywidgets
        except ImportError as error:
            raise BadInput("Sliders need the package ipywidgets.", hint="pip install ipywidgets") from error
        original.metrics()  # which refuses a run without a ranking
        self.original = self.run = original
        values = knob_values(original.knobs)
        self.controls: Mapping[str, Any] = {
            knob.name: _control(ipywidgets, knob, values[knob.path])
            for knob in parameters()
            if knob.group == "rank" and (knob.enum or knob.minimum is not None)
        }
        self._output = ipywidgets.HTML()
        for control in self.controls.values():
            control.observe(self._changed, names="value")
        layout = ipywidgets.Layout(grid_template_columns="repeat(auto-fit, minmax(420px, 1fr))")
        grid = ipywidgets.GridBox([*self.controls.values()], layout=layout)
        self.widget = ipywidgets.VBox([grid, self._output])
        self._show()

    @property
    def html(self) -> str:
        """The HTML below the controls."""
        return str(self._output.value)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self.widget._repr_mimebundle_(include=include, exclude=exclude)

    def _changed(self, _change: object) -> None:
        values = {name: control.value for name, control in self.controls.items()}
        try:
            self.run = self.original.retune(**values)
        except OpenQueryError as error:
            self._output.value = empty(None, str(error))._repr_html_()
        else:
            self._show()

    def _show(self) -> None:
        compared = self.original.compare(self.run)
        self._output.value = compared._repr_html_() + self.run.ranking._repr_html_()


def _control(widgets: Any, knob: Parameter, value: Any) -> Any:
    """Return a control with the bounds and the description of its knob."""
    shared = {"value": value, "description": knob.title_with_unit, "tooltip": knob.description}
    shared |= {"style": {"description_width": "210px"}, "layout": {"width": "96%"}}
    if knob.enum:
        return widgets.Dropdown(options=knob.enum, **shared | {"value": str(value)})
    if knob.type == "integer":
        return widgets.IntSlider(min=int(knob.minimum or 0), max=int(knob.maximum or 0), **shared)
    return widgets.FloatSlider(min=knob.minimum, max=knob.maximum, step=0.01, **shared)
