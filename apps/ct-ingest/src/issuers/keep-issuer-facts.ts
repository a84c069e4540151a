import { IssuerProfiles, knownOrganizationsAsOf } from '@certwright/issuer-profiles';
import { repeat, type RunningProcess } from '@certwright/service';
import type { DataSource } from 'typeorm';

/** How often profiles are matched with issuers that have appeared since, ms. */
const restMs = 30_000;
const afterErrorMs = 5_000;

/** Keeps what is known of issuers beside their certificates. Needs no revocation lists: it runs with REVOCATION=off too. */
export async function keepIssuerFacts(database: DataSource, { log, opened }: RunningProcess): Promise<void> {
  const profiles = new IssuerProfiles(database);
  const changed = await profiles.keepKnownOrganizations();
  log.info({ as_of: knownOrganizationsAsOf, changed }, 'known organizations of issuers');
  const match = async () => {
    const matched = await profiles.match();
    if (matched > 0) log.info({ matched }, 'issuers recognised');
    return restMs;
  };
  const onError = (error: unknown) =>
    log.warn({ round: 'matchIssuers', err: error }, 'round failed; it is repeated');
  const matching = repeat(match, { afterErrorMs, onError });
  opened('matchIssuers', async () => await matching.stop());
}
