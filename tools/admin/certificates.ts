import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Outcome,
  revocationReason,
  revocationReasons,
  type RevocationReason,
} from '@certwright/issuance';
import { BlockedKeys, reportedKeyReason, Revocations } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
import { problemText } from './stored-problem';
import type { WithDatabase } from './with-database';

const reasons = Object.entries(revocationReasons).map(([name, code]) => `${name} (${code})`);

interface RevokeOptions {
  readonly account: string;
  readonly id: string;
  readonly reason: string;
}

export function certificateCommands(withDatabase: WithDatabase): Command {
  const certificate = new Command('certificate').description('issued certificates');
  certificate
    .command('revoke')
    .description(
      'revoke a certificate, also of a deleted order; keyCompromise blocks its key for all accounts',
    )
    .requiredOption('--account <id>', 'the account')
    .requiredOption('--id <id>', 'the certificate')
    .requiredOption('--reason <reason>', `${reasons.join(', ')}`)
    .action(async ({ account, id, reason }: RevokeOptions) => {
      const code = reasonOf(reason);
      if (!/^[1-9]\d{0,15}$/.test(id)) throw new Error(`"${id}" is not a certificate id: expected digits.`);
      await withDatabase(async (database) => {
        const accountId = await existingAccount(database, account);
        const planId = await planOf(database, accountId, id);
        const outcome = await new Transactions(database).run(
          async (tx) =>
            await new Revocations().request(tx, {
              planId,
              certificateId: id,
              reason: code,
              requestedBy: 'operator',
            }),
        );
        if (outcome === 'expired') throw new Error(`Certificate ${id} has expired.`);
        console.log(`certificate ${id}: revoked; the CA is notified within seconds`);
      });
    });
  certificate.addCommand(revokeAllCommand(withDatabase));
  certificate
    .command('revocations')
    .description(
      'list the certificates that are revoked here and not yet by their CA, oldest first: certificate, account, CA, serial ' +
        'number, reason, since when, failures in a row, next attempt, and why the CA has not revoked it',
    )
    .action(async () => {
      await withDatabase(async (database) => {
        for (const row of await pendingRevocations(database)) console.log(row.join('\t'));
      });
    });
  return certificate;
}

async function pendingRevocations(database: DataSource): Promise<readonly (readonly string[])[]> {
  const rows = await database.query<
    {
      id: string;
      account_id: string;
      authority: string;
      serial_number: string;
      reason: number;
      revoked_at: Date;
      failures: number | null;
      due_at: Date | null;
      problem: string | null;
      outcome: Outcome | null;
    }[]
  >(
    `SELECT certificate.id, certificate.account_id, coalesce(acme_order.authority, 'built-in') AS authority, serial_number,
       coalesce(revocation_reason, 0) AS reason, revoked_at, attempt.failures, due_at, attempt.problem, attempt.outcome
     FROM certificate
     LEFT JOIN acme_order ON certificate.ca_reference = 'acme:' || acme_order.id
     LEFT JOIN revocation_attempt AS attempt ON attempt.certificate_id = certificate.id
     WHERE revoked_at IS NOT NULL AND ca_revoked_at IS NULL AND not_after >= now()
     ORDER BY revoked_at, certificate.id`,
  );
  return rows.map((row) => [
    ...[row.id, row.account_id, row.authority, row.serial_number, String(row.reason)],
    ...[row.revoked_at.toISOString(), String(row.failures ?? 0), row.due_at?.toISOString() ?? 'now'],
    row.problem === null ? '' : problemText(row.problem, row.outcome),
  ]);
}

function reasonOf(reason: string): RevocationReason {
  const code = revocationReason(/^\d+$/.test(reason) ? Number(reason) : reason);
  if (code === undefined) throw new Error(`"${reason}" is not a reason. Choose from: ${reasons.join(', ')}.`);
  return code;
}

interface RevokeAllOptions {
  readonly authority?: string;
  readonly key?: string;
  readonly account?: string;
  readonly serials?: string;
  readonly reason: string;
  readonly perSecond: string;
  readonly execute?: boolean;
}

interface Selected {
  readonly id: string;
  readonly planId: string;
  readonly accountId: string;
}

const reportEveryMs = 5_000;

function revokeAllCommand(withDatabase: WithDatabase): Command {
  return new Command('revoke-all')
    .description(
      'revoke every valid certificate that all given conditions select. With keyCompromise also those that were revoked ' +
        'before, unless it was for keyCompromise and their key is blocked for all accounts; with --key it also blocks that key ' +
        'for all accounts, even if no certificate has it. Without --execute it only counts them. After an interruption, run it again: what is done is not selected',
    )
    .option('--authority <name>', 'of this CA; "built-in": the built-in CA')
    .option('--key <sha256>', 'with this key: SHA-256 over the DER SubjectPublicKeyInfo, hexadecimal')
    .option('--account <id>', 'of this account')
    .option('--serials <file>', 'with these serial numbers: one per line, hexadecimal; "#" begins a comment')
    .requiredOption('--reason <reason>', `${reasons.join(', ')}`)
    .option('--per-second <n>', 'max revocations per second, 1 to 500: below the limit of the CA', '20')
    .option('--execute', 'revoke them')
    .action(async (options: RevokeAllOptions) => {
      const reason = reasonOf(options.reason);
      const perSecond = Number(options.perSecond);
      if (!/^\d{1,3}$/.test(options.perSecond) || perSecond < 1 || perSecond > 500)
        throw new Error(`--per-second: "${options.perSecond}" is not a whole number from 1 to 500.`);
      await withDatabase(async (database) => {
        const selected = await select(database, options, reason);
        const keyToBlock = await reportedKey(database, options.key, reason);
        if (options.execute !== true) {
          console.log(`${countOf(selected)}${keyToBlock ? '; the key is not blocked for all accounts' : ''}`);
          const actions = [
            ...(keyToBlock ? ['block the key'] : []),
            ...(selected.length > 0 ? ['revoke them'] : []),
          ];
          if (actions.length > 0)
            console.log(`nothing was changed; add --execute to ${actions.join(' and ')}`);
          return;
        }
        if (keyToBlock) {
          await new BlockedKeys(database).add([keyToBlock], reportedKeyReason);
          console.log('the key is blocked for all accounts');
        }
        // Selected again: a certificate may have been issued before the key was blocked.
        const left = keyToBlock ? await select(database, options, reason) : selected;
        console.log(countOf(left));
        await revokeEach(database, left, { reason, perSecond });
      });
    });
}

function countOf(selected: readonly Selected[]): string {
  const accounts = new Set(selected.map(({ accountId }) => accountId));
  return `${selected.length} certificates of ${accounts.size} accounts are selected`;
}

/** @returns the digest of a key that is reported as compromised and not blocked for all accounts yet */
async function reportedKey(
  database: DataSource,
  key: string | undefined,
  reason: RevocationReason,
): Promise<Buffer | null> {
  if (key === undefined || reason !== revocationReasons.keyCompromise) return null;
  const digest = Buffer.from(key, 'hex');
  return (await new BlockedKeys(database).has(digest, '0')) ? null : digest;
}

async function select(
  database: DataSource,
  { authority, key, account, serials }: RevokeAllOptions,
  reason: RevocationReason,
): Promise<readonly Selected[]> {
  if ([authority, key, account, serials].every((condition) => condition === undefined))
    throw new Error('Give at least one of: --authority, --key, --account, --serials.');
  if (key !== undefined && !/^[0-9a-f]{64}$/i.test(key))
    throw new Error(`--key: "${key}" is not a SHA-256 in hexadecimal (64 digits).`);
  if (authority !== undefined && authority !== 'built-in') await existingAuthority(database, authority);
  return await database.query<Selected[]>(
    `SELECT certificate.id, certificate.plan_id AS "planId", certificate.account_id AS "accountId"
     FROM certificate
     LEFT JOIN acme_order ON certificate.ca_reference = 'acme:' || acme_order.id
     WHERE NOT imported AND not_after > now()
       AND (revoked_at IS NULL
         OR $5 AND (revocation_reason IS DISTINCT FROM ${revocationReasons.keyCompromise}
           OR NOT EXISTS (SELECT FROM blocked_key
             WHERE blocked_key.spki_sha256 = certificate.spki_sha256 AND blocked_key.account_id = 0)))
       AND ($1::text IS NULL OR coalesce(acme_order.authority, 'built-in') = $1)
       AND ($2::bytea IS NULL OR spki_sha256 = $2)
       AND ($3::bigint IS NULL OR certificate.account_id = $3)
       AND ($4::text[] IS NULL OR serial_number = ANY ($4))
     ORDER BY certificate.id`,
    [
      authority ?? null,
      key === undefined ? null : Buffer.from(key, 'hex'),
      account === undefined ? null : await existingAccount(database, account),
      serials === undefined ? null : serialsIn(await readFile(serials, 'utf8'), serials),
      reason === revocationReasons.keyCompromise,
    ],
  );
}

async function existingAuthority(database: DataSource, name: string): Promise<void> {
  const rows = await database.query<unknown[]>(`SELECT 1 FROM certificate_authority WHERE name = $1`, [name]);
  if (rows.length === 0)
    throw new Error(`--authority: there is no CA "${name}". "admin authority list" prints the names.`);
}

/** As they are stored: lower case, without the 00 that DER puts before a first byte of 80 or more. */
function serialsIn(text: string, file: string): readonly string[] {
  return text.split('\n').flatMap((line, index) => {
    const serial = line.replace(/#.*/, '').replaceAll(':', '').trim().toLowerCase();
    if (serial === '') return [];
    if (!/^([0-9a-f]{2}){1,21}$/.test(serial))
      throw new Error(`${file}, line ${index + 1}: "${serial}" is not a serial number in hexadecimal.`);
    return [serial.replace(/^(00)+(?=..)/, '')];
  });
}

/** Each in its own transaction, at the given rate: an interruption leaves nothing half revoked. */
async function revokeEach(
  database: DataSource,
  selected: readonly Selected[],
  { reason, perSecond }: { readonly reason: RevocationReason; readonly perSecond: number },
): Promise<void> {
  const startedMs = performance.now();
  let reportedMs = startedMs;
  for (const [count, { id: certificateId, planId }] of selected.entries()) {
    await new Transactions(database).run(
      async (tx) =>
        await new Revocations().request(tx, { planId, certificateId, reason, requestedBy: 'operator' }),
    );
    if (performance.now() - reportedMs >= reportEveryMs) {
      reportedMs = performance.now();
      console.log(`${count + 1} of ${selected.length} revoked`);
    }
    const aheadMs = ((count + 1) * 1_000) / perSecond - (performance.now() - startedMs);
    if (aheadMs > 0 && count + 1 < selected.length) await delay(aheadMs);
  }
  console.log(`${selected.length} revoked; the CAs are notified within seconds`);
}

async function planOf(database: DataSource, accountId: string, certificateId: string): Promise<string> {
  const rows: { plan_id: string }[] = await database.query(
    `SELECT plan_id FROM certificate WHERE id = $1 AND account_id = $2 AND NOT imported`,
    [certificateId, accountId],
  );
  const [row] = rows;
  if (row === undefined)
    throw new Error(`Account ${accountId} has no certificate ${certificateId} that this deployment issued.`);
  return row.plan_id;
}
