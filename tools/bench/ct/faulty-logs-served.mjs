// The logs of faulty-logs.mjs, in a process of their own: a message sets their number, and it sends the log list.
import { createRequire } from 'node:module';
import path from 'node:path';
import { workspaceRoot } from '../../build/bundle.mjs';

const require = createRequire(path.join(workspaceRoot, 'dist/bench/faulty-logs/any.js'));
const { FakeLog } = require('./fake-log.js');
const { forgeMany, forgePair } = require('./forged-entries.js');

const isEntries = (url) => url.includes('get-entries') || url.includes('/tile/data');
const begun = '{"entries":[{"leaf_input":"AAAA';

/** Behaviour of each kind on a request for entries; false: it responds. */
const faults = {
  endless: (response) => {
    response.write(begun);
    const bytes = Buffer.alloc(65_536, 'A');
    const pour = () => {
      while (response.write(bytes));
    };
    response.on('drain', pour);
    pour();
  },
  drip: (response) => {
    response.write(begun);
    const timer = setInterval(() => response.write('A'), 100);
    response.once('close', () => clearInterval(timer));
  },
  stall: () => undefined,
  part: (response) => void response.write(begun + 'A'.repeat(4_500_000)),
  huge: null,
};

process.on('message', async ({ healthy, faulty, kinds, entries, page }) => {
  const listed = { rfc6962: [], static: [] };
  const open = async (kind, description, submissions) => {
    const log = await FakeLog.open(kind, submissions);
    listed[kind].push(log.listed({ description }));
    log.page = page;
    return log;
  };
  for (let nth = 0; nth < healthy; nth += 1)
    await open(nth % 4 === 3 ? 'static' : 'rfc6962', `healthy ${nth}`, forgeMany(entries, nth * entries));
  for (let nth = 0; nth < faulty; nth += 1) {
    const fault = kinds[nth % kinds.length];
    const api = Math.floor(nth / kinds.length) % 2 === 1 ? 'static' : 'rfc6962';
    const log = await open(api, `faulty ${nth} ${fault} ${api}`, submissionsOf(fault));
    log.gzip = false;
    if (faults[fault] !== null)
      log.intercept = (url, response) => {
        if (isEntries(url)) faults[fault](response);
        return isEntries(url);
      };
  }
  process.send({ operators: [{ name: 'Bench', logs: listed.rfc6962, tiled_logs: listed.static }] });
});

let huge;
function submissionsOf(fault) {
  if (fault !== 'huge') return forgeMany(2_000);
  huge ??= forgePair(9_000_000, { padding: 16_000_000 }).precertificate;
  return [...forgeMany(10), huge, huge, huge, huge, ...forgeMany(10, 5)];
}
