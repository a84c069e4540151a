import 'reflect-metadata';
import { Command } from 'commander';
import { accountCommands } from './accounts';
import { apiKeyCommands } from './api-keys';
import { authorityCommands } from './authorities';
import { billingCommands } from './billing';
import { blockedKeyCommands } from './blocked-keys';
import { certificateCommands } from './certificates';
import { clusterCommands } from './clusters';
import { ctCommands } from './ct';
import { dnsIntegrationCommands } from './dns-integrations';
import { issuanceCommands } from './issuances';
import { productCommands } from './products';
import { searchCommands } from './search-plans';
import { seedSandboxCommand } from './seed-sandbox';
import { userCommands } from './users';
import { webhookCommands } from './webhooks';
import { withDatabase } from './with-database';

const program = new Command('admin')
  .description(
    'Administers a Certwright deployment: accounts, users, API keys, balances, clusters, products, CAs, issuances, blocked keys, search plans.',
  )
  .usage('<command> [options]    (npm run admin -- <command> --help)')
  .addHelpText(
    'after',
    `
Environment:
  DATABASE_URL   the core database; without it the one of the running "npm start"
  CT_DATABASE_URL   the ct database, for ct commands; without it the one of the running "npm start"
  REDIS_URL      where running processes are told that a key was disabled; without it the one of "npm start"

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
  blockedKeyCommands,
  certificateCommands,
  issuanceCommands,
  webhookCommands,
  dnsIntegrationCommands,
  searchCommands,
  ctCommands,
  seedSandboxCommand,
]) {
  program.addCommand(commands(withDatabase));
}

program.parseAsync().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
