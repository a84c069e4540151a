import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { AddressGuard } from '@certwright/outbound';
import { encodePem } from '@certwright/pki';
import { LogSubmissions } from './log-submissions';
import { type Child, eventually, freePort, startChild } from '@certwright/testing';
import { Issuing } from '../testing/issuing';
import { opensslCsr } from '../testing/opened-issuance';
import { severableDatabase } from '../testing/severable-database';
import { type SubmittingPorts, submitToLog } from './submit-to-log';

const workspaceRoot = path.join(__dirname, '../../../..');
const names = ['submitted.example.com'];

let issuing: Issuing;
let csr: Buffer;
let submissions: LogSubmissions;
beforeAll(async () => {
  issuing = await Issuing.open();
  csr = opensslCsr(names);
  submissions = new LogSubmissions(issuing.asWorker);
}, 60_000);
afterAll(async () => await issuing.close());

const issue = async () => (await issuing.issued(names, csr)).certificateId;

/** A log with scripted responses. */
class ScriptedLog {
  readonly chains: string[][] = [];
  /** Certificates, in base64, for which it always fails. */
  readonly failsAt = new Set<string>();
  response: { status: number; headers?: Record<string, string>; body?: unknown; silent?: boolean } = {
    status: 200,
  };
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async open(): Promise<ScriptedLog> {
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request
        .on('data', (piece: Buffer) => pieces.push(piece))
        .on('end', () => {
          log.chains.push((JSON.parse(Buffer.concat(pieces).toString()) as { chain: string[] }).chain);
          const fails = log.failsAt.has(log.chains.at(-1)?.[0] ?? '');
          const failure: typeof log.response = { status: 500, body: '' };
          const { status, headers = {}, body = sct, silent = false } = fails ? failure : log.response;
          if (!silent)
            response
              .writeHead(request.url === '/ct/v1/add-chain' ? status : 404, headers)
              .end(typeof body === 'string' ? body : JSON.stringify(body));
        });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const log = new ScriptedLog(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return log;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const sct = {
  sct_version: 0,
  id: Buffer.alloc(32, 7).toString('base64'),
  timestamp: Date.parse('2026-11-20T10:00:00Z'),
  extensions: '',
  signature: Buffer.from('0403000201ff', 'hex').toString('base64'),
};

let log: ScriptedLog;
let events: string[];
beforeEach(async () => {
  log = await ScriptedLog.open();
  events = [];
  await issuing.database.query(`DELETE FROM log_submission; UPDATE ca_signing SET logs_chosen = true`);
});
afterEach(async () => await log.close());

function round(change: Partial<SubmittingPorts> = {}, url = log.url): () => Promise<number> {
  return submitToLog(
    {
      submissions,
      guard: new AddressGuard({ allowedNetworks: ['127.0.0.0/8'] }),
      logUrls: [url],
      userAgent: 'spec',
      events: {
        logged: () => void events.push('logged'),
        refused: (_, problem) => void events.push(problem),
        unavailable: (_, problem, restMs) => void events.push(`${problem} ${restMs}`),
      },
      ...change,
    },
    url,
  );
}

const rows = async () =>
  await issuing.database.query<
    { certificate_id: string; attempts: number; last_error: string | null; logged: boolean; due: boolean }[]
  >(
    `SELECT certificate_id, attempts, last_error, sct IS NOT NULL AS logged, due_at <= clock_timestamp() AS due
     FROM log_submission ORDER BY certificate_id`,
  );
const endLeases = async () => await issuing.database.query(`UPDATE log_submission SET due_at = now()`);

describe('a round of submissions', () => {
  it('releases its submissions after the database became unavailable', async () => {
    await issue();
    const severable = await severableDatabase(issuing.databaseUrl);
    try {
      const real = new LogSubmissions(severable.source);
      const lost: SubmittingPorts['submissions'] = Object.create(real, {
        logged: {
          value: async (...args: Parameters<LogSubmissions['logged']>) => {
            severable.link.cut();
            await real.logged(...args);
          },
        },
      }) as LogSubmissions;
      await expect(round({ submissions: lost })()).rejects.toThrow();
      severable.link.restore();
      await eventually(async () => expect(await rows()).toMatchObject([{ attempts: 0, due: true }]));
    } finally {
      await severable.close();
    }
    expect(await round()()).toBe(1_000);
    expect(await rows()).toMatchObject([{ logged: true }]);
  });

  it('submits a new certificate with its chain to the log once', async () => {
    const certificateId = await issue();
    const next = round();
    expect(await next()).toBe(1_000);
    expect(await next()).toBe(1_000);
    const [stored] = await issuing.database.query<
      { leaf: Buffer; chain: Buffer[]; root: Buffer; sct: Buffer; logged_at: Date }[]
    >(
      `SELECT leaf, chain, root, sct, logged_at FROM certificate
       JOIN certificate_chain ON certificate_chain.sha256 = chain_sha256
       JOIN log_submission ON certificate_id = certificate.id WHERE certificate.id = $1`,
      [certificateId],
    );
    if (stored === undefined) throw new Error('it is stored');
    const chain = [stored.leaf, ...stored.chain, stored.root].map((der) => der.toString('base64'));
    expect(chain).toHaveLength(3);
    expect(log.chains).toEqual([chain]);
    expect(stored.logged_at).toEqual(new Date(sct.timestamp));
    expect(stored.sct.subarray(1, 33)).toEqual(Buffer.alloc(32, 7));
    expect(events).toEqual(['logged']);
  });

  it('runs again at once while there is more', async () => {
    for (let nth = 0; nth < 9; nth++) await issue();
    const next = round();
    expect([await next(), await next()]).toEqual([0, 1_000]);
    expect((await rows()).filter(({ logged }) => logged)).toHaveLength(9);
    expect(log.chains).toHaveLength(9);
  });

  it('pauses a rate-limiting log for the requested time, and releases its submissions', async () => {
    for (let nth = 0; nth < 6; nth++) await issue();
    log.response = { status: 429, headers: { 'retry-after': '30' }, body: '' };
    const next = round();
    expect(await next()).toBe(30_000);
    expect(log.chains.length).toBeLessThanOrEqual(4);
    expect(await rows()).toEqual(
      Array.from(
        { length: 6 },
        () => expect.objectContaining({ attempts: 0, due: true, logged: false, last_error: null }) as object,
      ),
    );
    log.response = { status: 200 };
    expect(await next()).toBe(1_000);
    expect((await rows()).every(({ logged, attempts }) => logged && attempts === 1)).toBe(true);
  });

  it.each([
    ['that is broken', { status: 503 }, 'The log responded with 503.'],
    [
      'that sends somewhere else',
      { status: 302, headers: { location: 'http://127.0.0.1:1/' } },
      'The log responded with 302.',
    ],
    [
      'that responds with a page',
      { status: 200, body: '<html>' },
      'The log responded with something other than an SCT.',
    ],
    [
      'that responds without end',
      { status: 200, body: ' '.repeat(20_000) + JSON.stringify(sct) },
      'The log responded with something other than an SCT.',
    ],
    ['that never responds', { status: 200, silent: true }, 'timed out'],
  ])('backs off for a log %s', async (_, response, problem) => {
    await issue();
    log.response = response;
    const next = round(problem === 'timed out' ? { timeoutMs: 300 } : {});
    expect([await next(), await next(), await next()]).toEqual([1_000, 2_000, 4_000]);
    expect(events).toHaveLength(3);
    if (problem !== 'timed out') expect(events[0]).toBe(`${problem} 1000`);
    log.response = { status: 200 };
    expect(await round()()).toBe(1_000);
    expect(await rows()).toMatchObject([{ logged: true }]);
  });

  it('continues with the others when one is refused, which waits separately', async () => {
    const refused = await issue();
    log.response = { status: 400, body: { error_message: 'The chain leads to none of the accepted roots.' } };
    const next = round();
    expect(await next()).toBe(1_000);
    const problem = 'The log responded with 400: The chain leads to none of the accepted roots.';
    expect(events).toEqual([problem]);
    log.response = { status: 200 };
    const other = await issue();
    expect(await next()).toBe(1_000);
    const found = new Map((await rows()).map((row) => [row.certificate_id, row]));
    expect(found.get(other)).toMatchObject({ logged: true });
    expect(found.get(refused)).toMatchObject({ logged: false, due: false, attempts: 1, last_error: problem });
    await endLeases();
    await next();
    expect((await rows()).every(({ logged }) => logged)).toBe(true);
  });

  it('continues with the others when the log always fails at one, which waits separately', async () => {
    for (let nth = 0; nth < 12; nth++) {
      const certificateId = await issue();
      if (nth % 3 > 0) continue;
      const [{ leaf }] = await issuing.database.query<[{ leaf: Buffer }]>(
        `SELECT leaf FROM certificate WHERE id = $1`,
        [certificateId],
      );
      log.failsAt.add(leaf.toString('base64'));
    }
    const next = round();
    expect([await next(), await next(), await next()]).toEqual([1_000, 1_000, 1_000]);
    const found = await rows();
    expect(found.filter(({ logged }) => logged)).toHaveLength(8);
    const problem = 'The log responded with 500.';
    const waiting = { due: false, attempts: 1, last_error: problem };
    expect(found.filter(({ logged }) => !logged)).toMatchObject(Array(4).fill(waiting));
    expect(events.filter((event) => event !== 'logged')).toEqual(Array(4).fill(problem));
    // When it fails at all remaining ones, the log is paused, and no certificate waits longer for that.
    await endLeases();
    expect([await next(), await next()]).toEqual([1_000, 2_000]);
    expect(events.slice(-2)).toEqual([`${problem} 1000`, `${problem} 2000`]);
    expect((await rows()).filter(({ logged }) => !logged)).toMatchObject(
      Array(4).fill({ due: true, attempts: 1 }),
    );
  });

  it('submits again after a kill between response and row, but not while the lease is valid', async () => {
    await issue();
    const killed = Object.assign(new LogSubmissions(issuing.asWorker), {
      logged: async () => await Promise.reject(new Error('killed')),
    });
    await expect(round({ submissions: killed })()).rejects.toThrow('killed');
    const next = round();
    await next();
    expect([log.chains.length, await rows()]).toMatchObject([1, [{ logged: false }]]);
    await endLeases();
    await next();
    expect([log.chains.length, await rows()]).toMatchObject([2, [{ logged: true, attempts: 2 }]]);
    expect(log.chains[1]).toEqual(log.chains[0]);
  });

  it('connects to no special-purpose address that the operator has not allowed', async () => {
    await issue();
    const next = round({ guard: new AddressGuard({ allowedNetworks: [] }) });
    expect(await next()).toBe(1_000);
    expect(events[0]).toContain('not public');
    expect(log.chains).toEqual([]);
  });

  it('to one log does not wait for another', async () => {
    const other = await ScriptedLog.open();
    other.response = { status: 200, silent: true };
    const logUrls = [log.url, other.url];
    await issue();
    const stuck = round({ logUrls, timeoutMs: 10_000 }, other.url)();
    await eventually(() => expect(other.chains).toHaveLength(1));
    await round({ logUrls })();
    expect(events).toEqual(['logged']);
    await other.close();
    expect(await stuck).toBe(1_000);
    expect((await rows()).map(({ logged }) => logged).sort()).toEqual([false, true]);
  });
});

describe('the demo log', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'worker-demo-log-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('accepts certificates of the built-in CA by its published root, and lists them', async () => {
    const bundling = `import('./tools/build/bundle.mjs').then(({ bundle }) => bundle({ main: 'tools/demo-log/main.ts' }, '${folder}/dist'))`;
    execFileSync(process.execPath, ['-e', bundling], { cwd: workspaceRoot });
    const port = String(await freePort());
    const url = `http://127.0.0.1:${port}/rfc6962/`;
    const certificateId = await issue();
    // The log is down, then up.
    expect(await round({}, url)()).toBe(1_000);
    const [root] = await issuing.database.query<[{ certificate: Buffer }]>(
      `SELECT certificate FROM ca_issuer WHERE name = 'root'`,
    );
    writeFileSync(path.join(folder, 'root.pem'), encodePem('CERTIFICATE', root.certificate));
    const env = {
      PORT: port,
      DATA_DIR: path.join(folder, 'log'),
      FIXTURES: '0',
      ACCEPTED_ROOTS: path.join(folder, 'root.pem'),
      NODE_PATH: path.join(workspaceRoot, 'node_modules'),
    };
    const demo: Child = await startChild(process.execPath, {
      args: [path.join(folder, 'dist/main.js')],
      env,
    });
    await demo.says(/"listening"/, 20_000);
    expect(await round({}, url)()).toBe(1_000);
    expect(await rows()).toMatchObject([{ certificate_id: certificateId, logged: true }]);
    const [{ leaf }] = await issuing.database.query<[{ leaf: Buffer }]>(
      `SELECT leaf FROM certificate WHERE id = $1`,
      [certificateId],
    );
    await eventually(async () => {
      const head = (await (await fetch(`${url}ct/v1/get-sth`)).json()) as { tree_size: number };
      expect(head.tree_size).toBe(1);
    });
    const { entries } = (await (await fetch(`${url}ct/v1/get-entries?start=0&end=0`)).json()) as {
      entries: { leaf_input: string }[];
    };
    expect(Buffer.from(entries[0]?.leaf_input ?? '', 'base64').includes(leaf)).toBe(true);
    expect((await demo.stop()).code).toBe(0);
  }, 60_000);
});
