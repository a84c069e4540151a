import type { GrantedSchema, RoleGrants } from '@certwright/postgres';
import { ctIngest } from './ct-ingest';
import { ctSearch } from './ct-search';
import { monitoring } from './monitoring';
import { monitoringWorker } from './monitoring-worker';

/** Every process compares the schema with its release before it uses it. */
function readingMigrations(roles: Readonly<Record<string, RoleGrants>>): Record<string, RoleGrants> {
  return Object.fromEntries(
    Object.entries(roles).map(([process, grants]) => [
      process,
      { ...grants, tables: { ...grants.tables, ct_migration: { select: 'name' } } },
    ]),
  );
}

/** The `ct` database, and what the role of each process may do with it. Processes that are not named have no access. */
export const ctSchema: GrantedSchema = {
  name: 'ct',
  relations: /^ct_/,
  functions: [
    // Nothing calls the first three. The previous release lists them too, and its migration fails without them.
    'ct_find_postings(bigint,smallint[],bigint[],integer,integer)',
    'ct_pack_issuances(bigint[],boolean)',
    'ct_pack_stream(bigint,integer)',
    'ct_grant_as(text,text)',
    'ct_make_positions(bigint,bigint)',
    'ct_make_known(timestamp with time zone)',
    'ct_drop_partition(text)',
    'ct_shrink_partition(bigint,bigint[])',
  ],
  definers: [],
  roles: readingMigrations({
    'ct-ingest': ctIngest,
    'ct-search': ctSearch,
    monitoring,
    'monitoring-worker': monitoringWorker,
  }),
};
