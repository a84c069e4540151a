import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { IssuerProfiles, readCcadb } from '@certwright/issuer-profiles';
import { Command, InvalidArgumentError } from 'commander';
import type { WithDatabase } from './with-database';

/** CCADB's largest report has about 20 MiB. */
const maxFileMib = 256;

/** Warnings that are printed. */
const maxWarnings = 20;

export function ctIssuerCommands(withCtDatabase: WithDatabase): Command {
  const issuers = new Command('issuers').description('data about issuers from CCADB');
  issuers
    .command('import <file.csv>')
    .description(
      "import one of CCADB's reports: AllCertificateRecords (any format), AllCertificatePEMs, CAA identifiers or problem " +
        'reporting mechanisms; import AllCertificateRecords first. Values that the file does not contain are kept',
    )
    .option('--as-of <date>', 'date of the file, YYYY-MM-DD (default: its modification time)', day)
    .option('--source <text>', 'source of the file (default: its name)')
    .action(async (file: string, options: { asOf?: string; source?: string }) => {
      const { size, mtime } = await stat(file);
      if (size > maxFileMib * 1_048_576) throw new Error(`The file is larger than ${maxFileMib} MiB.`);
      const asOf = options.asOf ?? mtime.toISOString().slice(0, 10);
      const { records, warnings } = readCcadb(await readFile(file, 'utf8'), asOf);
      for (const warning of warnings.slice(0, maxWarnings)) console.warn(warning);
      if (warnings.length > maxWarnings) console.warn(`… and ${warnings.length - maxWarnings} more`);
      await withCtDatabase(async (database) => {
        const source = options.source ?? path.basename(file);
        const result = await new IssuerProfiles(database).import(records, { asOf, source });
        console.log(
          `${records.length} rows as of ${asOf}: ${result.added} keys added, ${result.changed} changed, ${result.unchanged} unchanged; ` +
            `${result.matched} issuers newly recognized, ${result.profiled} of ${result.issuers} in total`,
        );
      });
    });
  return issuers;
}

/** Rejects 2026-02-30, which JavaScript parses as 2026-03-02 and the database refuses. */
function day(text: string): string {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text || text < '1970')
    throw new InvalidArgumentError('Expected a date such as 2026-11-22.');
  return text;
}
