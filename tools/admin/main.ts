import 'reflect-metadata';
import { Command } from 'commander';
import { accountCommands } from './accounts';
import { apiKeyCommands } from './api-keys';
import { authorityCommands } from './authorities';
import { billingCommands } from './billing';
import { blockedKeyCommands } from './blocked-keys';
import { caCommands } from './ca/ca';
import { certificateCommands } from './certificates';
import { clusterCommands } from './clusters';
import { ctIssuerCommands } from './ct-issuers';
import { ctLogCommands } from './ct-logs';
import { dnsIntegrationCommands } from './dns-integrations';
import { issuanceCommands } from './issuances';
import { monitoringCommands } from './monitoring';
import { productCommands } from './products';
import { searchCommands } from './search-plans';
import { seedSandboxCommand } from './seed-sandbox';
import { userCommands } from './users';
import { webhookCommands } from './webhooks';
import { withCtDatabase, withDatabase } from './with-database';
import { failureText } from '../failure-text';
import { readUrlFiles } from '../url-files';

const program = new Command('admin')
  .description(
    'Administer a Certwright deployment: accounts, users, API keys, balances, clusters, products, CAs, the built-in CA, issuances, blocked keys, search plans, monitored domains.',
  )
  .usage('<command> [options]    (npm run admin -- <command> --help)')
  .addHelpText(
    'after',
    `
Environment:
  DATABASE_URL      the core database (default: that of "npm start")
  CT_DATABASE_URL   the ct database, for ct commands (default: that of "npm start")
  DATABASE_POOLER   as for the processes, if they lead to a pooler: transaction or transaction-prepared
  REDIS_URL         notifies running processes of disabled keys (default: that of "npm start");
                    with REDIS_PREFIX and the other settings of the processes, if they have them

Examples:
  npm run admin -- account create --name "Example Ltd" --email ops@example.com
  npm run admin -- key create --account 81234567890123 --label ci --permission "Order and Manage Certificates"
  npm run admin -- key disable 7`,
  )
  .showHelpAfterError();

for (const commands of [
  accountCommands,
  userCommands,
  apiKeyCommands,
  clusterCommands,
  billingCommands,
  productCommands,
  authorityCommands,
  caCommands,
  blockedKeyCommands,
  certificateCommands,
  issuanceCommands,
  webhookCommands,
  dnsIntegrationCommands,
  searchCommands,
  monitoringCommands,
  ctCommands,
  seedSandboxCommand,
]) {
  program.addCommand(commands(withDatabase));
}

function ctCommands(): Command {
  const ct = new Command('ct').description('the index of Certificate Transparency');
  for (const commands of [ctLogCommands, ctIssuerCommands]) ct.addCommand(commands(withCtDatabase));
  return ct.addHelpText(
    'after',
    '\nEnvironment:\n  CT_DATABASE_URL   the ct database (default: that of "npm start")',
  );
}

async function main(): Promise<void> {
  readUrlFiles(process.env);
  await program.parseAsync();
}

main().catch((error: unknown) => {
  console.error(failureText(error));
  process.exit(1);
});
