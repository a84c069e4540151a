import { Command } from 'commander';
import { ctIssuerCommands } from './ct-issuers';
import { ctLogCommands } from './ct-logs';
import { withCtDatabase } from './with-database';

export function ctCommands(): Command {
  const ct = new Command('ct').description('the index of Certificate Transparency');
  for (const commands of [ctLogCommands, ctIssuerCommands]) ct.addCommand(commands(withCtDatabase));
  return ct.addHelpText(
    'after',
    '\nEnvironment:\n  CT_DATABASE_URL   the ct database; without it the one of "npm start"',
  );
}
