import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { ctTestDatabase } from '@certwright/ct-testing';
import { type Child, eventually, startChild, type TestDatabase, testRedis } from '@certwright/testing';
import { ensureGatewayKeys } from '../gateway-keys/gateway-keys';

const workspaceRoot = path.join(__dirname, '../..');

type Environment = Readonly<Record<string, string>>;

interface App {
  readonly name: string;
  readonly source: string;
  readonly peer?: boolean;
  environment(deployment: object): Environment;
}

interface Input {
  /** What is wrong: settings that are replaced, and a database. */
  readonly more?: Environment;
  readonly database?: TestDatabase;
}

const dayMs = 86_400_000;
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-bad-input-'));
/** Contents of secrets, and passwords in URLs. */
const secrets: string[] = [];
let apps: readonly App[];
let good: TestDatabase;
let older: TestDatabase;
let olderCt: TestDatabase;
let newer: TestDatabase;
let redis: Awaited<ReturnType<typeof testRedis>>;

const file = (name: string, text: string): string => {
  const place = path.join(folder, name);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text, { mode: 0o600 });
  return place;
};
const gatewayFile = (name: string, keys = 'gateway') => path.join(folder, keys, name);
const aFile = file('a-file', 'no folder');
const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const logKey = publicKey.export({ type: 'spki', format: 'der' });
/** Its only log is not followed. */
const logList = file(
  'log-list.json',
  JSON.stringify({
    version: '1.0',
    log_list_timestamp: '2026-11-01T00:00:00Z',
    operators: [
      {
        name: 'Spec',
        email: [],
        logs: [
          {
            description: 'spec',
            log_id: createHash('sha256').update(logKey).digest('base64'),
            key: logKey.toString('base64'),
            url: 'https://log.test/',
            mmd: 86_400,
            state: { retired: { timestamp: '2026-01-01T00:00:00Z' } },
          },
        ],
        tiled_logs: [],
      },
    ],
  }),
);
/** Half a minute would be tolerated. */
const clock = file(
  'clock.cjs',
  `const Own = Date; const aheadMs = 5 * 60_000;
   globalThis.Date = class Date extends Own {
     constructor(...args) { if (args.length === 0) super(Own.now() + aheadMs); else super(...args); }
     static now() { return Own.now() + aheadMs; }
   };`,
);
const keysFile = (name: string): string => {
  const key = randomBytes(32).toString('base64');
  secrets.push(key);
  return file(name, key);
};

beforeAll(async () => {
  ({ apps } = (await import(path.join(__dirname, 'apps.mjs'))) as { apps: readonly App[] });
  apps = apps.filter(({ peer }) => !peer);
  for (const { source } of apps) {
    const project = path.dirname(path.dirname(source));
    execFileSync(process.execPath, ['tools/build/build.mjs', project], { cwd: workspaceRoot });
  }
  [good, older, olderCt, newer] = [
    await ctTestDatabase(),
    await ctTestDatabase(),
    await ctTestDatabase(),
    await ctTestDatabase(),
  ];
  redis = await testRedis();
  const withoutTwo = (table: string) => `DELETE FROM ${table} WHERE id > (SELECT max(id) - 2 FROM ${table})`;
  await older.query(withoutTwo('core_migration'));
  await olderCt.query(withoutTwo('ct_migration'));
  for (const table of ['core_migration', 'ct_migration'])
    await newer.query(`COMMENT ON TABLE ${table} IS 'minimum_migration=9999999999999'`);
  for (const database of [good, older, olderCt, newer])
    await database.query(`INSERT INTO deployment (mode) VALUES ('sandbox')`);
  ensureGatewayKeys(path.join(folder, 'gateway'), new Date());
  ensureGatewayKeys(path.join(folder, 'expired'), new Date(Date.now() - 400 * dayMs));
  for (const name of ['issuance-worker.key', 'orders-v3.key', 'server.key', 'credentials.key'])
    secrets.push(bodyOf(readFileSync(gatewayFile(name), 'utf8')));
  secrets.push(readFileSync(gatewayFile('handle.keys'), 'utf8').trim());
  secrets.push(new URL(good.url).password);
  file('ca/root.pem', readFileSync(gatewayFile('ca.pem'), 'utf8'));
}, 300_000);
afterAll(async () => {
  await Promise.all([good, older, olderCt, newer].map((database) => database.dispose()));
  await redis.dispose();
  rmSync(folder, { recursive: true });
});

/** Its second line: the first one of an EC key begins as in all others. */
const bodyOf = (pem: string): string => pem.split('\n')[2] ?? '';

function environmentOf(app: App, database: TestDatabase): Environment {
  return {
    ...app.environment({
      home: folder,
      databaseUrl: database.url,
      ctDatabaseUrl: database.url,
      urlOf: (process: string) => database.urlOf(process),
      redisUrl: redis.url,
      sealingKeysFile: path.join(folder, 'sealing.keys'),
      caAccountKeysFile: path.join(folder, 'account.keys'),
      logLevel: 'info',
      // Of peers, which are not there.
      port: () => 9,
    }),
    ...Object.fromEntries(['PORT', 'OPS_PORT', 'DNS_PORT'].map((name) => [name, '0'])),
    ...(app.name === 'ct-ingest' && { LOG_LIST: logList, REVOCATION: 'off' }),
    // One Redis serves all databases of the spec.
    REDIS_PREFIX: `spec-${database.url.slice(-6)}`,
    AUDIT_DIR: path.join(folder, `audit-${randomBytes(4).toString('hex')}`),
  };
}

async function start(app: App, { more = {}, database = good }: Input): Promise<Child> {
  const project = path.dirname(path.dirname(app.source));
  return await startChild(process.execPath, {
    args: [path.join(workspaceRoot, 'dist', project, 'main.js')],
    env: { ...environmentOf(app, database), ...more },
  });
}

const linesOf = (child: Child) =>
  child
    .output()
    .split('\n')
    .filter((line) => line !== '');

function expectNoSecret(child: Child): void {
  expect(secrets.every((secret) => secret.length >= 8 || secret === '')).toBe(true);
  for (const secret of secrets.filter((each) => each !== ''))
    expect(child.output().includes(secret) ? 'a secret' : 'none').toBe('none');
}

/** Lines that an operator has to read. */
const faultsOf = (child: Child) =>
  // A connection to Redis that is closed while it opens logs that Redis is unavailable. A log list that has not been read yet
  // is another failed check; so is a built-in CA that was not created.
  linesOf(child).filter(
    (line) =>
      !/"level":"info"|"msg":"Redis is unavailable"|"check":"log-list"|BUILT_IN_CA: no intermediate/.test(
        line,
      ),
  );

/** It does not start, and says why in one line. */
async function expectRefusal(app: App, input: Input, line: RegExp): Promise<void> {
  const child = await start(app, input);
  expect(await child.ended).toMatchObject({ code: 1 });
  expect(faultsOf(child)).toEqual([expect.stringMatching(line)]);
  expectNoSecret(child);
}

/** It runs, is not ready, and exactly one line is about it. */
async function expectUnready(app: App, input: Input, line: RegExp): Promise<void> {
  const child = await start(app, input);
  await child.says(line, 60_000);
  expect(faultsOf(child)).toEqual([expect.stringMatching(line)]);
  expectNoSecret(child);
  child.signal('SIGKILL');
  await child.ended;
}

/** Few at a time: each is a whole process. */
async function ofEach(
  names: (app: App, settings: Environment) => boolean,
  work: (app: App) => Promise<void>,
): Promise<void> {
  const waiting = apps.filter((app) => names(app, environmentOf(app, good)));
  expect(waiting.length).toBeGreaterThan(0);
  const lane = async () => {
    for (let app = waiting.shift(); app !== undefined; app = waiting.shift()) {
      try {
        await work(app);
      } catch (error) {
        throw new Error(`${app.name}: ${(error as Error).message}`, { cause: error });
      }
    }
  };
  await Promise.all([lane(), lane(), lane()]);
}

const always = () => true;
const has =
  (...settings: readonly string[]) =>
  (_app: App, environment: Environment) =>
    settings.some((name) => environment[name] !== undefined);

it('covers every app', () => {
  expect(apps).toHaveLength(11);
});

it('a Secret without a key: the file of a secret does not exist', async () => {
  await ofEach(always, async (app) => {
    const name = app.name === 'dns-gateway' ? 'HANDLE_KEYS' : redisOrDatabase(app);
    const more = { [name]: '', [`${name}_FILE`]: path.join(folder, 'secret', name) };
    const line = `^${app.name} cannot start: ${name} cannot be read from the file that ${name}_FILE names: it does not exist; create it`;
    await expectRefusal(app, { more }, new RegExp(line));
  });
}, 300_000);

const redisOrDatabase = ({ name }: App) =>
  name === 'prober' ? 'REDIS_URL' : name === 'ct-ingest' ? 'CT_DATABASE_URL' : 'DATABASE_URL';

it('a volume that cannot be written: the file of the process id', async () => {
  await ofEach(always, async (app) => {
    const more = { PID_FILE: path.join(aFile, 'pid') };
    await expectRefusal(
      app,
      { more },
      new RegExp(`^${app.name} cannot start: PID_FILE cannot be written: .*path`),
    );
  });
}, 300_000);

it('a full volume: the file of the process id', async () => {
  const isProber = ({ name }: App) => name === 'prober';
  await ofEach(isProber, async (app) => {
    const line = /^prober cannot start: PID_FILE cannot be written: the volume is full; free space.*ENOSPC/;
    await expectRefusal(app, { more: { PID_FILE: '/dev/full' } }, line);
  });
}, 60_000);

it('a database of the other mode', async () => {
  await ofEach(has('APPROVAL_ZONE', 'PUBLIC_URL'), async (app) => {
    if (app.name === 'ct-search') return;
    const line = `^${app.name} cannot start: .*CERTWRIGHT_MODE is production.*DATABASE_URL`;
    await expectRefusal(app, { more: { CERTWRIGHT_MODE: 'production' } }, new RegExp(line));
  });
}, 300_000);

it('a database of an older schema: the process waits, and names the migration and the command', async () => {
  await ofEach(has('DATABASE_URL', 'CT_DATABASE_URL'), async (app) => {
    if (app.name === 'ct-search')
      return await expectUnready(
        app,
        { database: olderCt },
        /CT_DATABASE_URL: the ct schema lacks the migration \w+; run \\"npm run migrate\\"/,
      );
    const [database, setting] =
      app.name === 'ct-ingest' ? [olderCt, 'CT_DATABASE_URL'] : [older, 'DATABASE_URL'];
    const line = `"setting":"${setting}","migration":"\\w+","msg":"not ready: .* run \\\\"npm run migrate\\\\"`;
    await expectUnready(app, { database }, new RegExp(line));
  });
}, 300_000);

it('a database of a newer schema that has lost what the release uses', async () => {
  await ofEach(has('DATABASE_URL', 'CT_DATABASE_URL'), async (app) => {
    const line = /CT_DATABASE_URL: the ct schema needs a release with the migration 9999999999999/;
    if (app.name === 'ct-search') return await expectUnready(app, { database: newer }, line);
    const refusal =
      /cannot start: (CT_)?DATABASE_URL: the (core|ct) schema needs a release with.*start a newer/;
    await expectRefusal(app, { database: newer }, refusal);
  });
}, 300_000);

it('a clock that is five minutes ahead of the database, or of Redis where there is none', async () => {
  await ofEach(has('DATABASE_URL', 'CT_DATABASE_URL', 'REDIS_URL'), async (app) => {
    const line =
      /"check":"clock","result":"failed","error":"the clock of this machine is (?:299|30\d) s ahead of \w+.*; synchronize both machines/;
    await expectUnready(app, { more: { NODE_OPTIONS: `--require ${clock}` } }, line);
  });
}, 300_000);

const isClient = ({ name }: App) => name === 'issuance-worker' || name === 'orders-v3';

it('settings of the gateway that are only partly present', async () => {
  await ofEach(isClient, async (app) => {
    const line = `^${app.name} cannot start: GATEWAY_KEY \\(or GATEWAY_KEY_FILE\\) is missing, and GATEWAY_URL is set: set all`;
    await expectRefusal(app, { more: { GATEWAY_KEY_FILE: '' } }, new RegExp(line));
  });
}, 120_000);

it('an expired client certificate of the gateway', async () => {
  await ofEach(isClient, async (app) => {
    const more = {
      GATEWAY_CERTIFICATE_FILE: gatewayFile(`${app.name}.pem`, 'expired'),
      GATEWAY_KEY_FILE: gatewayFile(`${app.name}.key`, 'expired'),
    };
    const line = `^${app.name} cannot start: GATEWAY_CERTIFICATE expired at 20.*: replace it`;
    await expectRefusal(app, { more }, new RegExp(line));
  });
}, 120_000);

describe('dns-gateway', () => {
  const gateway = () => apps.find(({ name }) => name === 'dns-gateway') as App;

  it.each<[string, () => Environment, RegExp]>([
    [
      'an expired server certificate',
      () => ({
        TLS_CERTIFICATE_FILE: gatewayFile('server.pem', 'expired'),
        TLS_KEY_FILE: gatewayFile('server.key', 'expired'),
      }),
      /^dns-gateway cannot start: TLS_CERTIFICATE_FILE expired at 20/,
    ],
    [
      'a key of another pair',
      () => ({ TLS_KEY_FILE: gatewayFile('server.key', 'expired') }),
      /^dns-gateway cannot start: TLS_CERTIFICATE_FILE does not belong to the key in TLS_KEY_FILE/,
    ],
    [
      'a missing file',
      () => ({ CLIENT_CA_FILE: gatewayFile('none.pem') }),
      /^dns-gateway cannot start: CLIENT_CA_FILE cannot be read: it does not exist/,
    ],
    [
      'an audit folder that cannot be written',
      () => ({ AUDIT_DIR: path.join(aFile, 'audit') }),
      /^dns-gateway cannot start: AUDIT_DIR cannot be written: a part of its path is a file/,
    ],
  ])(
    '%s',
    async (_what, more, line) => {
      await expectRefusal(gateway(), { more: more() }, line);
    },
    60_000,
  );

  it('an audit volume that is full from the start', async () => {
    // The limit on the size of files (RLIMIT_FSIZE), in blocks of 512 bytes.
    const project = path.dirname(path.dirname(gateway().source));
    const main = path.join(workspaceRoot, 'dist', project, 'main.js');
    const child = await startChild('sh', {
      args: ['-c', `ulimit -f 0 && exec "${process.execPath}" "${main}"`],
      env: environmentOf(gateway(), good),
    });
    expect(await child.ended).toMatchObject({ code: 1 });
    expect(faultsOf(child)).toEqual([
      expect.stringMatching(/^dns-gateway cannot start: AUDIT_DIR cannot be written: the volume is full/),
    ]);
  }, 60_000);
});

it('monitoring-worker: a missing file of trusted roots is one line, and it is not ready until the file is there', async () => {
  const worker = apps.find(({ name }) => name === 'monitoring-worker') as App;
  const roots = path.join(folder, 'late.pem');
  const child = await start(worker, { more: { TRUSTED_ROOTS_FILE: roots } });
  await child.says(/TRUSTED_ROOTS_FILE cannot be read/, 60_000);
  const { operations } = JSON.parse(linesOf(child).find((line) => line.includes('"operations"')) ?? '{}') as {
    operations: string;
  };
  expect((await fetch(`${operations}/readyz`)).status).toBe(503);
  writeFileSync(roots, readFileSync(gatewayFile('ca.pem'), 'utf8'));
  await eventually(async () => expect((await fetch(`${operations}/readyz`)).status).toBe(200));
  expect(linesOf(child).filter((line) => line.includes('TRUSTED_ROOTS_FILE'))).toHaveLength(1);
  await child.stop();
}, 120_000);

keysFile('sealing.keys');
keysFile('account.keys');
