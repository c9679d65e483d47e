"""The look of the report, for screens of any width, light and dark, and for paper."""

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6670;--paper:#fff;--lane:#f4f6f8;
--rule:#d5dbe1;--good:#1a7f4b;--bad:#b3261e;--wash:#fdecea;--line:#6b7682;--shoe:#1f6fb5;
--acts:#8a5a00;--table:#5b3fa0;--sink:#1a7f4b;--link:#1f5fa5}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa5b0;--paper:#14181c;
--lane:#1b2126;--rule:#333c45;--good:#5fcf95;--bad:#ff8a80;--wash:#43201d;--line:#9aa5b0;
--shoe:#7ab8ee;--acts:#e0b050;--table:#b9a2f0;--sink:#5fcf95;--link:#8cc0f5}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1160px;padding:0 16px 48px;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif}
h1{font-size:1.5rem;margin:24px 0 0}h2{font-size:1.2rem;margin:0 0 4px;overflow-wrap:anywhere}
h3{font-size:1rem;margin:20px 0 4px}p{margin:4px 0}.good{color:var(--good)}.bad{color:var(--bad)}
a{color:var(--link)}.note,header p{color:var(--soft);font-size:.87rem;overflow-wrap:anywhere}
section{border-top:2px solid var(--rule);margin-top:32px;padding-top:16px}
.wide{overflow-x:auto;margin:8px 0}.wide:focus-visible{outline:2px solid var(--link)}
table{border-collapse:collapse;width:100%;font-size:.87rem}
th,td{text-align:left;vertical-align:top;padding:4px 8px;border-bottom:1px solid var(--rule)}
th{color:var(--soft);font-weight:600}.number{text-align:right;font-variant-numeric:tabular-nums}
.overview td:first-child{overflow-wrap:anywhere}.overview td:nth-child(2){white-space:nowrap}
.overview .failed td:nth-child(2),.overview .error td:nth-child(2){color:var(--bad);font-weight:600}
.overview .passed td:nth-child(2){color:var(--good)}
.beside{font-family:ui-monospace,"DejaVu Sans Mono",Consolas,monospace;font-size:.8rem;
table-layout:fixed}.beside th:first-child,.sign{width:1.6em;font-weight:700}
.beside td{overflow-wrap:anywhere}.missing td:nth-child(3),.more td:nth-child(2){color:var(--soft);
font-style:italic}.missing,.more{background:var(--wash)}.missing .sign,.more .sign{color:var(--bad)}
.first td{border-top:2px solid var(--bad);border-bottom:2px solid var(--bad)}
.first td:last-child::after{content:"first difference";display:block;color:var(--bad);
font:600 .75rem/1.4 system-ui,sans-serif}
.badge{display:inline-block;font-size:.75rem;font-weight:600;padding:0 8px;border-radius:9px;
border:1px solid currentColor;vertical-align:middle}.badge.passed{color:var(--good)}
.badge.failed,.badge.error{color:var(--bad)}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font-size:.8rem;margin:8px 0;padding:8px 12px;
background:var(--lane);border-left:3px solid var(--rule)}.failure{border-color:var(--bad);
background:var(--wash)}.listing{max-height:480px;overflow:auto;white-space:pre}
summary{cursor:pointer;padding:4px 0}details.round>summary{font-weight:600}
details.round>summary .note{font-weight:400;margin-right:8px}
.timeline{display:block;font:11px ui-monospace,"DejaVu Sans Mono",Consolas,monospace}
.timeline text{fill:var(--ink)}.timeline .head{fill:var(--soft);font-weight:600}
.timeline .time{fill:var(--soft)}.lane{fill:var(--lane)}.lane.odd{fill:var(--paper)}
line.pause{stroke:var(--soft);stroke-dasharray:2 4}text.pause{fill:var(--soft)}
rect.wrong{fill:var(--wash);stroke:var(--bad)}.arrow{fill:none;stroke:var(--soft);opacity:.55}
.mark.line circle{fill:var(--line)}.mark.shoe circle{fill:var(--shoe)}
.mark.acts circle{fill:var(--acts)}.mark.table circle{fill:var(--table)}
.mark.sink circle{fill:var(--sink)}.routine text.what{fill:var(--soft)}.routine circle{opacity:.4}
.state.bets{fill:#d9a521}.state.cards{fill:#3f8fd2}.state.outcome{fill:#2e9e63}
.state.halted{fill:#d0453a}
@media (max-width:600px){body{padding:0 10px 32px;font-size:14px}
.overview th:nth-child(3),.overview td:nth-child(3),.overview th:nth-child(4),
.overview td:nth-child(4){display:none}}
@media print{:root{--paper:#fff;--ink:#000;--lane:#f4f6f8;--rule:#bbb;--soft:#444;--wash:#fdecea}
body{max-width:none;padding:0}.wide{overflow:visible}.timeline{width:100%;height:auto}
.listing{max-height:none;white-space:pre-wrap}tr{break-inside:avoid}a{color:inherit}}
""".strip()
