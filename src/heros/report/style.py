"""How a report looks: on paper, on a phone, by day and by night."""

from __future__ import annotations

__all__ = ["CSS"]

LIGHT = ("#2563c9", "#d9480f", "#12866b", "#7c4dce", "#b77900", "#0b87a8", "#c7326f", "#5f6b7a")
DARK = ("#74a9ff", "#ff8f61", "#4fcfae", "#b99bff", "#e8b64c", "#55c7e6", "#ff86b4", "#a7b3c1")
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "none", "7 3", "2 3", "9 3 2 3")


def _colours(values: tuple[str, ...]) -> str:
    return "".join(f"--c{i}:{value};" for i, value in enumerate(values))


_LIGHT = (
    "--page:#f4f6f8;--ink:#1a2129;--faint:#5c6874;--rule:#e0e5ea;--card:#fff;--plot:#f8fafb;--good:#12866b;"
    f"--bad:#d9480f;--on:#fff;{_colours(LIGHT)}"
)
_DARK = (
    "--page:#0f1317;--ink:#e8ebee;--faint:#97a3af;--rule:#2b333b;--card:#171d23;--plot:#1c2329;--good:#4fcfae;"
    f"--bad:#ff8f61;--on:#0f1317;{_colours(DARK)}"
)
_CLASSES = "".join(
    f"path.line.c{i}{{stroke:var(--c{i});stroke-dasharray:{dash}}}.dot.c{i},.key.c{i},.b{i}{{background:var(--c{i})}}"
    f".f{i}{{fill:var(--c{i})}}"
    for i, dash in enumerate(DASHES)
)

CSS = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    + _CLASSES
    + """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1.25rem 3rem;max-width:76rem;background:var(--page);color:var(--ink);
 font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;overflow-wrap:anywhere}
h1{font-size:1.6rem;margin:0;letter-spacing:-.01em}
h2{font-size:1.35rem;margin:2.25rem 0 .25rem;letter-spacing:-.01em}
h3{font-size:1.05rem;margin:2rem 0 .75rem}h4,figcaption{font-weight:600;font-size:.95rem;margin:0 0 .7rem}
p{margin:.25rem 0 .75rem;max-width:46rem}.faint{color:var(--faint)}
.small{font-size:.82rem;margin:.6rem 0 0;max-width:none}
.jump{display:flex;flex-wrap:wrap;gap:.4rem}
.jump a{padding:.2rem .7rem;border:1px solid var(--rule);border-radius:1rem;background:var(--card);
 color:var(--ink);
 font-size:.88rem;text-decoration:none}
.card{min-width:0;margin:0;padding:1rem 1.1rem;background:var(--card);border:1px solid var(--rule);
 border-radius:.75rem;
 break-inside:avoid}
.hero{display:grid;grid-template-columns:1fr 1fr;gap:1.1rem;margin:0 0 1.1rem;align-items:stretch}
.hero>div{display:flex;flex-direction:column;gap:1.1rem;min-width:0}
.hero>figure{display:flex;flex-direction:column}.hero .plot{flex:1;min-height:17rem}
.hero .area{position:absolute;inset:.2rem .75rem 2.6rem 3.2rem;height:auto}
.verdict{margin:0;padding:1rem 1.1rem;flex:1;max-width:none;font-size:1.08rem;line-height:1.55;
 background:var(--card);
 border:1px solid var(--rule);border-left:4px solid var(--good);border-radius:.75rem}
.tiles{display:grid;grid-template-columns:repeat(3,1fr);gap:.7rem}.tile:nth-child(5){grid-column:span 2}
.tile:nth-child(5) b{font-size:1rem;line-height:1.4;padding:.15rem 0}
.charts>figure:last-child:nth-child(odd){grid-column:1/-1}
.tile{padding:.7rem .9rem;background:var(--card);border:1px solid var(--rule);border-radius:.75rem;
 min-width:0}
.tile span,.tile em{display:block;color:var(--faint);font-size:.8rem;font-style:normal;line-height:1.35}
.tile b{display:block;font-size:1.3rem;line-height:1.35;font-variant-numeric:tabular-nums}
.charts,.parts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1.1rem}
.parts{grid-template-columns:repeat(auto-fit,minmax(min(100%,33.5rem),1fr))}
.whole{grid-column:1/-1}p.card{max-width:none}
.parts>figure:has(.map-plot){grid-column:1/-1}
figure{min-width:0}
.plot{position:relative;padding:.2rem .75rem 2.6rem 3.2rem;--tall:13rem}
.area{position:relative;height:var(--tall)}
svg{position:absolute;inset:0;width:100%;height:100%;overflow:visible;background:var(--plot)}
.map{overflow:hidden}
.map-plot{padding-left:12.5rem}
path{fill:none;vector-effect:non-scaling-stroke}
.line{stroke-width:1.9;stroke-linejoin:round}.grid{stroke:var(--rule);stroke-width:1}
.band{fill-opacity:.14;stroke:none}
.drift{fill:var(--faint);fill-opacity:.16}.mark{stroke:var(--faint);stroke-width:1;stroke-dasharray:3 3}
.front{stroke:var(--faint);stroke-width:1.2;stroke-dasharray:4 4}.heat{fill:var(--c0);stroke:none}
.none{fill:transparent}
.map g:hover .none{fill:var(--faint);fill-opacity:.18}
.y,.x{position:absolute;color:var(--faint);font-size:.78rem;font-variant-numeric:tabular-nums}
.y{left:0;top:.2rem;bottom:2.6rem;width:2.8rem}.x{left:3.2rem;right:.75rem;bottom:1.1rem;height:1.2rem}
.map-plot .y{width:12.1rem;font-size:.74rem}.map-plot .x{left:12.5rem}
.y span{position:absolute;right:0;max-width:100%;transform:translateY(50%);line-height:1.1;white-space:nowrap;
 overflow:hidden;text-overflow:ellipsis}
.x span,.under span{position:absolute;transform:translateX(-50%);white-space:nowrap}
.xname{position:absolute;right:.75rem;bottom:.15rem;color:var(--faint);font-size:.78rem}
.dot{position:absolute;width:.8rem;height:.8rem;border-radius:50%;transform:translate(-50%,50%);
 box-shadow:0 0 0 2px var(--plot)}
.dot:hover{box-shadow:0 0 0 4px var(--rule)}
.name{position:absolute;font-size:.78rem;font-weight:500;white-space:nowrap;line-height:1.05;
 background:var(--plot);border-radius:.2rem;padding:0 .1rem}
.name.right{transform:translate(.6rem,50%)}.name.left{transform:translate(calc(-100% - .6rem),50%)}
.name.above{transform:translate(-50%,-.6rem)}.name.below{transform:translate(-50%,calc(100% + .6rem))}
.hit{position:absolute;top:0;bottom:0}
 .hit:hover{background:linear-gradient(var(--faint),var(--faint)) 50%/1px 100% no-repeat}
.tip{display:none;position:absolute;top:.3rem;left:calc(50% + .6rem);z-index:2;padding:.4rem .6rem;
 width:max-content;
 max-width:17rem;background:var(--card);border:1px solid var(--rule);border-radius:.5rem;font-size:.78rem;
 line-height:1.5;
 box-shadow:0 4px 14px rgb(0 0 0/.16);pointer-events:none}
.tip.left{left:auto;right:calc(50% + .6rem)}.hit:hover .tip{display:block}
.tip em{color:var(--faint);font-style:normal}.tip span{display:flex;align-items:center;white-space:nowrap}
.tip b{margin-left:auto;padding-left:1rem;font-variant-numeric:tabular-nums}
.ribbon{position:relative;height:2.1rem;border-radius:.4rem;overflow:hidden;background:var(--plot)}
.ribbon span{position:absolute;top:0;bottom:0;overflow:hidden;border-right:1px solid var(--card)}
.ribbon b{position:absolute;inset:0;padding:0 .5rem;line-height:2.1rem;font-size:.8rem;font-weight:600;
 color:var(--on);
 white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.under{position:relative;height:1.3rem;margin:.25rem .75rem 0 0;color:var(--faint);font-size:.78rem}
.under span:first-child{transform:none}
.legend{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;padding:0;margin:0 0 .9rem;list-style:none;
 font-size:.9rem}
.key{display:inline-block;flex:none;width:.7rem;height:.7rem;border-radius:.2rem;margin-right:.45rem;
 vertical-align:-.05rem}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.86rem;font-variant-numeric:tabular-nums;
 white-space:nowrap}
th,td{padding:.38rem .55rem;text-align:right;border-bottom:1px solid var(--rule)}
th{font-weight:500;color:var(--faint)}
tbody tr:last-child td,tbody tr:last-child th{border-bottom:0}tbody tr:hover td{background:var(--plot)}
th:first-child,td:first-child{text-align:left;padding-left:0;position:sticky;left:0;background:var(--card)}
.models th:nth-child(2),.models td:nth-child(2){text-align:left;white-space:normal;min-width:13rem}
.models td:nth-child(2){padding-left:1.7rem;text-indent:-1.15rem}
.classes th,.classes td{padding-left:.3rem}.classes .bar{width:2rem;margin-right:.4rem}
.bar{display:inline-block;width:3.4rem;height:.45rem;margin-right:.5rem;border-radius:.25rem;
 background:var(--rule);
 overflow:hidden;vertical-align:.06rem}.bar i{display:block;height:100%;background:var(--c0)}
.matrix{border-collapse:separate;border-spacing:2px;width:auto}
.matrix th,.matrix td{border:0;padding:.35rem .5rem}.matrix td{min-width:3.2rem;text-align:center;
 border-radius:.25rem}
.matrix thead th{text-align:center}.matrix .corner{font-size:.76rem}
.matrix td.right{background:color-mix(in srgb,var(--good) calc(8% + var(--s)*92%),var(--plot))}
.matrix td.wrong{background:color-mix(in srgb,var(--bad) calc(var(--s)*100%),var(--plot))}
.matrix td.strong{color:var(--on)}
details{margin:.5rem 0;font-size:.95rem}summary{cursor:pointer}
.inside>summary{padding:.6rem 1.1rem;background:var(--card);border:1px solid var(--rule);border-radius:.75rem;
 font-weight:600}.inside>summary:hover,.settings>summary:hover{color:var(--c0)}.parts{margin:.9rem 0 1.4rem}
.settings{font-size:.9rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:.5rem 0}
dt{color:var(--faint)}dd{margin:0;overflow-wrap:anywhere}
@media(max-width:56rem){.hero{grid-template-columns:1fr}}
@media(max-width:34rem){body{padding:.9rem .7rem 2rem}dl{grid-template-columns:1fr}dt{margin-top:.4rem}
 .card,.verdict{padding:.8rem .75rem}.verdict{font-size:1rem}.plot{padding-left:3rem;padding-right:.4rem}
 .y{width:2.7rem;font-size:.72rem}.x{left:3rem;right:.4rem}.map-plot{padding-left:7.4rem}
 .map-plot .y{width:7.2rem;font-size:.57rem}.ribbon b{display:none}
 .models th:nth-child(2),.models td:nth-child(2){min-width:11rem}
 .map-plot .x{left:7.4rem}.tile b{font-size:1.1rem}.tiles{grid-template-columns:1fr 1fr}
 .hero .area{inset:.2rem .4rem 2.6rem 3rem}}
@page{margin:12mm}
@media print{h2,h3,h4,figcaption,summary{break-after:avoid}tr{break-inside:avoid}
 html{font-size:11px}body{max-width:none;font-size:11px;padding:0;background:none}
 .hit{display:none}
 .hero,.charts,.parts{grid-template-columns:1fr 1fr}.hero{break-inside:avoid}h2+p{break-after:avoid}
 .wide{overflow:visible}.plot{--tall:11rem}.bar{width:2rem}
 th,td{padding:.3rem .4rem}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
)
