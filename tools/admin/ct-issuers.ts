import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { IssuerProfiles, readCcadb } from '@certwright/issuer-profiles';
import { Command, InvalidArgumentError } from 'commander';
import type { WithDatabase } from './with-database';

/** CCADB's largest report has some twenty, MiB. */
const longestFileMib = 256;

/** Warnings that are shown one by one. */
const mostWarnings = 20;

export function ctIssuerCommands(withCtDatabase: WithDatabase): Command {
  const issuers = new Command('issuers').description('what is known of issuers beside their certificates');
  issuers
    .command('import <file.csv>')
    .description(
      "take over one of CCADB's reports: AllCertificateRecords (any format), AllCertificatePEMs, CAA identifiers or problem " +
        'reporting mechanisms; import AllCertificateRecords first. What the file does not tell stays as it is',
    )
    .option('--as-of <date>', 'day of the file, YYYY-MM-DD (default: when it was written)', day)
    .option('--source <text>', 'where it is from (default: its name)')
    .action(async (file: string, options: { asOf?: string; source?: string }) => {
      const { size, mtime } = await stat(file);
      if (size > longestFileMib * 1_048_576)
        throw new Error(`The file is longer than ${longestFileMib} MiB.`);
      const asOf = options.asOf ?? mtime.toISOString().slice(0, 10);
      const { records, warnings } = readCcadb(await readFile(file, 'utf8'), asOf);
      for (const warning of warnings.slice(0, mostWarnings)) console.warn(warning);
      if (warnings.length > mostWarnings) console.warn(`… and ${warnings.length - mostWarnings} more`);
      await withCtDatabase(async (database) => {
        const source = options.source ?? path.basename(file);
        const result = await new IssuerProfiles(database).import(records, { asOf, source });
        console.log(
          `${records.length} rows of ${asOf}: ${result.added} keys new, ${result.changed} changed, ${result.unchanged} unchanged; ` +
            `${result.matched} issuers recognised now, ${result.profiled} of ${result.issuers} in all`,
        );
      });
    });
  return issuers;
}

/** One that there is: a date of JavaScript takes 2026-02-30 for 2026-03-02, and the database does not take it at all. */
function day(text: string): string {
  const ms = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text || text < '1970')
    throw new InvalidArgumentError('It is a day such as 2026-11-22.');
  return text;
}
