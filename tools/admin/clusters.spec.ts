import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  clusterKeyFromSeed,
  enrolmentTokenSha256,
  joinString,
  newEnrolmentToken,
  parseJoinString,
} from '@certwright/agent-contract';
import type { DataSource } from 'typeorm';
import { createAccount } from './accounts';
import { clusterCommands } from './clusters';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
let database: DataSource;
let accountId: string;
let folder: string;

beforeAll(() => {
  database = admin.database;
  folder = mkdtempSync(path.join(tmpdir(), 'cluster-keys-'));
});
beforeEach(async () => {
  accountId = await createAccount(database, 'Spec', null);
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = async (...args: string[]) => await admin.run([clusterCommands], 'cluster', ...args);
const ofAccount = async (...args: string[]) => await run(...args, '--account', accountId);
const newFile = () => path.join(folder, randomBytes(8).toString('hex'));
const secretsIn = (lines: readonly string[]) =>
  parseJoinString(lines.find((line) => line.startsWith('cwj1.'))?.split('\t')[0] ?? '');

async function stored() {
  const [row] = await database.query<
    [
      {
        clusterKey: Buffer | null;
        rotates: boolean;
        digest: Buffer | null;
        uses: number | null;
        lifetimeS: number;
      },
    ]
  >(
    `SELECT cluster_key AS "clusterKey", rotate_keys AS rotates, token_sha256 AS digest, uses,
       extract(epoch FROM expires_at - now())::int AS "lifetimeS"
     FROM cluster LEFT JOIN cluster_enrolment AS enrolment
       ON enrolment.account_id = cluster.account_id AND enrolment.cluster = cluster.name
     WHERE cluster.account_id = $1 ORDER BY enrolment.created_at DESC LIMIT 1`,
    [accountId],
  );
  return row;
}

async function enrol(name: string, id = randomBytes(16).toString('base64url')): Promise<string> {
  await database.query(
    `WITH enrolment AS (
       INSERT INTO cluster_enrolment (account_id, cluster, token_sha256, uses, used, expires_at)
       VALUES ($1, 'web', $3, 1, 1, now()) RETURNING id)
     INSERT INTO agent (id, account_id, cluster, identity_key, sealing_key, enrolment_id, name, version, platform)
     SELECT $2, $1, 'web', $3, $3, enrolment.id, $4, '1.0.0', 'linux x64' FROM enrolment`,
    [accountId, id, randomBytes(32), name],
  );
  return id;
}

describe('cluster create', () => {
  it('creates a cluster without key, and does nothing the second time', async () => {
    const line = `cluster web of account ${accountId}`;
    expect(await ofAccount('create', 'web')).toEqual([line]);
    expect(await ofAccount('create', 'web')).toEqual([line]);
    expect(await stored()).toMatchObject({ clusterKey: null, rotates: true, digest: null });
    expect(await ofAccount('list')).toEqual(['web\tno cluster key']);
  });

  it('keeps the private half of a new cluster key in a file of its user, and prints the join string once', async () => {
    const file = newFile();
    const printed = await ofAccount('create', 'web', '--new-key', file, '--uses', '5', '--expires-in', '600');
    const { token, clusterKeySeed } = secretsIn(printed);
    const seed = readFileSync(file, 'utf8').trim();
    expect(Buffer.from(clusterKeySeed ?? []).toString('base64url')).toBe(seed);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { clusterKey, digest, uses, lifetimeS } = await stored();
    expect(clusterKey).toEqual(Buffer.from(clusterKeyFromSeed(clusterKeySeed ?? randomBytes(32)).publicKey));
    expect(digest).toEqual(enrolmentTokenSha256(token));
    expect(uses).toBe(5);
    expect(Math.abs(lifetimeS - 600)).toBeLessThan(60);
  });

  it('stores the private half nowhere in the database', async () => {
    const file = newFile();
    await ofAccount('create', 'web', '--new-key', file);
    const seed = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64url');
    const rows = await database.query<{ row: string }[]>(
      `SELECT to_jsonb(cluster)::text AS row FROM cluster UNION ALL SELECT to_jsonb(cluster_enrolment)::text FROM cluster_enrolment`,
    );
    const text = JSON.stringify(rows);
    for (const encoding of ['hex', 'base64', 'base64url'] as const)
      expect(text).not.toContain(seed.toString(encoding));
  });

  it('does not replace a file, and then creates no cluster', async () => {
    const file = newFile();
    writeFileSync(file, 'another key');
    await expect(ofAccount('create', 'web', '--new-key', file)).rejects.toThrow('exists');
    expect(readFileSync(file, 'utf8')).toBe('another key');
    expect(await ofAccount('list')).toEqual([]);
  });

  it('takes the public half of a key that was made elsewhere', async () => {
    const file = newFile();
    const [publicKey = ''] = await run('new-key', file);
    await ofAccount('create', 'web', '--cluster-key', publicKey, '--keep-keys');
    expect(await ofAccount('list')).toEqual([`web\t${publicKey}`]);
    expect(await stored()).toMatchObject({ rotates: false });
    await expect(ofAccount('create', 'web', '--cluster-key', publicKey)).rejects.toThrow(
      'has a cluster web already',
    );
  });

  it.each([
    ['an empty name', ['create', ''], 'is empty'],
    ['a name with a line end', ['create', 'a\nb'], 'control characters'],
    ['a key that is too short', ['create', 'web', '--cluster-key', 'AAAA'], '--cluster-key'],
    ['two keys', ['create', 'web', '--cluster-key', 'A'.repeat(43), '--new-key', 'x'], 'either'],
    ['too many uses', ['create', 'web', '--uses', '1001'], 'from 1 to 1000'],
    ['a token for a year', ['create', 'web', '--expires-in', '31536000'], 'from 60 to 2592000'],
  ])('refuses %s', async (_what, args, message) => {
    await expect(ofAccount(...args)).rejects.toThrow(message);
    expect(await ofAccount('list')).toEqual([]);
  });
});

describe('cluster enrol', () => {
  it('prints a join string with the cluster key of the file', async () => {
    const file = newFile();
    const first = secretsIn(await ofAccount('create', 'web', '--new-key', file));
    const second = secretsIn(await ofAccount('enrol', 'web', '--key-file', file));
    expect(second.clusterKeySeed).toEqual(first.clusterKeySeed);
    expect(second.token).not.toBe(first.token);
    expect((await stored()).digest).toEqual(enrolmentTokenSha256(second.token));
  });

  it('refuses the key of another cluster, before a token is made', async () => {
    const other = newFile();
    await run('new-key', other);
    await ofAccount('create', 'web', '--new-key', newFile());
    const { digest } = await stored();
    await expect(ofAccount('enrol', 'web', '--key-file', other)).rejects.toThrow('another key');
    expect((await stored()).digest).toEqual(digest);
  });

  it('says how to complete the join string where the key is kept', async () => {
    const file = newFile();
    await ofAccount('create', 'web', '--new-key', file);
    const printed = await ofAccount('enrol', 'web');
    const { token, clusterKeySeed } = secretsIn(printed);
    expect(clusterKeySeed).toBeNull();
    expect(printed.join('\n')).toContain('cluster join-string --key-file');
    const given = newFile();
    for (const text of [`cwj1.${token}\n`, token]) {
      writeFileSync(given, text);
      const seed = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64url');
      expect(await run('join-string', '--key-file', file, '--from-file', given)).toEqual([
        joinString({ token, clusterKeySeed: seed }),
      ]);
    }
  });

  it('lists join strings, and revokes them', async () => {
    await ofAccount('create', 'web');
    await ofAccount('enrol', 'web', '--uses', '3');
    const [line = ''] = await ofAccount('enrolments', 'web');
    const [id = '', hosts, state] = line.split('\t');
    expect([hosts, state]).toEqual(['0/3', 'active']);
    await ofAccount('revoke-enrolment', 'web', id);
    expect((await ofAccount('enrolments', 'web'))[0]).toContain('revoked');
    await expect(ofAccount('revoke-enrolment', 'web', '1')).rejects.toThrow('no join string 1');
  });
});

describe('cluster new-key and join-string', () => {
  const offline = async (...args: string[]) =>
    await admin.run(
      [() => clusterCommands(() => Promise.reject(new Error('the database was used')))],
      'cluster',
      ...args,
    );

  it('need no database', async () => {
    const [file, given] = [newFile(), newFile()];
    const [publicKey = ''] = await offline('new-key', file);
    expect(publicKey).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const token = newEnrolmentToken();
    writeFileSync(given, token);
    const printed = await offline('join-string', '--key-file', file, '--from-file', given);
    const { clusterKeySeed } = secretsIn(printed);
    const { publicKey: derived } = clusterKeyFromSeed(clusterKeySeed ?? randomBytes(32));
    expect(Buffer.from(derived).toString('base64url')).toBe(publicKey);
  });

  it('do not repeat what is no join string', async () => {
    const [file, given] = [newFile(), newFile()];
    await offline('new-key', file);
    writeFileSync(given, 'secret-but-malformed');
    const failed = offline('join-string', '--key-file', file, '--from-file', given);
    await expect(failed).rejects.toThrow(/token/);
    await expect(failed).rejects.not.toThrow(/secret-but-malformed/);
  });
});

describe('cluster agents', () => {
  beforeEach(async () => void (await ofAccount('create', 'web')));

  it('lists and removes agents, and shows texts of hosts without control characters', async () => {
    const id = await enrol('web-1\u001b[31m');
    const [line = ''] = await ofAccount('agents', 'web');
    expect(line.split('\t').slice(0, 5)).toEqual([id, 'web-1\ufffd[31m', 'online', '1.0.0', 'linux x64']);
    expect((await ofAccount('remove-agent', 'web', '--agent', id)).join()).toContain('cluster rekey web');
    expect((await ofAccount('agents', 'web'))[0]).toContain('removed');
    await expect(ofAccount('remove-agent', 'web', '--agent', 'none')).rejects.toThrow('no agent none');
  });

  it('removes an agent whose id begins with a hyphen, as one of 64 does', async () => {
    const id = await enrol('web-1', Buffer.concat([Buffer.of(0xf8), randomBytes(15)]).toString('base64url'));
    expect(id).toMatch(/^-/);
    expect((await ofAccount('remove-agent', 'web', '--agent', id)).join()).toContain(`agent ${id}: removed`);
  });

  it('does not find the cluster of another account', async () => {
    const other = await createAccount(database, 'Other', null);
    await expect(run('agents', 'web', '--account', other)).rejects.toThrow('has no cluster web');
  });
});

describe('cluster rekey and delete', () => {
  async function order(name: string): Promise<void> {
    await database.query(
      `WITH made AS (
         INSERT INTO plan (account_id, revision, auto_renew, muted, paused, download_token, owner)
         VALUES ($1, 1, true, false, false, $2, 'orders-v3') RETURNING id)
       INSERT INTO order_v3 (plan_id, account_id, name, dns_names, approver_emails, cluster, product, key_type, csr, spki_sha256)
       SELECT id, $1, $2, '{example.com}', '{}', 'web', 'free_ca', 'ecdsa', 'x', sha256('x') FROM made`,
      [accountId, name],
    );
  }

  it('requests new keys, at once with --now', async () => {
    await ofAccount('create', 'web');
    const name = randomBytes(16).toString('hex');
    await order(name);
    expect(await ofAccount('rekey', 'web', '--now')).toEqual(['cluster web: 1 orders get a new key']);
    const rows = await database.query<unknown[]>(
      `SELECT 1 FROM key_request JOIN order_v3 USING (plan_id) WHERE name = $1 AND due_at <= now()`,
      [name],
    );
    expect(rows).toHaveLength(1);
  });

  it('deletes a cluster that no order names', async () => {
    await ofAccount('create', 'web');
    const name = randomBytes(16).toString('hex');
    await order(name);
    await expect(ofAccount('delete', 'web')).rejects.toThrow(`such as ${name}`);
    await database.query(`DELETE FROM order_v3 WHERE name = $1`, [name]);
    expect(await ofAccount('delete', 'web')).toEqual(['cluster web: deleted']);
    expect(await ofAccount('list')).toEqual([]);
  });
});
