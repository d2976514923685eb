'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const one = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const talk = one('#talk');
  const bar = one('#bar');

  // Light and dark.
  const prefers = matchMedia('(prefers-color-scheme: dark)');
  const stored = (value) => {
    try {
      return value ? localStorage.setItem('copyist-theme', value) : localStorage.getItem('copyist-theme');
    } catch {
      return null;
    }
  };
  const theme = (value) => {
    root.dataset.theme = value;
    stored(value);
  };
  if (['light', 'dark'].includes(stored())) root.dataset.theme = stored();
  const isDark = () => (root.dataset.theme || (prefers.matches ? 'dark' : 'light')) === 'dark';

  // Branches: the way to the end of one, or all of them.
  const links = all('#branches [data-branch]');
  const placed = all('[data-b]', talk);
  const known = new Map(links.map((link) => [link.dataset.branch, link.dataset]));
  const wayTo = (branch) => {
    const way = new Map([[branch, Infinity]]);
    let here = known.get(branch);
    while (here && here.parent !== undefined && !way.has(here.parent)) {
      way.set(here.parent, Number(here.fork));
      here = known.get(here.parent);
    }
    return way;
  };
  let branch = 'all';
  const select = (name) => {
    if (!known.has(name)) return;
    branch = name;
    const way = name === 'all' ? null : wayTo(name);
    for (const item of placed) {
      const last = way ? way.get(item.dataset.b) : Infinity;
      const heading = way && item.matches('h2.branch');
      item.hidden = last === undefined || Number(item.dataset.n) > last || heading;
    }
    for (const agent of all('.agent', talk)) {
      agent.hidden = !agent.querySelector(':scope > article:not([hidden])');
    }
    for (const link of links) {
      if (link.dataset.branch === name) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    find(false);
  };

  const reveal = (element) => {
    for (let at = element; at && at !== talk; at = at.parentElement) {
      if (at.tagName === 'DETAILS') at.open = true;
    }
  };
  const arrive = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.hidden && target.dataset.b !== undefined) select(target.dataset.b);
    reveal(target.parentElement);
    target.scrollIntoView({ block: 'start' });
    if (target.matches('article')) mark(target);
  };

  // Messages one after the other.
  let at = null;
  const mark = (item) => {
    if (at) at.classList.remove('at');
    at = item;
    if (at) at.classList.add('at');
  };
  const step = (selector, by) => {
    const items = all(selector, talk).filter((item) => !item.hidden && !item.closest('details:not([open])'));
    const edge = bar.getBoundingClientRect().bottom + 8;
    let place = at ? items.indexOf(at) : -1;
    const seen = place >= 0 && Math.abs(items[place].getBoundingClientRect().top - edge) < innerHeight;
    if (seen) {
      place += by;
    } else {
      place = items.findIndex((item) => item.getBoundingClientRect().top >= edge - 1);
      if (by < 0) place = place < 0 ? items.length - 1 : place - 1;
      else if (place < 0) place = items.length - 1;
    }
    const next = items[Math.max(0, Math.min(items.length - 1, place))];
    if (!next) return;
    mark(next);
    next.scrollIntoView({ block: 'start' });
  };

  // Search.
  const MOST = 5000;
  const input = one('#search input');
  const count = one('#search output');
  let ranges = [];
  let current = -1;
  const light = (name, list) => {
    if (globalThis.Highlight && CSS.highlights) CSS.highlights.set(name, new Highlight(...list));
  };
  const find = (goes) => {
    const text = input.value.toLowerCase();
    ranges = [];
    current = -1;
    if (text.trim()) {
      for (const item of talk.children) {
        if (item.hidden || !item.textContent.toLowerCase().includes(text)) continue;
        const walk = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
        while (walk.nextNode() && ranges.length < MOST) {
          const node = walk.currentNode;
          if (node.parentElement.closest('article[hidden]')) continue;
          const own = node.data.toLowerCase();
          for (let from = own.indexOf(text); from >= 0; from = own.indexOf(text, from + text.length)) {
            const range = new Range();
            range.setStart(node, Math.min(from, node.length));
            range.setEnd(node, Math.min(from + text.length, node.length));
            ranges.push(range);
          }
        }
      }
    }
    light('found', ranges);
    light('current', []);
    if (goes && ranges.length) go(1);
    else report();
  };
  const report = () => {
    const more = ranges.length >= MOST ? '+' : '';
    count.textContent = input.value.trim() ? `${current + 1}/${ranges.length}${more}` : '';
  };
  const go = (by) => {
    if (!ranges.length) return;
    current = (current + by + ranges.length) % ranges.length;
    const range = ranges[current];
    reveal(range.startContainer.parentElement);
    light('current', [range]);
    const item = range.startContainer.parentElement.closest('article');
    if (item) mark(item);
    range.startContainer.parentElement.scrollIntoView({ block: 'center' });
    report();
  };
  let timer = 0;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => find(true), 150);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      clearTimeout(timer);
      if (current < 0) find(true);
      else go(event.shiftKey ? -1 : 1);
    } else if (event.key === 'Escape') {
      input.value = '';
      find(false);
      input.blur();
    }
  });
  one('#search').addEventListener('submit', (event) => event.preventDefault());

  // Folded parts.
  const fold = one('[data-do=fold]');
  let opened = false;
  const deeds = {
    next: () => go(1),
    previous: () => go(-1),
    theme: () => theme(isDark() ? 'light' : 'dark'),
    help: () => (one('#help').open ? one('#help').close() : one('#help').showModal()),
    fold: () => {
      opened = !opened;
      for (const part of all('details', talk)) part.open = opened;
      fold.textContent = opened ? 'Close all' : 'Open all';
    },
  };
  const keys = {
    j: () => step('article', 1),
    k: () => step('article', -1),
    J: () => step('article:has(.turn)', 1),
    K: () => step('article:has(.turn)', -1),
    '/': () => input.select(),
    n: deeds.next,
    N: deeds.previous,
    o: deeds.fold,
    t: deeds.theme,
    '?': deeds.help,
  };
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-do]');
    if (button) return deeds[button.dataset.do]();
    const link = event.target.closest('a[data-branch]');
    if (!link) return undefined;
    select(link.dataset.branch);
    // The page is at this place already.
    if (location.hash === link.hash) arrive();
    return undefined;
  });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input')) return;
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  addEventListener('hashchange', arrive);
  select('0');
  arrive();
})();
