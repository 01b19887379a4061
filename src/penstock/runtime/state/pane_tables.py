"""Tables of state that belongs to windows: their storage keys are `(key, namespace)`."""

from __future__ import annotations

from penstock.runtime.state.tables import TABLES, ListTable, MapTable, ValueTable


class PaneValueTable(ValueTable):
    """One value a pane."""

    kind = "pane-value"
    namespaced = True


class PaneListTable(ListTable):
    """A list a pane."""

    kind = "pane-list"
    namespaced = True


class PaneMapTable(MapTable):
    """A map a pane."""

    kind = "pane-map"
    namespaced = True


for table in (PaneValueTable, PaneListTable, PaneMapTable):
    TABLES[table.kind] = table
