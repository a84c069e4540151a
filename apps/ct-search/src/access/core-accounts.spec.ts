import { randomBytes } from 'node:crypto';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { DatabasePool } from '@certwright/postgres';
import { eventually, severableLink, type TestDatabase, testDatabase } from '@certwright/testing';
import { CoreAccounts, CoreUnavailable } from './core-accounts';

let database: TestDatabase;
const opened: { close(): Promise<void> }[] = [];
beforeAll(async () => {
  database = await testDatabase();
});
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});
afterAll(async () => await database.dispose());

function accounts(url = database.url, statementTimeoutMs = 10_000): CoreAccounts {
  const options = { url, applicationName: 'spec', poolSize: 2, statementTimeoutMs };
  const made = new CoreAccounts(options);
  opened.push(made);
  return made;
}

/** The same database through another port. */
function through(port: number): string {
  const url = new URL(database.url);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

let lastAccount = 1_000;
/** An account with a key. @returns what the key is known by */
async function tenant(): Promise<{ readonly accountId: string; readonly secretSha256: Buffer }> {
  const accountId = String((lastAccount += 1));
  const secretSha256 = randomBytes(32);
  await database.query(`INSERT INTO account (id, name) VALUES ($1, 'Spec')`, [accountId]);
  await database.query(
    `INSERT INTO api_key (account_id, label, secret_sha256, permissions) VALUES ($1, 'spec', $2, $3)`,
    [accountId, secretSha256, ['Search Certificates', 'Something Else']],
  );
  return { accountId, secretSha256 };
}

describe('a key', () => {
  it('has the default plan when its account has no subscription', async () => {
    const { accountId, secretSha256 } = await tenant();
    expect(await accounts().findSearchKey(secretSha256)).toEqual({
      keyId: expect.stringMatching(/^\d+$/),
      accountId,
      permissions: ['Search Certificates', 'Something Else'],
      disabled: false,
      suspended: false,
      plan: { name: 'free', queriesPerS: 1, burst: 10, timeLimitMs: 5_000, firehose: false },
    });
  });

  it('has the plan of its account until the subscription is suspended', async () => {
    const { accountId, secretSha256 } = await tenant();
    const subject = accounts();
    await database.query(`INSERT INTO search_subscription (account_id, plan) VALUES ($1, 'firehose')`, [
      accountId,
    ]);
    const plan = { name: 'firehose', queriesPerS: 25, burst: 100, timeLimitMs: 20_000, firehose: true };
    expect(await subject.findSearchKey(secretSha256)).toMatchObject({ suspended: false, plan });
    await database.query(`UPDATE search_subscription SET suspended_at = now() WHERE account_id = $1`, [
      accountId,
    ]);
    expect(await subject.findSearchKey(secretSha256)).toMatchObject({ suspended: true, plan });
  });

  it.each([
    ['itself', `UPDATE api_key SET disabled_at = now() WHERE account_id = $1`],
    ['with its account', `UPDATE account SET disabled_at = now() WHERE id = $1`],
  ])('is disabled: %s', async (_what, disable) => {
    const { accountId, secretSha256 } = await tenant();
    const other = await tenant();
    await database.query(disable, [accountId]);
    const subject = accounts();
    expect(await subject.findSearchKey(secretSha256)).toMatchObject({ disabled: true });
    expect(await subject.findSearchKey(other.secretSha256)).toMatchObject({ disabled: false });
  });

  it('that does not exist is not found', async () => {
    expect(await accounts().findSearchKey(randomBytes(32))).toBeNull();
    expect(await accounts().findSearchKey(Buffer.alloc(0))).toBeNull();
  });
});

describe('keys that do not exist', () => {
  it('take few statements, however many are looked up at a time', async () => {
    const { secretSha256 } = await tenant();
    const query = jest.spyOn(DatabasePool.prototype, 'query');
    const subject = accounts();
    const unknown = Array.from({ length: 500 }, async () => await subject.findSearchKey(randomBytes(32)));
    expect(await subject.findSearchKey(secretSha256)).toMatchObject({ disabled: false });
    expect(new Set(await Promise.all(unknown))).toEqual(new Set([null]));
    expect(query.mock.calls.length).toBeLessThan(20);
    query.mockRestore();
  });
});

describe('an unavailable database', () => {
  it('rejects, and recovers when it is back', async () => {
    const { hostname, port } = new URL(database.url);
    const link = await severableLink({ host: hostname, port: Number(port) });
    opened.push(link);
    const { secretSha256 } = await tenant();
    const subject = accounts(through(link.port));
    await subject.check();
    link.cut();
    await expect(subject.findSearchKey(secretSha256)).rejects.toThrow(CoreUnavailable);
    await expect(subject.check()).rejects.toThrow(CoreUnavailable);
    link.restore();
    expect(await subject.findSearchKey(secretSha256)).toMatchObject({ disabled: false });
  });

  it('may close idle connections, as a restart does', async () => {
    const { secretSha256 } = await tenant();
    const subject = accounts();
    await subject.check();
    const ofSubject = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'spec'`;
    await database.query(`SELECT pg_terminate_backend(pid) ${ofSubject}`);
    await eventually(async () => expect(await database.query(`SELECT ${ofSubject}`)).toEqual([]));
    await eventually(async () => expect(await subject.findSearchKey(secretSha256)).not.toBeNull());
  });

  it('rejects after a statement timeout, and the connection remains usable', async () => {
    const { secretSha256 } = await tenant();
    const subject = accounts(database.url, 500);
    await database.transaction(async (tx) => {
      await tx.query('LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE');
      await expect(subject.findSearchKey(secretSha256)).rejects.toThrow(CoreUnavailable);
    });
    await eventually(async () =>
      expect(await subject.findSearchKey(secretSha256)).toMatchObject({ disabled: false }),
    );
  });

  it('rejects when the server hangs, and queries over another connection', async () => {
    const link = await silencedLink(Number(new URL(database.url).port));
    opened.push(link);
    const { secretSha256 } = await tenant();
    const subject = accounts(through(link.port), 500);
    await eventually(async () => await subject.check());
    link.silence();
    await expect(subject.findSearchKey(secretSha256)).rejects.toThrow(CoreUnavailable);
    await eventually(async () =>
      expect(await subject.findSearchKey(secretSha256)).toMatchObject({ disabled: false }),
    );
  });

  it('rejects as soon when a server accepts connections and sends nothing', async () => {
    const server = createServer((socket) => void socket.on('error', () => undefined).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    opened.push({ close: async () => await new Promise<void>((resolve) => server.close(() => resolve())) });
    const subject = accounts(through((server.address() as AddressInfo).port), 300);
    await expect(subject.findSearchKey(randomBytes(32))).rejects.toThrow(CoreUnavailable);
    await expect(subject.check()).rejects.toThrow(CoreUnavailable);
  });

  it('is not reported for an invalid statement', async () => {
    const subject = accounts();
    await database.query(`ALTER TABLE search_plan RENAME TO elsewhere`);
    await expect(subject.findSearchKey(randomBytes(32))).rejects.not.toThrow(CoreUnavailable);
    await database.query(`ALTER TABLE elsewhere RENAME TO search_plan`);
  });
});

/** Connections made before `silence` stay open and transfer nothing more. */
async function silencedLink(target: number) {
  const sockets: Socket[] = [];
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    sockets.push(client, upstream);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.pipe(upstream).pipe(client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    silence: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the settings of sessions', () => {
  it('are not checked again once they were right, so that a silent server does not make every copy unready', async () => {
    let isSilent = false;
    const server = createServer((client) => {
      if (isSilent) return;
      const upstream = connect(Number(new URL(database.url).port), '127.0.0.1');
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const subject = accounts(through((server.address() as AddressInfo).port), 600_000);
    await subject.checkSettings();
    const sessions = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'spec' AND pid <> pg_backend_pid()`;
    isSilent = true;
    await database.query(sessions);
    await subject.checkSettings();
    server.close();
  });
});
