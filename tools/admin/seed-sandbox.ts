import { claimDeployment, ProductEntity } from '@certwright/core-schema';
import { SearchPlans } from '@certwright/accounts';
import { Command } from 'commander';
import { createAccount } from './accounts';
import { createApiKey } from './api-keys';
import type { WithDatabase } from './with-database';

/** Extended validation without checking documents, so available only in a sandbox. */
const sandboxProduct = 'paid_ev_ca';

/** Includes the stream of all issuances. */
const sandboxSearchPlan = 'firehose';

/** With `npm start` all mail goes to the local mailbox. */
const sandboxMailbox = 'sandbox@example.com';

export function seedSandboxCommand(withDatabase: WithDatabase): Command {
  return new Command('seed-sandbox')
    .description('create an account with a Full Access key in a sandbox, as the first `npm start` does')
    .option('--json', 'print {"account_id", "api_key"}')
    .action(async ({ json }: { json?: boolean }) => {
      await withDatabase(async (database) => {
        await claimDeployment(database, 'sandbox');
        await database.getRepository(ProductEntity).update({ name: sandboxProduct }, { available: true });
        const account_id = await createAccount(database, 'Sandbox', sandboxMailbox);
        await new SearchPlans(database).subscribe(account_id, sandboxSearchPlan);
        const api_key = await createApiKey(database, account_id, 'sandbox', ['Full Access']);
        console.log(
          json === true
            ? JSON.stringify({ account_id, api_key })
            : `account ${account_id}, key ${api_key} (shown once)`,
        );
      });
    });
}
