"""What a model writes that belongs in no memory file: talk about its answer, refusals, lines left out, runs.

Every new line of a change is judged, wherever it stands. What a person may truly want to keep has to pass, so
a pattern is of a whole line or of how it begins, never of a word in it. They are for English, the language of
the instructions; each is compiled when it is first looked for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from tau.display import one_line
from tau.memory.elisions import AROUND, is_elision, may_be_elision

FENCED = r"(?s)\A\s*(`{3,40}|~{3,40})([\w-]*)[ \t]*\n(.*?)\n?(?<![ \t])[ \t]*\1\s*\Z"
"""A text that is nothing but one code fence: its marks, its language, what is in it."""

_NOTHING = (
    r"(?i)todo|tbd|placeholder|n/?a|none|empty|null|nothing|no changes?( needed)?"
    r"|((the|new|whole|full|updated|file|your) ){0,3}(content|contents|text)"
    r"|lorem ipsum.*"
)
_OF_TEXT = ("", "markdown", "md", "text", "txt", "json", "plaintext")
"""Languages of a fence around an answer; one of code may be what is to be kept."""

# A file as an answer talks about it: the noun ends what is said, or goes on with whose it is.
_FILE = (
    r"((memory|project|markdown|json|global|whole|complete|full|new) )*"
    r"(files?|memory|memories|version|contents?|document|text|markdown|json)"
    r"( (of|for|with|in|that|based|after|which|below|as|to)\b.{0,80}| `.{0,60}| \(.{0,60})?\s*[:.!]?"
)
_CHANGED = r"(updated|revised|refined|corrected|modified|edited|rewritten|refreshed|consolidated|merged|new)"
_HERE = r"((here|below)(\s+(is|are)|['’]s)|this is)"
_YES = r"(sure|certainly|of course|okay|ok|absolutely|great|alright)[,!.:]"
_IF_YOU = (
    r"(if|whether|should) (you|there|any)( (need|want|have|would like|is|are))*"
    r" ?(any|anything|something|more|further|other|me|help|questions?|an?( different)?) "
)
_TALK = (
    rf"(?i)({_YES} )?{_HERE} ((the|an?|your|my|all|some) )?{_CHANGED} {_FILE}"
    rf"|{_YES} (here|below)\b.*"
    rf"|(the )?{_CHANGED} {_FILE}(?<=:)"
    r"|based on (the|this|our|your) (conversation|session|transcript|chat|discussion)\b.*"
    r"|as an ai\b.*"
    rf"|(please )?(let me know|feel free to (ask|reach out|let me know)) {_IF_YOU}.*"
    r"|(i hope|hope) (this|that|it) (helps?|works|is what|meets)\b.*"
    r"|is there anything else\b.*"
)
"""Talk about the answer, as the whole of a line."""

_TALK_FIRST = (
    rf"(?i){_YES} |(sure|certainly|of course|absolutely)[!.]$"
    rf"|{_HERE} ((the|an?|your|my|all) )?((complete|full|final|whole) )?{_FILE}(?<=:)$"
    rf"|i(['’]ve|\s+have|['’]ll|\s+will)?\s+(now\s+)?(updated?|revised?|refined?|rewritten|rewrite)\b"
    r".{0,80}\b(file|files|memory|version|content|contents|document|markdown|json)\b"
)
_TALK_LAST = (
    r"(?i)(please )?(let me know|feel free to (ask|reach out))( if you.{0,40})?[.!]*$|would you like me to\b"
)

_CANNOT = (
    r"(can['’]?t|cannot|can not|am (not able|unable) to|['’]m (not able|unable) to|won['’]?t( be able to)?"
    r"|could not|couldn['’]?t|do(n['’]t| not) have|must decline to)"
)
_SORRY = r"((i['’]?m|i am) (very |so |really )?sorry|i apologi[sz]e|(my|our) apologies)"
_THAT = r"(that|this|it|your request|(that|this|the|such) (request|task|content|question)s?)"
_SAID_HERE = r"((this|the|our|your) (conversation|session|transcript|chat|request)|memory files?)"
_REFUSAL = (
    rf"(?i)({_SORRY}|sorry|unfortunately|regrettably)[,.:;]?( but)? (i|we) ?{_CANNOT}\b.*"
    rf"|{_SORRY}\b.{{0,60}}(confusion|inconvenience|mistake)\b.*"
    rf"|i ?{_CANNOT} (help|assist|comply|fulfil+|answer|proceed|continue|engage|provide|complete|do)"
    rf"( you)?( with)?( {_THAT})?( (at this time|for you|here|right now))?[.!]*"
    rf"|i ?{_CANNOT}\b.{{0,80}}\b({_SAID_HERE}|enough (information|context))\b.*"
)
_NO_NEWS = (
    r"(?i)((there (is|are|was|were) )?(no|nothing)"
    r"|(the|this) (conversation|session|transcript) (contains?|has|had|holds?) (no|nothing))"
    r"( (new|further|additional|more|relevant|durable|lasting|memorable|significant|else|useful|other))*"
    r"( (information|info|facts?|memory|memories|preferences?|content|updates?|changes?|entries|lessons?"
    r"|rules?|details|learnings?|decisions?)( or| and)?)*"
    r"( (that|which|is|are|was|were|be|to|it|needs?|worth|needed|required|necessary|made|found|detected"
    r"|identified|learned|learnt|mentioned|add(ed|ing)?|keep(ing)?|kept|remember(ed|ing)?|record(ed|ing)?"
    r"|stor(e|ed|ing)|not(e|ed|ing)|updat(e|ed|ing)|sav(e|ed|ing)|chang(e|ed|ing)|refin(e|ed|ing)|report))+"
    r"( (here|yet|so far|at this time|for now|at the moment|now|currently|from|in|to|during|the|this|of"
    r"|session|conversation|transcript|chat|memory|files?))*"
)

_PROTOCOL = r"(?=[\[{\"]).*\"(operations\"\s*:\s*[\[{]|action\"\s*:\s*\"(write|edit|delete)\")"
_MARK = (
    r"(?i)</?(transcript|notes|think|thinking|thought|reasoning|scratchpad|conversation|assistant|user|human"
    r"|system|tool_call|tool_result|tool_response|function_call|answer|response)\b[^>]*>"
    r"|<\|[\w ]{1,40}\|>|\[/?inst\]|\[(assistant|user|human|system|tool|person|model)\]\s*:?(\s|$)"
)
_SPEAKER = r"(PERSON|MODEL|TOOLS):|\[calls \w+ with .*\]"
_TURN_OF = r"(?i)[*_]*(user|human|person|assistant|ai|model)[*_]*:[*_]*( |$)"
_ASKS = frozenset(("user", "human", "person"))
_MEMORY_FENCE = r"~{3,}\s*memory (global|project)/"

_SET_OFF = r"(?:(?:[-*+•>]|#{1,6}|\d{1,9}[.)])\s+)*"
"""What sets a line off: marks of lists, headings and quotations."""

_TIMES = 10
"""How often the same words stand one behind the other in what is no text."""

_PHRASE = 8
"""Words of the longest phrase that is looked for."""

_LOOKED_AT = 400
"""Characters of a line that say whether it is talk."""

_ECHOED = 40
"""Characters from which on a line of the instructions is known again."""


def says_nothing(text: str) -> bool:
    """Whether a text, as all that there is, says nothing."""
    plain = text.strip(AROUND)
    return re.search(r"\w", plain) is None or re.fullmatch(_NOTHING, plain[:100]) is not None


def echoes_of(instructions: str) -> set[str]:
    """The lines of instructions that are known again, by their words alone."""
    return {plain for line in instructions.splitlines() if len(plain := words_only(line)) >= _ECHOED}


def words_only(line: str) -> str:
    """A text by its words alone, so that two that say the same in other marks are the same."""
    return re.sub(r"[^\w]+", " ", line).strip().casefold()


def plain(line: str) -> str:
    """A line without what only sets it off or ends it; `!=`, `C++` and `-f` say something and stay."""
    text = line.strip()
    marks = re.match(_SET_OFF, text)
    words = text[marks.end() if marks else 0 :].split()
    return " ".join(filter(None, (word.lstrip("`\"'").rstrip("`\"',;:.!?") for word in words)))


def reason(
    written: str, after: str, before: str, echoes: Collection[str], *, whole: bool, old: str = ""
) -> str:
    """Why a change belongs in no file, in a few words; empty when it may.

    What the file holds already was let in by somebody.

    Args:
        written: What the change brings: a whole content, or what is put in the place of a part.
        after: What the file would hold.
        before: What it holds.
        echoes: From `echoes_of`.
        whole: Whether it brings a whole content.
        old: What it replaces, where it does not.
    """
    known = {line.strip() for line in before.splitlines()}
    lines = _lines(written)
    if fence := re.match(FENCED, written):
        if whole:
            return "the whole content is in a code fence"
        if fence.group(2).casefold() in _OF_TEXT and not re.search(r"(?m)^[ \t]*(`{3}|~{3})", old):
            return "what is new in it is in a code fence"
    if whole and all(map(says_nothing, lines)):
        return f"it says nothing: {one_line(lines[0], 60)}"
    if why := _around(lines, known, whole=whole):
        return why
    new = [line for line in dict.fromkeys([*lines, *_lines(after)]) if line not in known]
    for line in new:
        if re.match(_MEMORY_FENCE, line) or words_only(line) in echoes:
            return "it repeats what the refinement was told"
        if why := _of_line(line):
            return f"{why}: {one_line(line, 60)}"
    speakers = {found.group(1).casefold() for line in new if (found := re.match(_TURN_OF, line))}
    if speakers & _ASKS and speakers - _ASKS:
        return "it writes the conversation down"
    runs = dict.fromkeys(_runs(written))
    there = set(_runs(before)) if runs else set()
    if run := next((run for run in runs if run not in there), ""):
        return f"it repeats the same words: {one_line(run, 60)}"
    return ""


def may_leave_out(after: str, before: str) -> str:
    """The first new line that may stand for others, which `reason` lets pass; empty when none does."""
    known = {line.strip() for line in before.splitlines()}
    return next((line for line in _lines(after) if line not in known and may_be_elision(line)), "")


def _lines(text: str) -> list[str]:
    return [line for part in text.splitlines() if (line := part.strip())]


def _around(lines: Sequence[str], known: Collection[str], *, whole: bool) -> str:
    """Talk about the answer before and behind what is written; a heading may stand before it."""
    said = [line for line in lines if not line.startswith("#")]
    for line in [*lines[:1], *said[:1]] if whole else []:
        if line not in known and re.match(_TALK_FIRST, line):
            return f"it begins with talk about the answer: {one_line(line, 60)}"
    for line in said[-1:]:
        if line not in known and re.match(_TALK_LAST, line):
            return f"it ends with talk about the answer: {one_line(line, 60)}"
    return ""


def _of_line(line: str) -> str:
    """Why a new line belongs in no file, or the empty string."""
    if is_elision(line):
        return "it leaves something out"
    if re.match(_PROTOCOL, line):
        return "it holds a proposal instead of a text"
    if re.match(_MARK, line) or re.fullmatch(_SPEAKER, line):
        return "it holds marks of the conversation"
    plain = line.strip("*_> ")[:_LOOKED_AT]
    if re.fullmatch(_REFUSAL, plain):
        return "it is a refusal"
    if re.fullmatch(_NO_NEWS, plain.strip(AROUND)):
        return "it says that there is nothing to say"
    return "it holds talk about the answer" if re.fullmatch(_TALK, plain) else ""


def _runs(text: str) -> Iterator[str]:
    """The words that stand in a row again and again, in the order of the alphabet."""
    words = re.findall(r"\w+", text.casefold())
    for size in range(1, _PHRASE + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= size * (_TIMES - 1):
                phrase = words[place - size + 1 : place + 1]
                if re.search(r"[^\W\d_]", "".join(phrase)):
                    yield " ".join(sorted(phrase))
    for found in re.finditer(r"(\w{1,8}?)\1{19,}", text):
        if re.search(r"[^\W\d_]", found.group(1)):
            yield found.group(1)
