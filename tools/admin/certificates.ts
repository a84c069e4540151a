import { revocationReason, revocationReasons } from '@certwright/issuance';
import { Revocations } from '@certwright/ordering';
import { Transactions } from '@certwright/core-schema';
import { Command } from 'commander';
import type { DataSource } from 'typeorm';
import { existingAccount } from './accounts';
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
      const code = revocationReason(/^\d+$/.test(reason) ? Number(reason) : reason);
      if (code === undefined)
        throw new Error(`"${reason}" is not a reason. Choose from: ${reasons.join(', ')}.`);
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
  return certificate;
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
