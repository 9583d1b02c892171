//! How the page looks.
//!
//! Law: one accent, and seven colours that people who see few colours can tell apart (Okabe and Ito, 2008); light or dark
//! as the reader's system is, light on paper. Nothing is fetched.

/// The style sheet.
pub(crate) const STYLE: &str = "
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1f24; --quiet: #57606a; --line: #d7dce1; --soft: #f4f6f8; --grey: #b4bcc4;
  --shade: rgb(27 31 36 / .3);
  --accent: #0072b2; --accent-parts: 0 114 178;
  --c0: #0072b2; --c1: #e69f00; --c2: #009e73; --c3: #56b4e9; --c4: #d55e00; --c5: #cc79a7; --c6: #8c8c8c;
  --s0: #0072b2; --s1: #d55e00; --s2: #009e73; --s3: #b4558a; --s4: #b87a00; --s5: #3a95cc;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --ink: #e4e7ea; --quiet: #9aa4ae; --line: #343b42; --soft: #1d2226; --grey: #5a646d;
    --shade: rgb(228 231 234 / .34);
    --accent: #56b4e9; --accent-parts: 86 180 233;
    --c0: #3d9bdc; --c1: #e69f00; --c2: #14b88a; --c3: #9ad4f5; --c4: #e8742a; --c5: #d88fb6; --c6: #7d868e;
    --s0: #56b4e9; --s1: #ee8141; --s2: #2cc79b; --s3: #dc93bb; --s4: #e6a817; --s5: #a3d8f5;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: 56rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif;
  font-variant-numeric: tabular-nums; overflow-wrap: break-word;
}
h1 { margin: 0 0 1rem; font-size: 2rem; line-height: 1.2; font-weight: 650; letter-spacing: -.01em; }
h2 { margin: 3.5rem 0 .75rem; padding-top: 1rem; border-top: 1px solid var(--line); font-size: 1.35rem; line-height: 1.3; font-weight: 650; }
h3 { margin: 2.25rem 0 .5rem; font-size: 1.05rem; font-weight: 650; }
p { margin: .75rem 0; max-width: 46rem; }
a { color: var(--accent); text-underline-offset: .15em; }
code, pre { font-family: ui-monospace, 'SF Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace; font-size: .875em; }
pre { padding: .75rem 1rem; background: var(--soft); border-radius: 4px; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
.kind { margin: 0 0 .25rem; color: var(--quiet); font-size: .8125rem; letter-spacing: .06em; text-transform: uppercase; }
.quiet { color: var(--quiet); font-size: .9375rem; }
.answer { margin: 0 0 1.75rem; padding: .25rem 0 .25rem 1rem; border-left: 4px solid var(--accent); font-size: 1.1875rem; line-height: 1.5; }
.warning { padding: .6rem 1rem; border-left: 4px solid var(--c4); background: var(--soft); }
.missing { display: inline-block; margin: .1rem 0 .3rem; padding: 0 .5rem; border-left: 3px solid var(--c4); background: var(--soft); font-weight: 600; }
.rule { padding: .6rem 1rem; background: var(--soft); border-radius: 4px; }
dl { margin: 1rem 0; display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .75rem 2rem; }
dt { color: var(--quiet); font-size: .8125rem; }
dd { margin: 0; overflow-wrap: anywhere; }
dl.words { display: block; max-width: 46rem; }
dl.words div { margin: 0 0 .9rem; }
dl.words dt { color: var(--ink); font-size: 1rem; font-weight: 650; }
.figures { margin: 1.5rem 0 .5rem; padding: 1rem 1.25rem; display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: 1rem 2rem; list-style: none; background: var(--soft); border-radius: 6px; color: var(--quiet); font-size: .875rem; }
.figures strong { display: block; color: var(--ink); font-size: 1.5rem; line-height: 1.25; font-weight: 600; }
nav ul { margin: 1.25rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .35rem 1.25rem; list-style: none; font-size: .9375rem; }
figure { margin: 2rem 0; }
figcaption { margin-top: .6rem; max-width: 46rem; color: var(--quiet); font-size: .875rem; line-height: 1.45; }
.wide {
  margin: 1.5rem 0; overflow-x: auto;
  background: linear-gradient(to right, var(--paper) 40%, transparent) left / 3rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 3rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / .8rem 100% no-repeat scroll,
    linear-gradient(to left, var(--shade), transparent) right / .8rem 100% no-repeat scroll;
}
.wide:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: .875rem; line-height: 1.35; }
caption { padding: 0 0 .6rem; caption-side: top; background: var(--paper); color: var(--quiet); text-align: left; line-height: 1.45; }
caption span { display: block; position: sticky; left: 0; max-width: min(46rem, calc(100vw - 2.5rem)); }
th, td { padding: .34rem .6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: baseline; }
th:first-child, td:first-child { padding-left: .25rem; }
thead th, thead td { border-bottom: 1.5px solid var(--ink); font-weight: 600; vertical-align: bottom; }
tbody th, tfoot th { font-weight: 500; white-space: nowrap; }
tfoot th, tfoot td { border-top: 1.5px solid var(--ink); border-bottom: 0; font-weight: 600; }
.n { text-align: right; white-space: nowrap; }
thead .n { white-space: normal; }
.n + :not(.n) { padding-left: 1.5rem; }
.values { white-space: nowrap; }
.item { min-width: 7rem; max-width: 14rem; white-space: normal; overflow-wrap: anywhere; }
.rank { color: var(--quiet); }
.size { font-weight: 650; }
.why { min-width: 16rem; white-space: normal; overflow-wrap: anywhere; }
.heat { background: rgb(var(--accent-parts) / var(--heat)); }
.heat small { opacity: .8; }
.differs { background: rgb(var(--accent-parts) / .14); }
.examples { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: 1.25rem; }
.courses { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .5rem 1rem; }
.examples figure { margin: 0; }
.examples figcaption { color: var(--ink); }
figcaption .quiet { font-size: inherit; }
.examples img { display: block; width: 100%; height: auto; margin-bottom: .5rem; background: var(--soft); border: 1px solid var(--line); }
.chart rect { shape-rendering: crispEdges; }
.drawn { display: block; overflow: visible; }
.plot { display: block; max-width: 100%; height: auto; overflow: visible; }
.plot + .plot { margin-top: 1.25rem; }
svg text { fill: var(--ink); font-size: 12px; font-family: inherit; }
svg .name { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
svg .tick, svg .guide-name { fill: var(--quiet); font-size: 11px; }
svg .axis-name { fill: var(--quiet); font-size: 12px; font-style: italic; }
.grid { stroke: var(--line); stroke-width: 1; }
.axis { stroke: var(--quiet); stroke-width: 1; }
.whisker { stroke: var(--ink); stroke-width: 1.2; }
.guide { stroke: var(--quiet); stroke-width: 1; stroke-dasharray: 4 4; }
.leader { stroke: var(--quiet); stroke-width: .75; }
.reach { stroke: var(--accent); stroke-width: 1.2; opacity: .55; }
.corner { fill: none; stroke: var(--quiet); stroke-width: 1; }
.point { fill: var(--accent); stroke: var(--paper); stroke-width: 1; }
.mark { stroke: var(--ink); stroke-width: 1; stroke-dasharray: 3 3; }
.line line { stroke-width: 2; stroke-linecap: round; }
.rest line { stroke: var(--grey); stroke-width: 1; }
.band { opacity: .13; }
.s0 line { stroke: var(--s0); } .s1 line { stroke: var(--s1); } .s2 line { stroke: var(--s2); }
.s3 line { stroke: var(--s3); } .s4 line { stroke: var(--s4); } .s5 line { stroke: var(--s5); }
.s0 { fill: var(--s0); } .s1 { fill: var(--s1); } .s2 { fill: var(--s2); } .s3 { fill: var(--s3); } .s4 { fill: var(--s4); } .s5 { fill: var(--s5); }
svg .t0 { fill: var(--s0); } svg .t1 { fill: var(--s1); } svg .t2 { fill: var(--s2); } svg .t3 { fill: var(--s3); } svg .t4 { fill: var(--s4); } svg .t5 { fill: var(--s5); }
.c0 { fill: var(--c0); background: var(--c0); } .c1 { fill: var(--c1); background: var(--c1); } .c2 { fill: var(--c2); background: var(--c2); }
.c3 { fill: var(--c3); background: var(--c3); } .c4 { fill: var(--c4); background: var(--c4); } .c5 { fill: var(--c5); background: var(--c5); }
.c6 { fill: var(--c6); background: var(--c6); } .others { fill: var(--grey); background: var(--grey); }
rect.failed { stroke: var(--ink); stroke-width: 2; }
.swatch.failed { background: var(--paper); border: 2px solid var(--ink); }
.failure { margin: 1.5rem 0 2.5rem; padding-left: 1rem; border-left: 4px solid var(--c4); }
.failure h3 { margin: 0 0 .25rem; }
.failure .message { margin: 0 0 .5rem; font-weight: 600; }
.failure pre { margin: .2rem 0 .8rem; }
.label { margin: .8rem 0 0; color: var(--quiet); font-size: .8125rem; }
ul.items { padding: 0; columns: 18rem; column-gap: 2rem; list-style: none; font-size: .9375rem; }
ul.items li { break-inside: avoid; overflow-wrap: anywhere; }
.index { display: inline-block; min-width: 2.5rem; color: var(--quiet); font-size: .8125rem; }
h3 .quiet { font-weight: 400; }
.legend { margin: .5rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; font-size: .8125rem; }
.swatch { display: inline-block; width: .75rem; height: .75rem; margin-right: .4rem; border-radius: 2px; vertical-align: -.06rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.for-narrow { display: none; }
@media screen and (max-width: 740px) {
  body { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.6rem; }
  .answer { font-size: 1.0625rem; }
  .for-wide { display: none; }
  .for-narrow { display: revert; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  nav { display: none; }
  .wide { overflow: visible; background: none; }
  .heat, .differs, .figures, rect { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  figure, tr, pre { break-inside: avoid; }
  h2, h3, caption { break-after: avoid; }
  thead { display: table-header-group; }
}
";
