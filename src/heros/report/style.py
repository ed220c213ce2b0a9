"""How a report looks: on paper, on a phone, by day and by night."""

from __future__ import annotations

__all__ = ["CSS"]

LIGHT = ("#1f6f9f", "#c4472b", "#3f7d3f", "#8050a0", "#a87400", "#0f8a7e", "#c2406f", "#5a6675")
DARK = ("#6fb7e4", "#f08a6c", "#8fc98a", "#c3a0e0", "#e0b04a", "#5fd0c2", "#f08fb0", "#aab4c0")
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "none", "7 3", "2 3", "9 3 2 3")


def _colours(values: tuple[str, ...]) -> str:
    return "".join(f"--c{i}:{value};" for i, value in enumerate(values))


_DARK = f"--page:#14181c;--ink:#e6e9ec;--faint:#98a2ac;--rule:#323a42;--card:#1b2127;{_colours(DARK)}"
_CLASSES = "".join(
    f"path.c{i}{{stroke:var(--c{i});stroke-dasharray:{dash}}}.dot.c{i},.key.c{i}{{background:var(--c{i})}}"
    for i, dash in enumerate(DASHES)
)

CSS = (
    f":root{{color-scheme:light dark;--page:#fff;--ink:#1c2329;--faint:#5d6872;--rule:#d8dee3;"
    f"--card:#f6f8f9;{_colours(LIGHT)}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    + _CLASSES
    + """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.25rem;max-width:72rem;background:var(--page);color:var(--ink);
 font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0}h2{font-size:1.25rem;margin:2.5rem 0 .5rem;padding-top:1rem;
 border-top:1px solid var(--rule)}
p{margin:.25rem 0 .75rem;max-width:46rem}.faint{color:var(--faint)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem}
figure{margin:0;min-width:0;break-inside:avoid}figcaption{font-weight:600;font-size:.95rem;margin-bottom:.6rem}
.plot{position:relative;padding:0 .75rem 2.6rem 3.4rem}
.area{position:relative;height:13rem}
svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible;background:var(--card)}
.map{overflow:hidden}
path{fill:none;vector-effect:non-scaling-stroke}
.line{stroke-width:1.8}.grid{stroke:var(--rule);stroke-width:1}
.drift{fill:var(--faint);fill-opacity:.22}.mark{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 3}
.front{stroke:var(--faint);stroke-width:1.2;stroke-dasharray:4 4}.heat{fill:var(--c0);stroke:none}
.y,.x{position:absolute;color:var(--faint);font-size:.8rem;font-variant-numeric:tabular-nums}
.y{left:0;top:0;height:13rem;width:3rem}.x{left:3.4rem;right:.75rem;top:13.3rem;height:1.2rem}
.y span{position:absolute;right:0;transform:translateY(50%);line-height:1;white-space:nowrap}
.x span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.xname{position:absolute;right:.75rem;bottom:0;color:var(--faint);font-size:.8rem}
.dot{position:absolute;width:.75rem;height:.75rem;border-radius:50%;transform:translate(-50%,50%)}
.name{position:absolute;font-size:.8rem;font-weight:500;transform:translate(.6rem,50%);white-space:nowrap;line-height:1}
.name.left{transform:translate(calc(-100% - .6rem),50%)}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;padding:0;margin:.5rem 0 1.25rem;list-style:none;
 font-size:.9rem}
.key{display:inline-block;width:1rem;height:.25rem;margin-right:.4rem;vertical-align:middle}
.wide{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums;white-space:nowrap}
th,td{padding:.3rem .45rem;text-align:right;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left;padding-left:0;position:sticky;left:0;background:var(--page)}
details{margin:.5rem 0;font-size:.9rem}summary{cursor:pointer}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:34rem){body{padding:.9rem}dl{grid-template-columns:1fr}dt{margin-top:.4rem}}
@media print{body{max-width:none;font-size:11pt}.charts{grid-template-columns:1fr 1fr}
 *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
)
