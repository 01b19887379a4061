"""Layouts of the state of windows."""

from __future__ import annotations

#: Any windows: panes by `(start, end)`, or by the window itself.
PANES = "window-panes"
#: Tumbling and sliding windows: panes by the start of the window.
ALIGNED = "aligned-windows"
#: Sliding windows: slices by number.
SLICES = "window-slices"
#: Sessions: panes by the time of the first record.
SESSIONS = "window-sessions"

#: All of them. Each can be converted to panes.
WINDOW_LAYOUTS = (PANES, ALIGNED, SLICES, SESSIONS)
