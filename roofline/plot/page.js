'use strict';
// Values come as data; this draws the chosen ones. Text is set as text alone, so names are inert.
(() => {
const $ = id => document.getElementById(id), SVG = 'http://www.w3.org/2000/svg';
const put = (made, at, kids) => { for (const [k, v] of Object.entries(at || {})) if (v != null && v !== false) made.setAttribute(k, v); made.append(...kids.filter(x => x != null)); return made; };
const h = (tag, at, ...kids) => put(document.createElement(tag), at, kids);
const s = (tag, at, ...kids) => put(document.createElementNS(SVG, tag), at, kids);

// --- numbers in words, as in roofline/text/numbers.py ---
const PREFIX = { 15: 'P', 12: 'T', 9: 'G', 6: 'M', 3: 'k', 0: '', '-3': 'm', '-6': 'µ', '-9': 'n' };
const known = v => v != null && Number.isFinite(v);
function fixed(v, places) { // halves to the even digit, as Python has it
  const m = Math.abs(v) * 10 ** places, low = Math.floor(m);
  return m - low === 0.5 && low % 2 === 0 ? (Math.sign(v) * low / 10 ** places).toFixed(places) : v.toFixed(places);
}
const powerOf = v => { const e = Math.floor(Math.log10(Math.abs(v)) + 1e-12), d = fixed(Math.abs(v) / 10 ** e, 2); return d >= 10 ? e + 1 : e; };
const power = v => v.toExponential(2).replace(/e([+-])(\d)$/, 'e$10$2');
function si(v, unit = '') {
  if (!known(v)) return '-';
  if (!v) return `0 ${unit}`.trim();
  const e = powerOf(v), step = Math.min(Math.max(Math.floor(e / 3) * 3, -9), 15);
  if (e - step < -4 || e - step > 6) return `${power(v)} ${unit}`.trim();
  return `${fixed(v / 10 ** step, Math.max(2 - (e - step), 0))} ${PREFIX[step]}${unit}`.trim();
}
function plain(v) {
  if (!known(v)) return '-';
  if (!v) return '0';
  const e = powerOf(v);
  return e < -4 || e > 6 ? power(v) : fixed(v, Math.max(2 - e, 0));
}
function percent(v, places = 0) {
  if (!known(v)) return '-';
  const step = 10 ** -places, text = fixed(v, places);
  if (v > 0 && v < step && +text === 0) return `<${step.toFixed(places)} %`;
  if (v < 100 && +text >= 100) return `>${(100 - step).toFixed(places)} %`;
  return `${text} %`;
}
const time = v => si(v, 's'), times = v => known(v) ? (v < 10 ? fixed(v, 2) : plain(v)) + 'x' : '-';
const exact = v => Math.abs(v) >= 1e18 ? power(v) : v.toLocaleString('en-US', { maximumFractionDigits: 2 });
const amount = (v, unit) => unit === '%' ? percent(v) : ['s', 'B', 'B/s', 'Hz', 'FLOP/s'].includes(unit) ? si(v, unit)
  : unit === 'operations' ? si(v, 'OP') : Number.isInteger(v) && !unit.includes('/') ? exact(v) : plain(v);

let D, K, C = [], shown = [];
const S = { view: 'roofline', level: 'dram', mode: 'numbers', device: 0, query: '', precision: '', least: 0, own: true, sheet: true, only: null, sort: 'total', down: true, k: null, hover: null, bounds: new Set(['bandwidth', 'compute', 'latency', 'unknown']) };
const unit = key => (D.units[key] || [key])[0], family = key => (D.units[key] || [0, 'compute'])[1];
const kept = i => i == null ? '' : D.kept[i];
const rateUnit = k => { let best = null; for (const o in k.ops || {}) if (!best || k.ops[o] > k.ops[best]) best = o; return (D.precisions[best || k.dom] || [0, 'FLOP'])[1]; };
const verdict = k => k.limit ? `${k.bound}: ${k.limit}` : k.bound;
const color = k => D.pairs ? k.out === 'unknown' ? 'not' : k.out : k.bound;
const gain = k => k.floor && k.t && k.t / k.floor <= 10 ? k.t / k.floor : null;

// --- where a kernel is in each chart: x, y, and the rates of its own ceilings ---
const SECTOR = 32;
const CHARTS = {
  roofline: {
    x: () => `Arithmetic intensity [FLOP/byte of ${levelName()}]`, y: 'Performance [FLOP/s]',
    at: (k, level) => k.r > 0 ? k.ai && k.ai[level] > 0 ? [k.ai[level], k.r] : k.inf && level === 'dram' ? [Infinity, k.r] : null : null,
    roofs: d => d.roofs, lift: (k, c) => c[2],
  },
  instructions: {
    x: () => `Warp instructions per ${levelName()} transaction of 32 bytes`, y: 'Warp instructions/s',
    at: (k, level) => { const b = k.m && k.m[level + '_bytes'], n = k.c && k.c.instructions; return b > 0 && n > 0 && k.t ? [n / (b / SECTOR), n / k.t] : null; },
    roofs: d => [...d.roofs.filter(r => memory(r)).map(r => ({ ...r, rates: Object.fromEntries(Object.entries(r.rates).map(([a, b]) => [a, b / SECTOR])), unit: ' transactions/s' })),
      ...(d.issue ? [{ key: 'issue', name: 'issue slots', rates: { report: d.issue }, unit: ' instructions/s' }] : [])],
    lift: (k, c) => c[1] > 0 ? 100 * k.c.instructions / k.t / c[1] : null,
  },
  time: {
    x: () => 'Time that the busiest compute unit needs [s]', y: 'Time that the busiest memory unit needs [s]',
    at: k => { const [c, m] = busiest(k); return c > 0 && m > 0 && k.t ? [c * k.t / 100, m * k.t / 100] : null; },
    roofs: () => [], lift: () => null,
  },
};
function busiest(k) { const most = { compute: 0, bandwidth: 0 }; for (const u in k.u || {}) most[family(u)] = Math.max(most[family(u)] || 0, k.u[u]); return [most.compute, most.bandwidth]; }
const memory = r => ['dram', 'l2', 'l1'].includes(r.key), levelName = () => ({ dram: 'DRAM', l2: 'L2', l1: 'L1' })[S.level];
function whyNot(k) {
  if (S.view === 'time') return 'utilisation of compute or memory units not measured';
  if (S.view === 'instructions') return k.c && k.c.instructions ? `${levelName()} bytes not measured` : 'warp instructions not counted';
  return k.why || (S.level === 'dram' ? 'DRAM bytes not measured' : `${levelName()} bytes not measured`);
}

// --- which kernels are shown, in which order ---
function matcher(text) {
  if (!text) return () => true;
  const plainText = text.toLowerCase(), has = v => v.toLowerCase().includes(plainText);
  try { const re = new RegExp(text, 'i'); return v => re.test(v) || has(v); } catch { return has; }
}
function filter() {
  const fits = matcher(S.query), here = K.filter(k => k.d === S.device);
  const rest = here.filter(k => (!S.precision || k.ops && k.ops[S.precision] > 0) && (!S.least || (k.share || 0) >= S.least) && (fits(k.name) || k.full != null && fits(kept(k.full))));
  shown = rest.filter(k => S.bounds.has(k.bound) && (!S.only || k === S.only));
  for (const label of $('bounds').children) label.lastChild.textContent = rest.filter(k => k.bound === label.firstChild.value).length.toLocaleString('en-US');
  const spent = D.places > 1 ? k => k.total || 0 : k => k.share || 0, sums = ks => ks.reduce((t, k) => t + spent(k), 0);
  const sum = D.places > 1 ? sums(shown) / (sums(here) || 1) : sums(shown);
  $('count').textContent = `${shown.length.toLocaleString('en-US')} of ${here.length.toLocaleString('en-US')} kernels` + (here.some(k => k.share != null) ? `, ${percent(100 * sum, 1)} of ${D.places > 1 ? 'their' : 'the'} time` : '');
  columns(); order(); draw();
}
function order() {
  const by = (C.find(c => c.id === S.sort) || C[2]).v;
  shown.sort((a, b) => { const x = by(a), y = by(b); if (x == null || y == null) return (x == null) - (y == null); return (x < y ? -1 : x > y ? 1 : 0) * (S.down ? -1 : 1); });
  if (!shown.includes(S.k)) choose(shown[0] || null, { keep: true });
  table();
}

// --- the table ---
const dot = k => s('svg', { class: 'dot ' + k.bound, viewBox: '-6 -6 12 12', 'aria-hidden': 'true' }, s('path', { class: 'full', d: shape(k.bound, 0, 0, 5) }));
const limited = k => [dot(k), verdict(k) + (k.co ? ', co-limited' : '')];
function bars(k, most) {
  const w = v => Math.max(.3, 100 * v / most), row = (side, y, high) => [s('rect', { class: 'pale', x: 0, y, width: w(side.t || 0), height: high }),
    side.floor != null && side.t ? s('rect', { class: 'full', x: 0, y, width: w(Math.min(side.floor, side.t)), height: high }) : null,
    side.next != null && side.t ? s('rect', { class: 'tick', x: w(Math.min(side.next, side.t)), y: y - 1, width: .5, height: high + 2 }) : null];
  const two = !!k.was;
  return s('svg', { viewBox: '0 0 101 14', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${time(k.t)}, floor ${time(k.floor)}` },
    ...(two ? [s('g', { class: k.was.bound }, ...row(k.was, 1, 5)), s('g', { class: k.bound }, ...row(k, 8, 5))] : [s('g', { class: k.bound }, ...row(k, 2, 10))]));
}
function columns() {
  const most = Math.max(...K.filter(k => k.d === S.device).map(k => Math.max(k.t || 0, k.was && k.was.t || 0)), 1e-30);
  const head = [
    { id: 'rank', name: '#', v: k => k.i, c: k => k.i + 1, up: true },
    { id: 'name', name: 'Kernel', v: k => k.name.toLowerCase(), c: k => k.name, up: true },
    { id: 'total', name: 'Time', v: k => k.total, c: k => time(k.total) + (k.n > 1 && !D.pairs ? ` in ${k.n}` : '') },
    { id: 'share', name: 'Share', v: k => k.share, c: k => percent(known(k.share) ? 100 * k.share : null, 1) },
    { id: 'limit', name: 'Limited by', v: k => verdict(k), c: limited, l: 1, up: true }];
  const most10 = { id: 'gain', name: 'Headroom', v: gain, c: k => gain(k) ? times(gain(k)) : '-' };
  C = {
    numbers: () => [...head, { id: 'conf', name: 'Confidence', v: k => ['low', 'medium', 'high'].indexOf(k.conf), c: k => k.conf, l: 1 },
      { id: 'ai', name: 'FLOP/byte', v: k => k.ai && k.ai.dram, c: k => plain(k.ai && k.ai.dram) },
      { id: 'rate', name: 'Rate', v: k => k.r, c: k => si(k.r, rateUnit(k) + '/s') },
      { id: 'dram', name: 'DRAM', v: k => k.m && k.m.dram_bytes && k.t ? k.m.dram_bytes / k.t : null, c: k => si(k.m && k.m.dram_bytes != null && k.t ? k.m.dram_bytes / k.t : null, 'B/s') }, most10],
    units: () => [...head, ...D.columns.filter(u => K.some(k => (k.u || {})[u] >= 1)).map(u => ({ id: 'u-' + u, name: unit(u), v: k => (k.u || {})[u], c: (k, td) => heat(k, u, td) })), most10],
    gain: () => [...head, { id: 'bars', name: 'Full: busiest unit works, pale: it waits, tick: next floor', v: k => k.t, c: k => [bars(k, most)], l: 1 }, most10],
    pairs: () => [head[0], head[1], { id: 'total', name: 'Change', v: k => Math.abs((k.was.t || 0) - (k.t || 0)), c: k => [h('span', { class: 'word ' + color(k) }, k.how)], l: 1 },
      { id: 'was', name: 'Before', v: k => k.was.t, c: k => time(k.was.t) }, { id: 'now', name: 'After', v: k => k.t, c: k => time(k.t) },
      { id: 'bars', name: 'Before above after', v: k => k.t, c: k => [bars(k, most)], l: 1 },
      { id: 'waslimit', name: 'Limited before', v: k => verdict(k.was), c: k => limited(k.was), l: 1 }, { id: 'limit', name: 'Limited after', v: verdict, c: limited, l: 1 }],
  }[S.mode]();
  const titles = C.map(c => h('th', { scope: 'col', class: c.l && 'l', 'aria-sort': c.id === S.sort ? S.down ? 'descending' : 'ascending' : 'none' }, h('button', { type: 'button', 'data-c': c.id }, c.name)));
  const focus = document.activeElement && document.activeElement.dataset.c;
  $('table').replaceChildren(h('table', { 'aria-label': 'Kernels' }, h('thead', 0, h('tr', 0, ...titles)), h('tbody', { id: 'rows' })));
  if (focus) { const again = $('table').querySelector(`[data-c="${CSS.escape(focus)}"]`); if (again) again.focus(); }
}
function heat(k, u, td) {
  const v = (k.u || {})[u];
  if (!known(v)) { td.title = 'not measured'; return '·'; }
  td.className = `heat ${family(u)}` + (k.near === u ? ' top' + (k.bound === 'latency' ? ' wait' : '') : '');
  td.style.setProperty('--v', Math.min(v, 100));
  return percent(v).replace(' %', '');
}
const HIGH = 28, MANY = 400;
function table() {
  const many = shown.length > MANY && !S.print, n = many ? 40 : Math.min(shown.length, MANY), body = $('rows'), spacer = count => h('tr', { 'aria-hidden': 'true' }, h('td', { colspan: C.length, height: count * HIGH }));
  const first = many ? Math.max(0, Math.min(shown.length - n, Math.floor($('table').scrollTop / HIGH) - 8)) : 0;
  const rows = shown.slice(first, first + n).map(k => h('tr', { 'data-k': k.i, tabindex: 0, 'aria-selected': k === S.k, height: many && HIGH },
    ...C.map(c => { const td = h('td', { class: c.l && 'l' }), made = c.c(k, td); if (c.id === 'name') td.title = kept(k.full) || k.name; td.append(...Array.isArray(made) ? made : [made]); return td; })));
  const said = !shown.length ? 'No kernel fits these filters.' : S.print && n < shown.length ? `and ${(shown.length - n).toLocaleString('en-US')} more` : '';
  if (said) rows.push(h('tr', 0, h('td', { colspan: C.length, class: 'l' }, said)));
  body.replaceChildren(...(many && first ? [spacer(first)] : []), ...rows, ...(many && first + n < shown.length ? [spacer(shown.length - first - n)] : []));
}

// --- the chart ---
let V = null, W = 800, H = 540, points = [], signs = [], drawnAs = ''; // signs: the points, and the small marks of levels and of before
const L = 74, R = 18, T = 16, B = 46, log = Math.log10;
const X = v => L + (log(v) - V.x0) / (V.x1 - V.x0) * (W - L - R), Y = v => H - B - (log(v) - V.y0) / (V.y1 - V.y0) * (H - T - B);
function shape(bound, x, y, r) {
  return bound === 'compute' ? `M${x - r * .89} ${y - r * .89}h${r * 1.78}v${r * 1.78}h${-r * 1.78}Z`
    : bound === 'latency' ? `M${x} ${y - r * 1.2}L${x + r * 1.15} ${y + r * .8}H${x - r * 1.15}Z`
    : bound === 'unknown' ? `M${x} ${y - r * 1.25}L${x + r * 1.25} ${y}L${x} ${y + r * 1.25}L${x - r * 1.25} ${y}Z`
    : `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`;
}
const chart = () => CHARTS[S.view], device = () => D.devices[S.device] || { roofs: [] };
function roofs() {
  return chart().roofs(device()).map(r => ({ ...r, rates: Object.fromEntries(Object.entries(r.rates).filter(([kind]) => S.sheet || kind !== 'datasheet')) })).filter(r => Object.keys(r.rates).length);
}
const main = r => Object.values(r.rates)[0];
function fit() {
  const spots = shown.map(k => chart().at(k, S.level)).filter(Boolean), all = roofs(), mem = all.find(r => r.key === S.level), tops = all.filter(r => !memory(r));
  const xs = spots.map(p => p[0]).filter(Number.isFinite), ys = spots.map(p => p[1]);
  for (const t of tops) { ys.push(...Object.values(t.rates)); if (mem) xs.push(main(t) / main(mem)); }
  if (S.view === 'roofline') for (const k of shown) for (const c of k.own || []) if (c[2] && ys.length) ys.push(Math.min(c[2], Math.max(...ys) * 10));
  if (S.view === 'time') for (const k of shown) if (chart().at(k)) { xs.push(k.t); ys.push(k.t); }
  if (!xs.length) xs.push(1); if (!ys.length) ys.push(1);
  const span = v => { let low = Infinity, high = -Infinity; for (const a of v) { low = Math.min(low, a); high = Math.max(high, a); } return [log(low), log(high)]; };
  const [a, b] = span(xs), [c, d] = span(ys), wide = S.view === 'time' ? 1 : 3;
  V = { x0: Math.min(a - .6, b - wide), x1: b + (S.view === 'time' ? .4 : .9), y0: Math.min(c - .5, d - 2), y1: d + .45 };
}
class Taken { // the boxes of what is drawn, by cells of the chart, so that thousands are cheap
  cells = new Map();
  *over(b) { for (let x = Math.floor((b[0] - 5) / 24); x <= (b[2] + 5) / 24; x++) for (let y = Math.floor((b[1] - 2) / 24); y <= (b[3] + 2) / 24; y++) yield x * 1000 + y; }
  push(...boxes) { for (const b of boxes) for (const cell of this.over(b)) { const had = this.cells.get(cell); if (had) had.push(b); else this.cells.set(cell, [b]); } }
  hits(b) { for (const cell of this.over(b)) if ((this.cells.get(cell) || []).some(o => overlap(b, o))) return true; return false; }
}
const overlap = (a, b) => a[0] < b[2] + 5 && b[0] < a[2] + 5 && a[1] < b[3] + 2 && b[1] < a[3] + 2;
const inside = b => b[0] >= L && b[2] <= W - R && b[1] >= T && b[3] <= H - B;
const pen = document.createElement('canvas').getContext('2d');
const wide = (text, px) => { pen.font = `${px}px system-ui,sans-serif`; return pen.measureText(text).width + 2; };
const cut = (text, n) => text.length > n ? text.slice(0, n >> 1) + '…' + text.slice(1 - (n >> 1)) : text; // both ends tell kernels apart

function draw() {
  const box = $('chart').getBoundingClientRect();
  if (box.width > 50) { W = Math.round(box.width); H = Math.round(Math.max(box.height, 300)); }
  if (drawnAs !== (drawnAs = `${S.view} ${S.level} ${S.device}`) || !V) fit();
  const svg = s('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `${S.view} of ${shown.length} kernels` }), taken = new Taken();
  svg.append(s('clipPath', { id: 'area' }, s('rect', { x: L, y: T, width: W - L - R, height: H - T - B })));
  axes(svg);
  const g = s('g', { 'clip-path': 'url(#area)' }), texts = s('g'), lines = S.view === 'time' ? diagonal(g, texts, taken) : roofLines(g);
  svg.append(g, texts);
  points = [];
  for (const k of [...shown].sort((a, b) => a.i - b.i)) {
    const p = chart().at(k, S.level);
    if (!p) continue;
    const x = p[0] === Infinity ? W - R - 9 : X(p[0]), y = Y(p[1]);
    if (x >= L - 20 && x <= W - R + 20 && y >= T - 20 && y <= H - B + 20) points.push({ k, p, x, y, r: 3.5 + 6 * Math.sqrt(Math.min(k.share || 0, 1)) });
  }
  signs = [...points];
  const canvas = $('chart').querySelector('canvas'), big = points.length > 2000 && !S.print;
  canvas.hidden = !big;
  for (const line of g.querySelectorAll('line')) { const at = ['x1', 'y1', 'x2', 'y2'].map(n => +line.getAttribute(n)); if (at[1] === at[3]) taken.push(at); }
  for (const q of points) taken.push([q.x - q.r, q.y - q.r, q.x + q.r, q.y + q.r], ...caps(q).map(([, e]) => [e[0] - 5, e[1] - 1, e[0] + 5, e[1] + 1]));
  if (big) paint(canvas); else { if (D.pairs) arrows(g, taken); marks(g); }
  for (const line of lines) roofLabel(texts, line, taken);
  if (S.k) chosen(g, texts, taken);
  labels(g, texts, taken);
  if (!points.length) texts.append(s('text', { x: (W + L) / 2, y: H / 2, 'text-anchor': 'middle', class: 'name' }, shown.length ? `No kernel is on this chart: ${whyNot(shown[0])}. The table has them.` : 'No kernel fits these filters.'));
  const old = $('chart').querySelector('svg');
  if (old) old.replaceWith(svg); else $('chart').append(svg);
}
function axes(svg) {
  const decades = (low, high) => { const all = []; for (let e = Math.ceil(low); e <= high; e++) all.push(e); return all; };
  const tick = v => { const e = Math.round(log(v)); return S.view === 'time' || Math.abs(e) > 3 ? si(v, S.view === 'time' ? 's' : '') : e < 0 ? v.toFixed(-e) : String(Math.round(v)); };
  for (const [low, high, flat] of [[V.x0, V.x1, false], [V.y0, V.y1, true]]) {
    const line = (v, cls) => flat ? s('line', { class: cls, x1: L, x2: W - R, y1: Y(v), y2: Y(v) }) : s('line', { class: cls, y1: T, y2: H - B, x1: X(v), x2: X(v) });
    const all = decades(low, high), every = Math.ceil(all.length / 10);
    if (all.length < 12) for (let e = Math.floor(low); e <= high; e++) for (let d = 2; d < 10; d++) { const l = e + log(d); if (l > low && l < high) svg.append(line(10 ** l, 'minor')); }
    for (const [i, e] of all.entries()) {
      const v = 10 ** e;
      svg.append(line(v, 'grid'));
      if (i % every === 0) svg.append(flat ? s('text', { x: L - 6, y: Y(v) + 4, 'text-anchor': 'end' }, si(v, S.view === 'time' ? 's' : '').replace(/(\d)\.0+(?= |$)/, '$1')) : s('text', { x: X(v), y: H - B + 15, 'text-anchor': 'middle' }, tick(v).replace(/(\d)\.0+(?= |$)/, '$1')));
    }
  }
  svg.append(s('rect', { class: 'frame', x: L, y: T, width: W - L - R, height: H - T - B }),
    s('text', { x: (L + W - R) / 2, y: H - 10, 'text-anchor': 'middle' }, chart().x()),
    s('text', { transform: `translate(14 ${(H - B + T) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, chart().y));
}
function diagonal(g, texts, taken) {
  const low = Math.max(V.x0, V.y0), high = Math.min(V.x1, V.y1);
  if (low < high) {
    g.append(s('line', { class: 'roof', x1: X(10 ** low), y1: Y(10 ** low), x2: X(10 ** high), y2: Y(10 ** high) }));
    for (const [text, at, dx, dy] of [['memory needs longer', .5, -70, -60], ['compute needs longer', .5, 70, 60]]) {
      const e = low + (high - low) * at, x = X(10 ** e) + dx, y = Y(10 ** e) + dy, w = wide(text, 11) / 2, b = [x - w, y - 11, x + w, y + 3];
      if (inside(b)) { texts.append(s('text', { class: 'halo', x, y, 'text-anchor': 'middle' }, text)); taken.push(b); }
    }
  }
  return [];
}
function roofLines(g) {
  const all = roofs(), lines = [], show = all.filter(r => !memory(r) || r.key === S.level || S.k && S.view === 'roofline' && chart().at(S.k, r.key)), mem = all.find(r => r.key === S.level), tops = all.filter(r => !memory(r));
  const any = (list, kind) => { const same = list.map(r => r.rates[kind]).filter(Boolean); return Math.max(...same.length ? same : list.flatMap(r => Object.values(r.rates)), 0); };
  for (const r of show) for (const [kind, rate] of Object.entries(r.rates).slice(0, memory(r) && r.key !== S.level ? 1 : 9)) {
    const bounds = memory(r) ? any(tops, kind) : mem ? any([mem], kind) : 0;
    const left = 10 ** V.x0, right = 10 ** V.x1, ends = memory(r) ? [left, bounds ? Math.min(right, bounds / rate) : right] : [bounds ? Math.max(left, rate / bounds) : left, right];
    if (ends[0] >= ends[1]) continue;
    const at = ends.map(v => [X(v), Y(memory(r) ? v * rate : rate)]), strong = kind === 'report' && (!memory(r) || r.key === S.level);
    g.append(s('line', { class: kind === 'report' ? strong ? 'roof' : 'thin' : kind, 'data-roof': `${r.key} ${kind}`, x1: at[0][0], y1: at[0][1], x2: at[1][0], y2: at[1][1] }));
    if (kind === Object.keys(r.rates)[0]) lines.push({ r, kind, rate, at, bounds });
  }
  if (S.view === 'instructions' && S.level === 'l1') for (const [v, text] of [[1 / 32, '32 transactions each'], [1 / 4, 'coalesced, 4 bytes a thread'], [1, 'one transaction']]) if (log(v) > V.x0 && log(v) < V.x1)
    lines.push({ wall: text, at: [[X(v), H - B], [X(v), T]] }), g.append(s('line', { class: 'wall', x1: X(v), x2: X(v), y1: T, y2: H - B }));
  return lines.sort((a, b) => !!a.wall - !!b.wall || memory(a.r || {}) - memory(b.r || {}));
}
function roofLabel(texts, line, taken) {
  const { r, at, rate, bounds } = line, say = (v, kind) => r.unit ? si(v, r.unit) : memory(r) ? si(v, 'B/s') : si(v, (D.precisions[r.key] || [0, 'FLOP'])[1] + '/s');
  if (line.wall) return place(texts, line.wall, [T + 12, T + 26, T + 40].flatMap(y => [[at[0][0] + 5, y, 'start'], [at[0][0] - 5, y, 'end']]), 11, '', taken, false);
  const others = Object.entries(r.rates).slice(1).map(([kind, v]) => r.how && r.how[kind] ? `${say(v)} ${r.how[kind]}` : `${kind} ${say(v)}`);
  const first = (line.kind === 'report' ? '' : line.kind + ' ') + (r.how && r.how[line.kind] ? `${say(rate)} ${r.how[line.kind]}` : say(rate)), short = `${r.name} ${first}`, long = others.length ? `${short} (${others.join(', ')})` : short;
  const clip = at.map(p => p), dx = clip[1][0] - clip[0][0], dy = clip[1][1] - clip[0][1], len = Math.hypot(dx, dy), c = dx / len, n = dy / len;
  for (const text of [long, short]) for (const lift of [7, 14, -16]) for (let f = 0; f < 30; f++) {
    const w = wide(text, 11), from = memory(r) ? 24 + f * 18 : len - w - 6 - f * 18;
    if (from + w > len || from < 0 && memory(r)) continue;
    const x = clip[0][0] + from * c + lift * n, y = clip[0][1] + from * n - lift * c, boxes = [];
    for (let a = 0; a <= w; a += n ? 5 : w) { const px = x + a * c, py = y + a * n; boxes.push(n ? [px - 5, py - 11, px + 6, py + 2] : [x, y - 10, x + w, y + 3]); }
    if (!boxes.every(inside) || boxes.some(b => taken.hits(b))) continue;
    taken.push(...boxes);
    texts.append(s('text', { class: 'label halo', transform: `translate(${x} ${y}) rotate(${Math.atan2(dy, dx) * 180 / Math.PI})` }, text));
    if (!memory(r) && bounds && S.view === 'roofline' && at[0][0] > L + 1) place(texts, `ridge ${plain(rate / bounds)}`, [[at[0][0] - 6, at[0][1] - 5, 'end'], [at[0][0], at[0][1] - 6, 'start'], [at[0][0] + 4, at[0][1] + 14, 'start']], 11, '', taken, false);
    return;
  }
}
// A line from a mark to its name leads through no other mark: it would seem to be of that one.
function crosses(mark, dx, dy) {
  return points.some(q => {
    const x = q.x - mark.x, y = q.y - mark.y, part = Math.min(1, Math.max(0, (x * dx + y * dy) / (dx * dx + dy * dy)));
    return Math.hypot(x, y) > q.r + mark.r && Math.hypot(part * dx - x, part * dy - y) < q.r + 1;
  });
}
// A name is of the mark that it is nearest to; only a line may say otherwise, where there is no room.
function isNearest(b, mark) {
  const gap = q => Math.hypot(q.x - Math.min(Math.max(q.x, b[0]), b[2]), q.y - Math.min(Math.max(q.y, b[1]), b[3])) - q.r, own = gap(mark) + 2;
  return !signs.some(q => q.k !== mark.k && gap(q) < own);
}
function place(texts, text, spots, px, cls, taken, mark, strict) {
  const w = wide(text, px);
  for (const [x, y, side] of spots) {
    const x0 = side === 'end' ? x - w : side === 'middle' ? x - w / 2 : x, b = [x0, y - px + 1, x0 + w, y + 3];
    if (!inside(b) || taken.hits(b)) continue;
    const led = mark && Math.hypot(x - mark.x, y - mark.y) > mark.r + 22;
    if (mark && (strict || !led) && !isNearest(b, mark)) continue;
    if (led) {
      const x2 = Math.min(Math.max(mark.x, b[0]), b[2]), y2 = Math.min(Math.max(mark.y, b[1]), b[3]);
      if (crosses(mark, x2 - mark.x, y2 - mark.y)) continue;
      texts.append(s('line', { class: 'lead', x1: mark.x, y1: mark.y, x2, y2 }));
    }
    taken.push(b);
    texts.append(s('text', { class: `label halo ${cls}`, x, y, 'text-anchor': side, 'data-of': mark && mark.k.i }, text));
    return true;
  }
  return false;
}
// A kernel's own ceiling: where it would be with that unit busy all the time.
function ends(q, c) {
  if (S.view === 'time') { const f = q.k.t / Math.max(...q.p); return f > 1 ? [X(q.p[0] * f), Y(q.p[1] * f)] : null; }
  const top = chart().lift(q.k, c);
  return top > 0 ? [q.x, Math.max(Y(top), T)] : null;
}
function caps(q) { // those that are drawn, each with its end
  if (!S.own || points.length > 400 && q.k !== S.k) return [];
  return (S.view === 'time' ? [[q.k.near, 0, 0, q.k.bound]] : q.k.own || []).map(c => [c, ends(q, c)]).filter(([, e]) => e);
}
function marks(g) {
  for (const q of points) {
    const k = q.k, cls = color(k), one = s('g', { class: k.bound === 'latency' && !D.pairs ? cls + ' wait' : cls, 'data-k': k.i });
    if (k.spread && S.view === 'roofline') one.append(s('line', { class: 'spread', x1: q.x, x2: q.x, y1: Y(k.spread[0]), y2: Y(k.spread[1]) }));
    for (const [c, e] of caps(q)) {
      one.append(s('g', D.pairs ? {} : { class: c[3] }, s('line', { class: 'stem', x1: q.x, y1: q.y, x2: e[0], y2: e[1] }), s('line', { class: 'cap', 'data-own': c[0], x1: e[0] - 7, x2: e[0] + 7, y1: e[1], y2: e[1] })));
    }
    one.append(s('path', { class: k.conf === 'low' ? 'hollow' : 'mark', d: shape(k.bound, q.x, q.y, q.r) }));
    g.append(one);
  }
}
function arrows(g, taken) {
  for (const q of points) {
    const p = q.k.was && chart().at({ ...q.k.was, m: null, c: null }, S.level);
    if (!p || p[0] === Infinity) continue;
    const x = X(p[0]), y = Y(p[1]), far = Math.hypot(q.x - x, q.y - y), moved = q.k.out === 'faster' || q.k.out === 'slower', one = s('g', { class: color(q.k), 'data-was': q.k.i });
    if (moved && far > q.r + 8) {
      const a = Math.atan2(q.y - y, q.x - x), tx = q.x - Math.cos(a) * q.r, ty = q.y - Math.sin(a) * q.r, wing = d => `${tx - 8 * Math.cos(a + d)} ${ty - 8 * Math.sin(a + d)}`;
      one.append(s('line', { class: 'arrow', x1: x, y1: y, x2: tx, y2: ty }), s('path', { class: 'head', d: `M${tx} ${ty}L${wing(.4)}L${wing(-.4)}Z` }));
    }
    if (moved) { signs.push({ k: q.k, x, y, r: 4.5 }); one.append(s('path', { class: 'hollow', d: shape(q.k.was.bound, x, y, 4.5) })); }
    if (moved) for (let f = 0; f < far; f += 8) taken.push([x + (q.x - x) * f / far - 4, y + (q.y - y) * f / far - 4, x + (q.x - x) * f / far + 4, y + (q.y - y) * f / far + 4]);
    g.append(one);
  }
}
function paint(canvas) {
  const dense = window.devicePixelRatio || 1, c = canvas.getContext('2d'), style = getComputedStyle(document.documentElement), colors = {};
  canvas.width = W * dense; canvas.height = H * dense; c.setTransform(dense, 0, 0, dense, 0, 0); c.clearRect(0, 0, W, H);
  c.beginPath(); c.rect(L, T, W - L - R, H - T - B); c.clip();
  for (const name of ['bandwidth', 'compute', 'latency', 'unknown', 'faster', 'slower', 'muted', 'background']) colors[name] = style.getPropertyValue('--' + name).trim();
  c.strokeStyle = colors.background; c.lineWidth = .7;
  for (let i = points.length; i--;) { const q = points[i], p = new Path2D(shape(q.k.bound, q.x, q.y, q.r)); c.fillStyle = colors[color(q.k)] || colors.muted; c.fill(p); c.stroke(p); }
}
function chosen(g, texts, taken) {
  const q = points.find(p => p.k === S.k);
  if (!q) return;
  g.append(s('circle', { class: 'chosen', cx: q.x, cy: q.y, r: q.r + 5 }));
  const small = (p, text) => { if (!p || p[0] === Infinity) return; const x = X(p[0]), y = Y(p[1]); g.append(s('path', { class: 'hollow ' + color(q.k), 'data-level': text, d: shape(q.k.bound, x, y, 4) })); taken.push([x - 4, y - 4, x + 4, y + 4]); signs.push({ k: q.k, x, y, r: 4 }); place(texts, text, [[x, y - 8, 'middle'], [x, y + 16, 'middle'], [x - 8, y + 4, 'end'], [x + 8, y + 4, 'start']], 11, '', taken, { k: q.k, x, y, r: 4 }); };
  if (S.view === 'roofline' && !D.pairs) for (const [level, text] of [['l2', 'L2'], ['l1', 'L1'], ['dram', 'DRAM']]) if (level !== S.level) small(chart().at(q.k, level), text);
  const c = q.k.c || {};
  if (S.view === 'instructions' && S.level === 'l1' && q.k.t) for (const [n, of, text] of [[c.global_requests, c.global_sectors, 'global'], [c.shared_requests, c.shared_wavefronts, 'shared']]) if (n > 0 && of > 0) small([n / of, n / q.k.t], text);
}
function labels(g, texts, taken) {
  const many = points.length > 10;
  let left = many ? 40 : 12;
  for (const q of [...points].sort((a, b) => (b.k === S.k) - (a.k === S.k) || a.k.i - b.k.i)) {
    if (left-- <= 0) break;
    const near = r => [0, 45, -45, 90, -90, 135, -135, 180].map(deg => { const a = deg * Math.PI / 180, x = q.x + r * Math.cos(a), y = q.y - r * Math.sin(a); return [x, y + 4, Math.abs(deg) === 90 ? 'middle' : Math.abs(deg) > 90 ? 'end' : 'start']; });
    const spots = [q.r + 6, q.r + 16, q.r + 32, q.r + 54].flatMap(near);
    const forms = many && q.k !== S.k ? [String(q.k.i + 1)] : [cut(q.k.name, 30), cut(q.k.name, 16), String(q.k.i + 1)];
    for (const [c, e] of !many && S.view === 'roofline' ? caps(q) : []) place(texts, `${unit(c[0])} ${percent(c[1])}`, [[e[0] + 10, e[1] + 4, 'start'], [e[0] - 10, e[1] + 4, 'end'], [e[0], e[1] - 7, 'middle'], [e[0] + 10, e[1] - 9, 'start'], [e[0] - 10, e[1] - 9, 'end'], [e[0], e[1] - 21, 'middle'], [e[0] + 10, e[1] - 23, 'start'], [e[0] - 10, e[1] - 23, 'end']], 11, `own ${D.pairs ? color(q.k) : c[3]}`, taken, null);
    for (const strict of [true, false]) if (forms.some(text => place(texts, text, spots, 12, 'name', taken, q, strict))) break;
  }
}

// --- what is said of a kernel ---
function tip(q, x, y) {
  const t = $('tip'); t.hidden = !q;
  if (!q) return;
  const k = q.k, level = levelName(), lines = [k.name, time(k.total) + (k.n > 1 && !D.pairs ? ` in ${k.n} launches` : '') + (known(k.share) ? `, ${percent(100 * k.share, 1)} of the time` : ''), `${verdict(k)} (confidence ${k.conf})`];
  if (S.view === 'time') lines.push(`compute needs ${time(q.p[0])}, memory ${time(q.p[1])}, it took ${time(k.t)}`);
  else lines.push(`${si(q.p[1], S.view === 'roofline' ? rateUnit(k) + '/s' : ' instructions/s')} at ${q.p[0] === Infinity ? 'no DRAM byte' : `${plain(q.p[0])} per ${S.view === 'roofline' ? `byte of ${level}` : `${level} transaction`}`}`);
  const roof = k.dom && k.roof && k.roof[k.dom];
  if (known(roof)) lines.push(`${percent(roof)} of the ${D.precisions[k.dom][0]} roof` + (k.u && known(k.u.dram) ? `, DRAM ${percent(k.u.dram)}` : ''));
  if (D.pairs) lines.push(k.how);
  t.textContent = lines.join('\n');
  const w = t.offsetWidth, high = t.offsetHeight, left = q.x + q.r + 14 + w < W ? q.x + q.r + 14 : q.x - q.r - 14 - w;
  t.style.left = Math.max(2, left) + 'px'; t.style.top = Math.min(Math.max(4, q.y - high - 10), H - high - 4) + 'px';
}
function meter(label, v, cls, was) {
  const w = Math.min(Math.max(v || 0, 0), 100), b = known(was) ? Math.min(Math.max(was, 0), 100) : null;
  return h('div', { class: 'bar' }, h('span', 0, label), s('svg', { viewBox: '0 0 104 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' }, s('rect', { class: 'back', width: 100, height: 10 }),
    ...(b == null ? [s('rect', { class: 'full ' + cls, width: w, height: 10 })] : [s('rect', { class: 'pale ' + cls, x: Math.min(w, b), y: 3, width: Math.abs(w - b), height: 4 }), s('rect', { class: 'hollow ' + cls, x: b, y: 1, width: 1.6, height: 8 }), s('rect', { class: 'full ' + cls, x: w, width: 2.4, height: 10 })]),
    cls.includes('stall') ? null : s('line', { class: 'limit', x1: D.rule.latency, x2: D.rule.latency, y1: 0, y2: 10 })), h('span', 0, b == null ? percent(v) : `${percent(was)} → ${percent(v)}`));
}
function numbersOf(k) {
  const from = Object.fromEntries(kept(k.from) || []), found = [];
  for (const [key, [label, u, origin]] of Object.entries(D.quantities)) if (k.m && known(k.m[key])) found.push([label, amount(k.m[key], u), from[origin] || '']);
  for (const [key, v] of Object.entries(k.ops || {})) found.push([`${(D.precisions[key] || [key])[0]} operations`, exact(v), from['operations.' + key] || (key.startsWith('tensor') && from['operations.tensor']) || '']);
  return found;
}
function peak(k, [label, key, unit, kinds]) {
  const reached = k.roof && known(k.roof[key]) ? percent(k.roof[key]) + ' of ' : k.m && known(k.m[key]) ? si(k.m[key], unit) + ' of ' : '';
  return [label, reached + kinds.map(([kind, rate]) => `${kind} ${si(rate, unit)}`).join(', ')];
}
function unitsOf(k) {
  const all = new Set([...Object.keys(k.u || {}), ...Object.keys(k.was && k.was.u || {})]), v = u => Math.max((k.u || {})[u] || 0, k.was && k.was.u && k.was.u[u] || 0);
  return [...all].filter(u => v(u) >= .1).sort((a, b) => v(b) - v(a));
}
const title = k => [`${time(k.total)}` + (k.n > 1 ? D.pairs ? ` (${k.per === 'total' ? 'sum' : 'mean'} of ${k.n} launches)` : ` in ${k.n} launches` : '') + (known(k.share) ? `, ${percent(100 * k.share, 1)} of the time` : ''), kept(k.geo) && `grid / block ${kept(k.geo)}`, `confidence ${k.conf}`].filter(Boolean).join('; ');
function evidence() {
  const k = S.k, at = $('evidence'), metrics = k && Object.fromEntries(kept(k.uses) || []);
  if (!k) { at.replaceChildren(h('p', 0, 'No kernel fits these filters.')); return; }
  const parts = [h('h2', 0, `${k.i + 1}  ${k.name}`), k.full != null ? h('p', { class: 'origin' }, kept(k.full)) : null, h('p', 0, title(k)),
    h('p', 0, dot(k), h('b', { class: 'word ' + k.bound }, verdict(k) + (k.co ? ', co-limited' : '')), ' ', h('button', { type: 'button', id: 'copy' }, 'Copy as Markdown'), ' ', h('button', { type: 'button', id: 'only', 'aria-pressed': String(S.only === k) }, 'Only this'))];
  if (D.pairs) parts.push(h('p', 0, h('b', { class: 'word ' + color(k) }, k.how)), pairBars(k));
  if (!chart().at(k, S.level)) parts.push(h('p', { class: 'origin' }, `Not on this chart: ${whyNot(k)}.`));
  for (const [heading, kind, lines] of k.e.map(kept)) {
    parts.push(h('h3', 0, heading));
    if (kind === 'ol' || kind === 'ul') parts.push(h(kind, 0, ...lines.map(x => h('li', 0, x))));
    else if (kind === 'units') parts.push(...unitsOf(k).map(u => { const one = meter(unit(u), (k.u || {})[u], family(u), k.was ? (k.was.u || {})[u] : null); one.title = metrics[u] || ''; return one; }));
    else if (kind === 'bars') parts.push(...lines.map(([label, v]) => meter(label, v, 'not stall')));
    else if (kind === 'numbers') parts.push(...numbersOf(k).map(([a, b, c]) => h('div', { class: 'bar two' }, h('span', 0, a), h('span', 0, b, ' ', h('span', { class: 'origin' }, c)))));
    else if (kind === 'peaks') parts.push(...lines.map(x => peak(k, x)).map(([a, b]) => h('div', { class: 'bar two' }, h('span', 0, a), h('span', 0, b))));
    else if (kind === 'code') parts.push(...lines.map(([part, wait, where, sass, source]) => h('p', 0, h('b', 0, part), ` ${[where, wait && 'waits for ' + wait].filter(Boolean).join('; ')}`, h('br'), h('code', 0, sass), ...(source ? [h('br'), h('code', { class: 'origin' }, source)] : []))));
    else parts.push(...lines.map(x => h('p', 0, x)));
  }
  at.replaceChildren(...parts.filter(Boolean)); at.scrollTop = 0;
  $('copy').onclick = copy; $('only').onclick = () => { S.only = S.only ? null : k; filter(); evidence(); $('only').focus(); };
}
function pairBars(k) {
  const most = Math.max(k.t || 0, k.was.t || 0, 1e-30);
  const line = (name, side) => h('div', { class: 'bar' }, h('span', 0, name), bars({ t: side.t, floor: side.floor, next: side.next, bound: side.bound }, most), h('span', 0, time(side.t)));
  return h('div', 0, line('before', k.was), h('p', { class: 'origin' }, `${verdict(k.was)}; floor ${time(k.was.floor)}`), line('after', k), h('p', { class: 'origin' }, `${verdict(k)}; floor ${time(k.floor)}`));
}
function markdown(k) {
  const clean = t => String(t).replace(/[\\`*_{}[\]<>#|]/g, '\\$&'), out = [`### ${clean(k.name)}`, '', clean(title(k)), '', `**${clean(verdict(k))}**`, ''];
  for (const [heading, kind, lines] of k.e.map(kept)) {
    out.push(`#### ${heading}`, '');
    if (kind === 'units') out.push(...unitsOf(k).map(u => `- ${unit(u)}: ${k.was ? percent((k.was.u || {})[u]) + ' -> ' : ''}${percent((k.u || {})[u])}`));
    else if (kind === 'bars') out.push(...lines.map(([a, v]) => `- ${clean(a)}: ${percent(v)}`));
    else if (kind === 'numbers') out.push(...numbersOf(k).map(([a, b]) => `- ${a}: ${b}`));
    else if (kind === 'peaks') out.push(...lines.map(x => peak(k, x)).map(([a, b]) => `- ${clean(a)}: ${clean(b)}`));
    else if (kind === 'code') out.push(...lines.map(x => `- ${x.filter(Boolean).map(clean).join('; ')}`));
    else out.push(...lines.map((x, i) => kind === 'ol' ? `${i + 1}. ${clean(x)}` : `- ${clean(x)}`));
    out.push('');
  }
  return out.join('\n');
}
async function copy() {
  const text = markdown(S.k);
  try { await navigator.clipboard.writeText(text); } catch { const area = h('textarea'); area.value = text; document.body.append(area); area.select(); document.execCommand('copy'); area.remove(); }
  $('copy').textContent = 'Copied'; $('copy').dataset.text = text;
}
function choose(k, { keep = false, scroll = false } = {}) {
  S.k = k; evidence();
  for (const row of document.querySelectorAll('#rows tr[aria-selected=true]')) row.setAttribute('aria-selected', 'false');
  if (!k || keep) return;
  const at = shown.indexOf(k);
  if (scroll && shown.length > MANY && at >= 0) { $('table').scrollTop = at * HIGH - 120; table(); }
  const row = document.querySelector(`#rows tr[data-k="${k.i}"]`);
  if (row) { row.setAttribute('aria-selected', 'true'); if (scroll) row.scrollIntoView({ block: 'nearest' }); }
  try { history.replaceState(null, '', '#k=' + (k.i + 1)); } catch { /* a frame without an address */ }
  draw();
}
function linked() {
  const rank = /[#&]k=(\d+)/.exec(location.hash), k = rank && K[rank[1] - 1];
  if (!k) return;
  if (k.d !== S.device || S.only) { $('device').value = S.device = k.d; V = S.only = null; filter(); }
  if (shown.includes(k)) choose(k, { scroll: true });
}
async function png() {
  const copyOf = $('chart').querySelector('svg').cloneNode(true), scale = 2, style = s('style');
  style.textContent = document.querySelector('style').textContent;
  copyOf.prepend(s('rect', { width: W, height: H, fill: getComputedStyle(document.body).backgroundColor })); copyOf.prepend(style);
  put(copyOf, { xmlns: SVG, width: W * scale, height: H * scale, 'data-theme': dark() ? 'dark' : 'light' }, []);
  const image = new Image();
  image.src = 'data:image/svg+xml,' + encodeURIComponent(new XMLSerializer().serializeToString(copyOf));
  await image.decode();
  const out = h('canvas', { width: W * scale, height: H * scale }), c = out.getContext('2d'), layer = $('chart').querySelector('canvas');
  c.drawImage(image, 0, 0);
  if (!layer.hidden) c.drawImage(layer, 0, 0, W * scale, H * scale);
  out.toBlob(blob => { const a = h('a', { href: URL.createObjectURL(blob), download: 'roofline.png' }); a.click(); setTimeout(() => URL.revokeObjectURL(a.href), 5000); });
}
const dark = () => { const set = document.documentElement.dataset.theme; return set ? set === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches; };

// --- what the reader does ---
let waiting = false;
const later = () => { if (!waiting) { waiting = true; requestAnimationFrame(() => { waiting = false; draw(); }); } };
function zoom(f, x = (L + W - R) / 2, y = (T + H - B) / 2) {
  const u = (x - L) / (W - L - R), v = (H - B - y) / (H - T - B), cx = V.x0 + u * (V.x1 - V.x0), cy = V.y0 + v * (V.y1 - V.y0);
  const wide_ = Math.min(Math.max((V.x1 - V.x0) * f, .05), 40), high = Math.min(Math.max((V.y1 - V.y0) * f, .05), 40);
  V = { x0: cx - u * wide_, x1: cx + (1 - u) * wide_, y0: cy - v * high, y1: cy + (1 - v) * high }; later();
}
function pan(dx, dy) { const x = dx / (W - L - R) * (V.x1 - V.x0), y = dy / (H - T - B) * (V.y1 - V.y0); V = { x0: V.x0 - x, x1: V.x1 - x, y0: V.y0 + y, y1: V.y1 + y }; later(); }
function nearest(x, y) { let best = null, least = 18; for (const q of points) { const d = Math.hypot(q.x - x, q.y - y) - q.r / 2; if (d < least) { least = d; best = q; } } return best; }
function listen() {
  const on = (id, event, act) => $(id).addEventListener(event, act), field = (id, key, again) => on(id, id === 'query' ? 'input' : 'change', e => { S[key] = e.target.type === 'checkbox' ? e.target.checked : e.target.value; again(); });
  field('view', 'view', () => { $('level').disabled = S.view === 'time'; draw(); evidence(); }); field('level', 'level', () => { draw(); evidence(); });
  field('mode', 'mode', () => { S.sort = 'total'; S.down = true; columns(); order(); }); field('query', 'query', filter); field('precision', 'precision', filter);
  field('own', 'own', draw); field('sheet', 'sheet', draw);
  on('device', 'change', e => { S.device = +e.target.value; V = S.k = S.only = null; filter(); });
  on('share', 'input', e => { S.least = (e.target.value / 100) ** 3 * .5; $('least').textContent = S.least ? `≥ ${percent(100 * S.least, S.least < .001 ? 3 : 1)}` : 'all'; filter(); });
  on('bounds', 'change', e => { S.bounds[e.target.checked ? 'add' : 'delete'](e.target.value); filter(); });
  on('fit', 'click', () => { fit(); draw(); }); on('png', 'click', png);
  on('theme', 'click', () => { document.documentElement.dataset.theme = dark() ? 'light' : 'dark'; draw(); });
  on('table', 'scroll', () => { if (shown.length > MANY) table(); });
  on('table', 'click', e => {
    const c = e.target.closest('[data-c]'), row = e.target.closest('tr[data-k]');
    if (c) { const column = C.find(x => x.id === c.dataset.c); S.down = S.sort === column.id ? !S.down : !column.up; S.sort = column.id; columns(); order(); }
    else if (row) choose(K[row.dataset.k]);
  });
  on('table', 'keydown', e => {
    const row = e.target.closest('tr[data-k]'); if (!row) return;
    const next = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[e.key];
    if (e.key === 'Enter' || e.key === ' ') choose(K[row.dataset.k]); else if (next && next.dataset.k) next.focus(); else return;
    e.preventDefault();
  });
  on('chart', 'keydown', e => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[e.key], on_ = shown.filter(k => chart().at(k, S.level));
    if (step && on_.length) choose(on_[(on_.indexOf(S.k) + step + on_.length) % on_.length], { scroll: true });
    else if (e.key === '+' || e.key === '=') zoom(1 / 1.4); else if (e.key === '-') zoom(1.4); else if (e.key === '0') { fit(); draw(); } else if (e.key === 'Escape') tip(null); else return;
    e.preventDefault();
  });
  const fingers = new Map(); let from = null;
  const spot = e => { const b = $('chart').getBoundingClientRect(); return [e.clientX - b.left, e.clientY - b.top]; };
  on('chart', 'wheel', e => { e.preventDefault(); zoom(Math.exp(e.deltaY * .0015), ...spot(e)); });
  on('chart', 'pointerdown', e => { fingers.set(e.pointerId, spot(e)); from = spot(e); });
  on('chart', 'pointermove', e => {
    const now = spot(e), old = fingers.get(e.pointerId);
    if (!old) { const q = nearest(...now); tip(q); $('chart').style.cursor = q ? 'pointer' : ''; return; }
    if (fingers.size === 2) { const other = [...fingers].find(([id]) => id !== e.pointerId)[1], gap = p => Math.max(Math.hypot(p[0] - other[0], p[1] - other[1]), 1); zoom(gap(old) / gap(now), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2); } else pan(now[0] - old[0], now[1] - old[1]);
    fingers.set(e.pointerId, now);
  });
  for (const event of ['pointerup', 'pointercancel', 'pointerleave']) on('chart', event, e => {
    if (event === 'pointerup' && from) { const p = spot(e), q = nearest(...p); if (q && Math.hypot(p[0] - from[0], p[1] - from[1]) < 5) choose(q.k, { scroll: true }); }
    fingers.delete(e.pointerId); from = null; if (event === 'pointerleave') tip(null);
  });
  on('chart', 'dblclick', () => { fit(); draw(); });
  new ResizeObserver(() => { if (!S.print) later(); }).observe($('chart'));
  addEventListener('hashchange', linked);
  for (const event of ['beforeprint', 'afterprint']) addEventListener(event, () => { S.print = event === 'beforeprint'; draw(); table(); });
}
async function boot() {
  D = JSON.parse(await unpacked('data'));
  K = D.kernels; K.forEach((k, i) => { k.i = i; });
  $('device').append(...D.devices.map((d, i) => h('option', { value: i }, `${d.name} (${K.filter(k => k.d === i).length})`)));
  $('bounds').append(...[...S.bounds].map(b => h('label', 0, h('input', { type: 'checkbox', checked: '', value: b }), dot({ bound: b }), b + ' ', h('span', 0))));
  const used = new Set(K.flatMap(k => Object.keys(k.ops || {}).filter(o => k.ops[o] > 0)));
  $('precision').append(h('option', { value: '' }, 'any'), ...Object.keys(D.precisions).filter(p => used.has(p)).map(p => h('option', { value: p }, D.precisions[p][0])));
  if (D.pairs) { $('mode').append(h('option', { value: 'pairs' }, 'before and after')); $('mode').value = S.mode = 'pairs'; }
  // Where no roofline can hold a kernel, what can is shown first.
  if (!K.some(k => CHARTS.roofline.at(k, 'dram'))) { for (const view of ['instructions', 'time']) if (K.some(k => CHARTS[view].at(k, 'dram'))) { S.view = $('view').value = view; break; } if (!D.pairs) S.mode = $('mode').value = 'units'; }
  $('bar').hidden = $('two').hidden = false;
  listen(); filter(); linked();
  document.documentElement.dataset.ready = 'yes';
}
boot();
})();
