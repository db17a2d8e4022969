"""How an exported page looks, in light and in dark."""

STYLE = """\
:root {
  color-scheme: light dark;
  --back: #fbfbfa; --fore: #1f2328; --quiet: #656d76; --line: #d8dee4; --panel: #f1f3f5; --accent: #0a6c74;
  --add: #116329; --add-back: #dafbe1; --del: #a40e26; --del-back: #ffebe9; --warn: #9a6700;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171a; --fore: #dfe3e7; --quiet: #8b949e; --line: #2f363d; --panel: #1d2125; --accent: #5fb8bf;
    --add: #7ee2a0; --add-back: #12321f; --del: #ff9d94; --del-back: #3d1715; --warn: #d7a42a;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--fore); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.45rem; line-height: 1.3; margin: 0 0 .8rem; overflow-wrap: anywhere; }
h2 { font-size: .85rem; margin: 0 0 .35rem; color: var(--accent); }
small, .note, .id, .key, dl, nav, .fence, summary span { color: var(--quiet); font-weight: normal; }
small { font-size: .78rem; margin-left: .4rem; }
section + section { border-top: 2px solid var(--line); margin-top: 3rem; padding-top: 2rem; }
nav { font-size: .85rem; margin-bottom: 1.5rem; }
nav ol { margin: 0; padding-left: 1.4rem; }
a { color: var(--accent); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 .8rem; }
dl { font-size: .85rem; }
dd { margin: 0; overflow-wrap: anywhere; color: var(--fore); }
article { margin: 1.6rem 0; }
article.user, article.summary { border-left: 3px solid var(--accent); padding-left: .9rem; }
article.summary { border-left-style: dotted; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .5rem 0; padding: .6rem .8rem; background: var(--panel); border-radius: 4px; }
pre { overflow-x: auto; line-height: 1.3; }
code { font: .85rem/1.45 ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
details { margin: .4rem 0; }
summary { cursor: pointer; font-size: .85rem; overflow-wrap: anywhere; }
summary b { font-weight: 600; }
details.failed > summary b { color: var(--warn); }
details > *:not(summary) { margin-left: 1rem; }
.id, .key, .note { font-size: .8rem; margin: .4rem 0; }
details > .id, details > .key { margin: .4rem 0 .2rem 1rem; }
.lost { color: var(--warn); }
.add { color: var(--add); background: var(--add-back); }
.del { color: var(--del); background: var(--del-back); }
.hunk { color: var(--accent); }
img { max-width: 100%; height: auto; display: block; margin: .5rem 0; }
@media print { details > * { display: block; } }
"""
