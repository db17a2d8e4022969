"""A reader of an exported page gets exactly the text that was recorded, whatever it is."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tau.sessions.export import export_session
from tau.sessions.export_parts import visible
from tau.sessions.memory import open_store
from tau.sessions.store import StoreContext

TEXTS = st.text(max_size=60) | st.text(st.sampled_from("`~<>&'\"/!-+@ \n\r\t\x00\x1b\u202ediff"), max_size=60)


class Articles(HTMLParser):
    """The text of each message under its heading, and of what is set as code in it."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.bodies: list[str] = []
        self.code: list[str] = []
        self._within: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self._within.append(tag)
        if tag == "article":
            self.bodies.append("")
            self.code.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._within.pop() == tag

    def handle_data(self, data: str) -> None:
        if "article" in self._within and "h2" not in self._within:
            self.bodies[-1] += data
            if "pre" in self._within:
                self.code[-1] += data


@settings(max_examples=150, deadline=None)
@given(text=TEXTS)
@example(text="</style><script>alert(1)</script>")
@example(text="\n\n```diff\n-a\n+<b>\n```\n\n~~~\nleft open\n\n")
@example(text="@@ -1 +1 @@\n-<x>\n+<y>\n")
def test_a_message_a_call_and_a_result_read_as_they_were_recorded(text: str) -> None:
    store = open_store(StoreContext(data_dir=Path(), state_dir=Path()))
    result = {"toolUseId": "t", "status": "success", "content": [{"text": text}]}
    with store.create("s", meta={}) as writer:
        writer.append(0, {"role": "user", "content": [{"text": text}]})
        call = {"toolUseId": "t", "name": "shell", "input": {"command": text}}
        writer.append(1, {"role": "assistant", "content": [{"toolUse": call}]})
        writer.append(2, {"role": "user", "content": [{"toolResult": result}]})
    out = io.StringIO()
    with store.read("s") as reader:
        export_session("html", reader, out)
        recorded = reader.messages()[0].message["content"][0]["text"]
    store.close()
    page = Articles(out.getvalue())
    shown = visible(recorded)
    assert page.bodies[0] == f"\n\n{shown}\n"  # the page breaks the line after each element around it
    assert page.code[1:] == [shown, shown]
