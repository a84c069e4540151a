// Cost of finding the monitored domains that certificates concern, with few and with many monitored domains, compared with
// lookups of the exact name in a plain Map. The names are those of a real log.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { workspaceRoot } from '../../build/bundle.mjs';
import { inTurns } from '../ct/in-turns.mjs';
import { loaded } from '../ct/real-entries.mjs';
import { table } from '../report.mjs';
import { looks } from './looks.mjs';
import { measuredWorker } from './worker.mjs';

const usage = `npm run bench -- monitoring [monitored domains in memory, 1000000] [scale of the rest, 1]
npm run bench -- monitoring looks [seconds of each measurement, 15]`;
const fewer = 10;
const domainsPerAccount = 10;
const certificates = 100_000;
/** One of so many certificates has the names of monitored domains. */
const rarity = 50;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

export async function monitoring(args) {
  if (args.includes('--help')) return void console.log(usage);
  if (args[0] === 'looks') return await looks(args.slice(1));
  const [domains, scale] = [Number(args[0] ?? 1_000_000), Number(args[1] ?? 1)];
  const { monitoring: lib, names: dnsNames } = await loaded({
    monitoring: 'libs/monitored-domains/src/index.ts',
    names: 'libs/dns-names/src/index.ts',
  });
  const corpus = new Corpus(dnsNames.registeredDomain);
  const sizes = [domains / fewer, domains];
  const rows = [];
  const contenders = {};
  for (const size of sizes) {
    console.log(`adding ${size.toLocaleString('en')} monitored domains`);
    const index = measuredBytes(() => filled(lib, corpus, size));
    const map = measuredBytes(() => exactNames(corpus, size));
    for (const [what, every] of [
      ['few', rarity],
      ['all', 1],
    ]) {
      const lists = corpus.certificates(size, every);
      contenders[`${what} ${size} index`] = inBatches(
        lists,
        (names) => index.value.match(names).accounts.length,
      );
      contenders[`${what} ${size} map`] = inBatches(lists, (names) =>
        names.reduce((count, name) => count + (map.value.has(name) ? 1 : 0), 0),
      );
    }
    rows.push({ size, bytes: index.bytes / size, mapBytes: map.bytes / size });
  }
  const rates = await inTurns(contenders);
  const hostileRows = await hostile(lib, corpus, domains);
  const amounts = {
    domains: 100_000 * scale,
    followed: 200_000 * scale,
    alerts: 10_000 * scale,
    backfilled: 50_000 * scale,
    streamSeconds: 20 * scale,
  };
  const worker = await measuredWorker({ corpus, ...amounts });
  return [section(rows, rates, hostileRows, workerText(worker, amounts)), await looks([])];
}

/** Names of a real log, and copies of them below other registered domains. */
class Corpus {
  constructor(registeredDomain) {
    const lines = ['navigli2025h2-000', 'navigli2025h2-001'].flatMap((file) =>
      readFileSync(path.join(workspaceRoot, `libs/ct/src/testing/data/${file}.names.jsonl`), 'utf8')
        .trim()
        .split('\n'),
    );
    const lists = lines
      .map((line) => JSON.parse(line).DNS ?? [])
      .filter((names) => names.length > 0 && names.every((name) => registeredDomain(name) !== null))
      .map((names) => names.map((name) => ({ name, registered: registeredDomain(name) })));
    // One certificate of each registered domain: the log has hundreds for some of them.
    this.lists = [...new Map(lists.map((names) => [names[0].registered, names])).values()];
  }

  /** Names of a certificate below registered domains that have this number of their own. */
  names(nth, copy) {
    return this.lists[nth % this.lists.length].map(({ name, registered }) => {
      const [label, ...rest] = registered.split('.');
      const own = `${label}${copy}.${rest.join('.')}`;
      return stored(name.slice(0, name.length - registered.length) + own);
    });
  }

  /** The registered domain of every second one with its tree, and the first name of the others. */
  domain(nth) {
    const copy = Math.floor(nth / this.lists.length);
    const [name] = this.names(nth, copy);
    const { registered } = this.lists[nth % this.lists.length][0];
    const [label, ...rest] = registered.split('.');
    return nth % 2 === 0 ? stored(`.${label}${copy}.${rest.join('.')}`) : name.replace(/^\*\./, '');
  }

  certificates(domains, every) {
    const copies = Math.floor(domains / this.lists.length);
    return Array.from({ length: certificates }, (_, nth) => {
      // Spread over all copies, so that the cache of the processor does not help.
      const copy = Number((BigInt(nth) * 2_654_435_761n) % BigInt(copies));
      return this.names(nth, nth % every === 0 ? copy : 10_000_000 + copy);
    });
  }
}

/** A string of its own: not a concatenation, and no part of another one. */
function stored(text) {
  return Buffer.from(text, 'latin1').toString('latin1');
}

function filled(lib, corpus, size) {
  const index = new lib.MonitoredDomainIndex();
  for (let nth = 0; nth < size; nth += 1)
    index.set(String(1_000 + Math.floor(nth / domainsPerAccount)), corpus.domain(nth), true);
  return index;
}

function exactNames(corpus, size) {
  const map = new Map();
  for (let nth = 0; nth < size; nth += 1) map.set(corpus.domain(nth).replace(/^\./, ''), nth);
  return map;
}

function measuredBytes(build) {
  const before = usedBytes();
  const value = build();
  return { value, bytes: usedBytes() - before };
}

function usedBytes() {
  // Buffers are freed after the first one.
  collectGarbage();
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** Each call of the result takes the next certificates, and returns the number of their names. */
function inBatches(lists, match) {
  let next = 0;
  let found = 0;
  return () => {
    let names = 0;
    for (let each = 0; each < 500; each += 1) {
      const list = lists[next];
      next = (next + 1) % lists.length;
      found += match(list);
      names += list.length;
    }
    if (found < 0) throw new Error('unreachable');
    return names;
  };
}

/** CPU time of certificates that no CA should issue, in milliseconds. */
async function hostile(lib, corpus, domains) {
  const index = filled(lib, corpus, domains);
  const of = (length, name) => Array.from({ length }, (_, nth) => name(nth));
  const text = of(40_000, (nth) => `a${nth}.${corpus.names(nth, 1)[0]}`)
    .join(' ')
    .slice(0, 2 ** 20);
  const cases = {
    '10,000 names of one monitored tree': of(10_000, (nth) => `n${nth}${corpus.domain(0)}`),
    '10,000 names with asterisks in labels, such as `a1*.com`': of(10_000, (nth) => `a${nth}*.com`),
    'a text of 1 MiB with names of monitored domains': [text],
  };
  const rows = Object.entries(cases).map(([what, names]) => [what, cpuMs(() => index.match(names))]);
  return [...rows, ['1 MiB that cannot be read', cpuMs(() => index.matchUnreadable(Buffer.from(text)))]];
}

function cpuMs(work) {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}

function workerText(measured, { domains, followed, alerts, backfilled }) {
  const { following, storing, backfill, alone, beside, besideMs, effective } = measured;
  const whole = (number) => Math.round(number).toLocaleString('en');
  const seconds = (ms) => `${(ms / 1_000).toFixed(1)} s`;
  const latency = ({ p50, p99, max, perSecond, alerts: count }) =>
    `p50 ${seconds(p50)}, p99 ${seconds(p99)}, longest ${seconds(max)} (${whole(count)} alerts; ${whole(perSecond)} issuances per second)`;
  return `The worker as a process, with ${whole(domains)} monitored domains, and with PostgreSQL, Redis and the notifier on the same machine. Plain reads are
the same rows and columns. Plain inserts are the same rows of all seven tables that an alert is stored in, inserted into copies of the
tables with the same indexes and foreign keys, 500 alerts in a transaction and one statement for each table; the client has them
ready, and reads nothing. Both in turns, with the medians below.

${table([
  ['what', 'measured', 'relative to the baseline'],
  [
    `following ${whole(followed)} issuances with nothing to report`,
    `${whole(following.perSecond)} per second, ${whole(following.cpuUs)} µs of CPU each`,
    `${(following.perSecond / following.plain).toFixed(2)} of plain reads (${whole(following.plain)} per second)`,
  ],
  [
    `storing ${whole(alerts)} alerts: matching, decision, deliveries`,
    `${whole(storing.perSecond)} per second`,
    `${storing.ratio.toFixed(2)} of plain inserts (${whole(storing.plain)} per second)`,
  ],
  [`backfill of a domain with ${whole(backfilled)} certificates`, seconds(backfill), ''],
  ['from the commit of an issuance to the call of the webhook', latency(alone), ''],
  [`the same, beside a backfill of ${whole(backfilled)} (${seconds(besideMs)})`, latency(beside), ''],
  ['a new domain is effective after', seconds(effective), ''],
])}
`;
}

function section(rows, rates, hostileRows, ofWorker) {
  const whole = (number) => Math.round(number).toLocaleString('en');
  const [small, large] = rows;
  const line = (what, kind, { size, bytes, mapBytes }) => {
    const rate = rates[`${what} ${size} ${kind}`];
    return [
      whole(size),
      what === 'few' ? `1 of ${rarity}` : 'all',
      kind === 'index' ? '**the index**' : 'baseline: a Map of the exact names',
      whole(rate),
      (rates[`${what} ${small.size} ${kind}`] / rate).toFixed(2),
      (rates[`${what} ${size} map`] / rate).toFixed(2),
      whole(kind === 'index' ? bytes : mapBytes),
    ];
  };
  const text = `## Monitoring

\`npm run bench -- monitoring\`: names of certificates compared with all monitored domains, ${domainsPerAccount} per account, half of them trees. The names are
those of a real log, with ${whole(certificates)} certificates in turn; the share of them that concerns an account is in the second column. Rates are
per second of CPU. The Map finds exact names only: no trees, wildcards or accounts. It reuses the hash that each string caches, which
the strings of new certificates do not have.

${table([
  [
    'monitored domains',
    'concerned',
    'what',
    'names per second',
    `cost relative to ${whole(small.size)}`,
    'cost relative to the Map',
    'bytes per monitored domain',
  ],
  ...['few', 'all'].flatMap((what) =>
    [small, large].flatMap((row) => ['index', 'map'].map((kind) => line(what, kind, row))),
  ),
])}

With ${whole(large.size)} monitored domains, one certificate that no CA should issue takes:

${table([['certificate', 'CPU'], ...hostileRows.map(([what, ms]) => [what, `${whole(ms)} ms`])])}

${ofWorker}`;
  return { name: 'monitoring', text };
}
