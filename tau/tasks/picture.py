"""The explored part of a task's import graph, drawn in text as a tree that begins at what nothing imports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wcwidth import wcswidth

from tau.display import one_line
from tau.tasks.views import TaskView

_DEEPEST = 9
_LEAVES = 6
_SHORTEST_NOTE = 14

_SIGNS = {"explored": "●", "flagged": "⚑", "skipped": "–", "ahead": "○"}
_AGAIN, _CIRCLE = "↑", "↻"
_LEGEND = (
    ("●", "explored"),
    ("⚑", "flagged"),
    ("–", "skipped"),
    ("○", "ahead"),
    (_AGAIN, "above"),
    (_CIRCLE, "in a circle"),
)


def draw(view: TaskView, width: int, *, most: int = 60) -> list[str]:
    """The picture of a task, and what its signs mean.

    Each explored file stands above what it imports of the project, once; where it is imported again, a sign
    says so.

    Args:
        view: The task.
        width: Columns of a line, at least 24.
        most: Lines of the picture itself; what is left out is counted.
    """
    drawing = _Drawing(view, width)
    drawn = list(drawing.lines())
    if not drawn:
        return []
    lines = beside(drawn[:most], width)
    left = len(drawn) - most
    if left > 0:
        lines.append(f" … {left:,} more line{'' if left == 1 else 's'}")
    signs = [f"{sign} {meaning}" for sign, meaning in _LEGEND if sign in drawing.used]
    return [*lines, "", *packed(signs, width, between="   ", indent=" ")]


def packed(parts: Sequence[str], width: int, *, between: str, indent: str) -> list[str]:
    """Parts in as few lines as hold them, none of which is broken, but for one that is a line too long."""
    lines: list[str] = []
    for part in parts:
        more = f"{lines[-1]}{between}{part}" if lines else ""
        if lines and wcswidth(more) <= width:
            lines[-1] = more
        else:
            lines.append(cut(indent + part, width))
    return lines


def beside(drawn: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Lines with their notes beside them, which begin in one column where there is room."""
    longest = max((wcswidth(line) for line, note in drawn if note), default=0)
    column = min(longest, width // 2) + 2
    lines = []
    for line, note in drawn:
        begin = max(column, wcswidth(line) + 2)
        room = width - begin
        if note and room >= _SHORTEST_NOTE:
            lines.append(line + " " * (begin - wcswidth(line)) + cut(note, room))
        else:
            lines.append(line)
    return lines


class _Drawing:
    def __init__(self, view: TaskView, width: int) -> None:
        self.used: set[str] = set()
        self._width = width
        self._edges: Mapping[str, tuple[str, ...]] = view.frontier.edges
        self._status: dict[str, str] = {each.path: "ahead" for each in view.frontier.ahead}
        self._status.update((file.path, file.status) for file in view.files)
        self._notes = {file.path: file.notes for file in view.files}
        self._marked = [file.path for file in view.files]
        self._drawn: set[str] = set()

    def lines(self) -> Iterator[tuple[str, str]]:
        """Each line, and the note of the file in it; empty where there is none."""
        imported = {target for path, targets in self._edges.items() for target in targets if target != path}
        explored = [path for path in self._marked if self._status[path] == "explored"]
        for path in [path for path in explored if path not in imported] + explored + self._marked:
            if path not in self._drawn:
                yield from self._node(path, " ", " ", ())

    def _node(self, path: str, branch: str, below: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """A file and what it imports, each line with what leads to it on its left."""
        sign = _SIGNS[self._status[path]]
        if path in above:
            sign = _CIRCLE
        elif path in self._drawn and self._children(path):
            sign = _AGAIN
        note = one_line(self._notes.get(path, ""), 200) if path not in self._drawn else ""
        yield self._line(branch, sign, path), note
        if path in self._drawn:
            return
        self._drawn.add(path)
        children = self._children(path)
        if len(above) + 1 >= _DEEPEST:  # what is deeper begins a tree of its own
            children = [child for child in children if self._status[child] != "explored"]
        leaves = [child for child in children if self._status[child] != "explored"]
        shown = [child for child in children if self._status[child] == "explored"] + leaves[:_LEAVES]
        more = len(leaves) - _LEAVES
        for number, child in enumerate(shown, 1):
            last = number == len(shown) and more <= 0
            yield from self._node(
                child,
                below + ("╰─" if last else "├─"),
                below + ("  " if last else "│ "),
                (*above, path),
            )
        if more > 0:
            yield f"{below}╰─ {more:,} more", ""
            self._drawn.update(leaves[_LEAVES:])

    def _children(self, path: str) -> list[str]:
        return [target for target in self._edges.get(path, ()) if target in self._status]

    def _line(self, branch: str, sign: str, path: str) -> str:
        self.used.add(sign)
        start = f"{branch}{sign} "
        return start + shortened(one_line(path, 1_000), self._width - wcswidth(start))


def shortened(path: str, room: int) -> str:
    """A path in so many columns, cut in its middle so that its name stays."""
    if wcswidth(path) <= room:
        return path
    folder, slash, name = path.rpartition("/")
    while folder and wcswidth(f"{folder}…{slash}{name}") > room:
        folder = folder[:-1]
    if folder:
        return f"{folder}…{slash}{name}"
    return cut(name, room) if wcswidth(f"…/{name}") > room else f"…/{name}"


def cut(text: str, room: int) -> str:
    """A text in so many columns, its end cut where it has more."""
    if wcswidth(text) <= room:
        return text
    while text and wcswidth(text) > room - 1:
        text = text[:-1]
    return f"{text}…"
