// `node tools/bench/ct/searching.mjs [issuances]`: cost of a page of a key in an index of two million issuances, of which one
// domain has 200,000 and another one 1,000, in every mode and at several positions, compared with SELECT 1 in the same connection.
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { table } from '../report.mjs';
import { issuance } from './corpus.mjs';
import { indexDatabase, mergeAll, revokeSome, store } from './index-database.mjs';

const usualIssuances = 2_000_000;
const perCommit = 16_384;
/** The share of issuances of the domain: 200,000 and 1,000 of two million. */
const oneIn = { large: 10, small: 2_000 };
const pageLimit = 100;
const smallLimit = 10;
const rounds = 400;
const pagesOfWalk = 400;
/** Shorter than a certificate, so that loading takes a minute: pages are read without bodies. */
const bodyBytes = 64;

const domainOf = (size) => `www.${size}-domain.com`;
const ownedNames = (size, nth) => [domainOf(size), `h${nth}.${domainOf(size)}`, `*.${size}-domain.com`];

/** The domain of an issuance, if it is one of the two. */
function ownerOf(nth) {
  if (nth % oneIn.small === 1) return 'small';
  return nth % oneIn.large === 0 ? 'large' : null;
}

const modes = {
  exact: { includeSubdomains: false, matchWildcards: false },
  include_subdomains: { includeSubdomains: true, matchWildcards: false },
  match_wildcards: { includeSubdomains: false, matchWildcards: true },
  both: { includeSubdomains: true, matchWildcards: true },
};
const depths = { first: 0, middle: 0.5, last: 0.99 };

/** @returns {Promise<string>} Markdown */
export async function searching(issuances = usualIssuances) {
  const world = await indexDatabase();
  try {
    const loaded = await load(world, issuances);
    await revokeSome(world);
    await world.database.query('ANALYZE');
    const client = await connection(world);
    const reader = world.ctIndex.readingAlone({ query: prepared(client) });
    const measured = await measure(world, { ...reader, recent: undefined }, issuances);
    const walks = [];
    for (const limit of [smallLimit, pageLimit]) walks.push(await walk(world, reader, issuances, limit));
    await client.end();
    return [section(loaded, measured), '', ...walks].join('\n');
  } finally {
    await world.close();
  }
}

/** As in ct-search. */
async function connection({ url, ctIndex }) {
  const settings = Object.entries(ctIndex.preparedPageSession);
  const options = settings.map(([name, value]) => `-c ${name}=${value}`).join(' ');
  const client = new pg.Client({ connectionString: url, options });
  await client.connect();
  return client;
}

function prepared(client) {
  const names = new Map();
  return async (text, values) => {
    if (!names.has(text)) names.set(text, `statement ${names.size}`);
    return (await client.query({ name: names.get(text), text, values })).rows;
  };
}

async function load(world, issuances) {
  const begun = performance.now();
  const { ct, ctIndex, database } = world;
  const ids = new ctIndex.IssuerIds();
  for (let from = 0; from < issuances; from += perCommit) {
    const batch = Array.from({ length: Math.min(perCommit, issuances - from) }, (_, at) => {
      const nth = from + at;
      const owner = ownerOf(nth);
      const one = issuance(ct, nth, owner === null ? undefined : ownedNames(owner, nth));
      return { ...one, body: one.body.subarray(0, bodyBytes) };
    });
    await ids.ensure(
      database.manager,
      batch.map(({ issuer }) => issuer),
    );
    await store(world, ids, batch);
  }
  const storedS = (performance.now() - begun) / 1_000;
  const merging = process.cpuUsage();
  const merged = await mergeAll(world);
  const { user, system } = process.cpuUsage(merging);
  const [{ runs }] = await database.query(`SELECT count(*)::int AS runs FROM ct_run`);
  return { issuances, storedS, merged, mergeCpuS: (user + system) / 1e6, runs };
}

/** Medians of rounds, each of which runs every query once. */
async function measure({ ct, ctIndex }, reader, issuances) {
  const floor = [];
  const cases = Object.keys(modes).flatMap((mode) =>
    Object.keys(depths).flatMap((depth) =>
      ['large', 'small'].flatMap((size) =>
        [pageLimit, smallLimit].map((limit) => ({ mode, depth, size, limit, timesUs: [] })),
      ),
    ),
  );
  cases.push({ mode: 'exact', depth: 'first', size: 'one', limit: pageLimit, timesUs: [] });
  cases.push({ mode: 'exact', depth: 'poll', size: 'large', limit: pageLimit, timesUs: [] });
  for (const each of cases) {
    const domain = each.size === 'one' ? `h0.${domainOf('large')}` : domainOf(each.size);
    each.keys = ct.queryKeys({ domain, ...modes[each.mode] }).map((key) => Buffer.from(key, 'hex'));
    each.after = String(each.depth === 'poll' ? issuances + 1 : Math.floor(issuances * depths[each.depth]));
  }
  for (let round = 0; round < rounds; round += 1) {
    floor.push(await timed(async () => await reader.query('SELECT 1', [])));
    for (const { keys, after, limit, timesUs } of cases) {
      const page = { after, limit };
      timesUs.push(await timed(async () => await ctIndex.pageOfKeys(reader, keys, page)));
    }
  }
  return { floorUs: median(floor), cases: cases.map((each) => ({ ...each, us: median(each.timesUs) })) };
}

/** Pages that follow one another, from the middle of the large domain, by two readers in turns. */
async function walk({ ct, ctIndex }, reader, issuances, limit) {
  const keys = ct
    .queryKeys({ domain: domainOf('large'), ...modes.exact })
    .map((key) => Buffer.from(key, 'hex'));
  const start = () => ({ after: String(Math.floor(issuances * depths.middle)), timesUs: [] });
  const looking = { reader: { ...reader, recent: undefined }, ...start() };
  const keeping = { reader, ...start() };
  for (let page = 0; page < pagesOfWalk; page += 1)
    for (const each of page % 2 === 0 ? [looking, keeping] : [keeping, looking]) {
      const begun = performance.now();
      const found = await ctIndex.pageOfKeys(each.reader, keys, { after: each.after, limit });
      each.timesUs.push((performance.now() - begun) * 1_000);
      each.after = found.issuances.at(-1)?.position ?? start().after;
    }
  const [before, now] = [looking, keeping].map(({ timesUs }) => median(timesUs).toFixed(0));
  return `The next page of ${limit} of the large domain: ${now} µs; ${before} µs if its postings are looked up again.`;
}

async function timed(work) {
  const begun = performance.now();
  await work();
  return (performance.now() - begun) * 1_000;
}

function median(values) {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}

function section({ issuances, storedS, merged, mergeCpuS, runs }, { floorUs, cases }) {
  const of = (wanted) =>
    cases.find((each) => Object.entries(wanted).every(([name, value]) => each[name] === value))?.us ?? NaN;
  const cells = (mode, depth, limit) => {
    const [large, small] = ['large', 'small'].map((size) => of({ mode, depth, size, limit }));
    // The small domain has less than a page left, so there is nothing to compare.
    const isFull = limit === smallLimit || depth !== 'last';
    const ratio = isFull ? (large / small).toFixed(2) : '–';
    return [large.toFixed(0), small.toFixed(0), ratio, (large / floorUs).toFixed(1)];
  };
  const limits = [smallLimit, pageLimit];
  const head = limits.flatMap((limit) => [
    `page of ${limit}: large, µs`,
    'small, µs',
    'large / small',
    'large / `SELECT 1`',
  ]);
  const rows = Object.keys(modes).flatMap((mode) =>
    Object.keys(depths).map((depth) => [
      mode,
      depth,
      ...limits.flatMap((limit) => cells(mode, depth, limit)),
    ]),
  );
  const poll = of({ depth: 'poll' });
  const one = of({ size: 'one' });
  return [
    `### Search: ${issuances.toLocaleString('en')} issuances, one domain with 200,000 of two million, another with 1,000`,
    '',
    `Loaded in ${storedS.toFixed(0)} s; merging took ${((mergeCpuS / issuances) * 1e6).toFixed(1)} µs of this process's CPU an ` +
      `issuance (${(merged.postings / issuances).toFixed(1)} postings written again for each); ${runs} runs. ` +
      `\`SELECT 1\` in the same connection: ${floorUs.toFixed(0)} µs. Medians of ${rounds} rounds, pages of ${pageLimit} and ${smallLimit}.`,
    '',
    table([['mode', 'cursor', ...head], ...rows]),
    '',
    `A poll without results: ${(poll / floorUs).toFixed(1)} × \`SELECT 1\`; a name with one certificate: ${(one / floorUs).toFixed(1)} ×.`,
  ].join('\n');
}

if (argv[1] === fileURLToPath(import.meta.url))
  console.log(await searching(Number(argv[2] ?? usualIssuances)));
