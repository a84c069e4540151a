import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Outbox, Transactions } from '@certwright/core-schema';
import { BlockedKeys, Issuances, Plans } from '@certwright/ordering';
import { certificateCommands } from './certificates';
import { adminFixture } from './testing/admin-fixture';

const admin = adminFixture();
const [one, other] = ['1000000000001', '1000000000002'];
const folder = mkdtempSync(path.join(tmpdir(), 'certwright-revoke-'));
afterAll(() => rmSync(folder, { recursive: true }));

beforeAll(async () => {
  await admin.database.query(`INSERT INTO account (id, name) VALUES ($1, 'One'), ($2, 'Other')`, [
    one,
    other,
  ]);
});
beforeEach(async () => await admin.database.query(`DELETE FROM certificate`));

const run = async (...args: string[]) =>
  (await admin.run([certificateCommands], 'certificate', 'revoke-all', ...args)).join('\n');

/** A valid certificate with its own plan. */
async function issued(accountId: string, serial: string, spkiSha256 = randomBytes(32)): Promise<void> {
  const { database } = admin;
  const dnsNames = ['a.example.com'];
  const { planId, issuanceId } = await new Transactions(database).run(async (tx) => {
    const planId = await new Plans().create(tx, {
      ...{ accountId, autoRenew: false, muted: false, paused: false },
      downloadToken: randomBytes(16).toString('hex'),
    });
    const key = { keyType: 'ecdsa' as const, csr: Buffer.of(1), spkiSha256 };
    const terms = { product: 'free_ca', dnsNames, approverEmails: {}, approvalWays: null, ...key };
    const termsId = await new Plans().setTerms(tx, planId, terms);
    const opening = { planId, accountId, revision: 1, termsId, dnsNames, settlingMs: 0 };
    return { planId, issuanceId: await new Issuances(database, new Outbox(database)).open(tx, opening) };
  });
  await database.query(`UPDATE issuance SET state = 'issued', closed_at = now() WHERE id = $1`, [issuanceId]);
  await database.query(
    `WITH chain AS (
       INSERT INTO certificate_chain (sha256, chain, root) VALUES ($4, '{}', '') RETURNING sha256)
     INSERT INTO certificate (id, account_id, plan_id, issuance_id, ca_reference, imported, is_current, dns_names, key_type,
       serial_number, not_before, not_after, sha256, spki_sha256, leaf, chain_sha256)
     SELECT random_id(), $1, $2, $3::bigint, $3::text, false, false, $7, 'ecdsa', $5, now(), now() + interval '1 day', $4, $6, '',
       sha256 FROM chain`,
    [accountId, planId, issuanceId, randomBytes(32), serial, spkiSha256, dnsNames],
  );
}

const revoked = async () => {
  const rows = await admin.database.query<{ serial: string }[]>(
    `SELECT serial_number AS serial FROM certificate WHERE revoked_at IS NOT NULL ORDER BY 1`,
  );
  return rows.map(({ serial }) => serial);
};

const reasonsOf = async (accountId: string) => {
  const rows = await admin.database.query<{ reason: number }[]>(
    `SELECT revocation_reason AS reason FROM certificate WHERE account_id = $1 AND revoked_at IS NOT NULL`,
    [accountId],
  );
  return rows.map(({ reason }) => reason);
};

describe('certificate revoke-all', () => {
  it('only counts without --execute', async () => {
    await issued(one, '01');
    await issued(other, '02');
    expect(await run('--authority', 'built-in', '--reason', 'superseded')).toBe(
      '2 certificates of 2 accounts are selected\nnothing was changed; add --execute to revoke them',
    );
    expect(await revoked()).toEqual([]);
  });

  it('revokes what all conditions select, and nothing when it is repeated', async () => {
    const key = randomBytes(32);
    await issued(one, '0a', key);
    await issued(one, '0b');
    await issued(other, '0c', key);
    const file = path.join(folder, 'serials.txt');
    writeFileSync(file, '# of the incident\n0A\n0b\n0c\n');
    const args = [
      '--serials',
      file,
      '--account',
      one,
      '--key',
      key.toString('hex'),
      '--reason',
      '4',
      '--execute',
    ];
    expect(await run(...args)).toContain('1 revoked');
    expect(await revoked()).toEqual(['0a']);
    expect(await run(...args)).toContain('0 certificates of 0 accounts');
    expect(await run('--serials', file, '--reason', '4', '--per-second', '500', '--execute')).toContain(
      '2 revoked',
    );
    expect(await revoked()).toEqual(['0a', '0b', '0c']);
  });

  it('with keyCompromise also takes what was revoked before, until every key is blocked for all accounts', async () => {
    const keys = [randomBytes(32), randomBytes(32), randomBytes(32)] as const;
    await issued(one, '01', keys[0]);
    await issued(one, '02', keys[1]);
    await issued(one, '03', keys[2]);
    await admin.database.query(
      `UPDATE certificate SET revoked_at = now(), revocation_reason = CASE serial_number WHEN '01' THEN 4 ELSE 1 END
       WHERE serial_number < '03'`,
    );
    expect(await run('--account', one, '--reason', 'superseded')).toContain('1 certificates of 1 accounts');
    const args = ['--account', one, '--reason', 'keyCompromise', '--per-second', '500', '--execute'];
    expect(await run(...args)).toContain('3 revoked');
    expect(await reasonsOf(one)).toEqual([1, 1, 1]);
    for (const key of keys) expect(await new BlockedKeys(admin.database).has(key, other)).toBe(true);
    expect(await run(...args)).toContain('0 certificates of 0 accounts');
  });

  it('with --key and keyCompromise blocks a key that no certificate has for all accounts', async () => {
    const key = randomBytes(32);
    const blocked = new BlockedKeys(admin.database);
    const args = ['--key', key.toString('hex').toUpperCase(), '--reason', 'keyCompromise'];
    const none = '0 certificates of 0 accounts are selected';
    expect(await run(...args)).toBe(
      `${none}; the key is not blocked for all accounts\nnothing was changed; add --execute to block the key`,
    );
    await expect(run(...args, '--authority', 'none', '--execute')).rejects.toThrow('there is no CA "none"');
    await run('--key', key.toString('hex'), '--reason', 'superseded', '--execute');
    expect(await blocked.has(key, one)).toBe(false);
    expect(await run(...args, '--execute')).toBe(
      `the key is blocked for all accounts\n${none}\n0 revoked; the CAs are notified within seconds`,
    );
    for (const account of [one, other]) expect(await blocked.has(key, account)).toBe(true);
    expect(await run(...args)).toBe(none);
    expect(await blocked.isListLoaded()).toBe(false);
  });

  it('reads serial numbers as OpenSSL and crt.sh print them: with the 00 of DER, and with colons', async () => {
    await issued(one, 'ab12');
    await issued(one, '0c34');
    const file = path.join(folder, 'printed.txt');
    writeFileSync(file, '00:AB:12\r\n000c34\n');
    expect(await run('--serials', file, '--reason', '4')).toContain('2 certificates of 1 accounts');
  });

  it('refuses conditions that select everything, or cannot be read', async () => {
    await expect(run('--reason', '4')).rejects.toThrow('Give at least one of');
    await expect(run('--reason', '4', '--key', 'ab')).rejects.toThrow('--key: "ab" is not a SHA-256');
    await expect(run('--reason', '4', '--authority', 'none')).rejects.toThrow('there is no CA "none"');
    await expect(run('--reason', '4', '--account', one, '--per-second', '0')).rejects.toThrow('1 to 500');
    const file = path.join(folder, 'wrong.txt');
    writeFileSync(file, '01\nxyz\n');
    await expect(run('--reason', '4', '--serials', file)).rejects.toThrow('line 2: "xyz" is not a serial');
  });
});

describe('certificate revocations', () => {
  it('lists what a CA has not revoked yet, and why', async () => {
    await issued(one, 'a1');
    await issued(one, 'a2');
    await run('--account', one, '--reason', 'superseded', '--execute');
    const [refused] = await admin.database.query<[{ id: string }]>(
      `SELECT id FROM certificate WHERE serial_number = 'a2'`,
    );
    await admin.database.query(
      `INSERT INTO revocation_attempt (certificate_id, failures, due_at, refused, problem, outcome)
       VALUES ($1, 7, '2026-11-28T12:00:00Z', true, 'the CA said no', '{"code":"text","text":"the CA said no"}')`,
      [refused.id],
    );
    const lines = await admin.run([certificateCommands], 'certificate', 'revocations');
    const serialOf = (columns: readonly string[]) => columns[3] ?? '';
    const rows = lines.map((line) => line.split('\t'));
    expect(rows.sort((first, second) => serialOf(first).localeCompare(serialOf(second)))).toEqual([
      [expect.any(String), one, 'built-in', 'a1', '4', expect.any(String), '0', 'now', ''],
      [
        ...[refused.id, one, 'built-in', 'a2', '4', expect.any(String)],
        ...['7', '2026-11-28T12:00:00.000Z', 'the CA said no'],
      ],
    ]);
    await admin.database.query(`DELETE FROM revocation_attempt`);
  });
});
