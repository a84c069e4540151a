import type { GrantedSchema, RoleGrants } from '@certwright/postgres';
import { linkFunctions } from '../email-approvals/link-functions';
import { managedOrderFunctions } from '../migrations/1797100000000-managed-orders';
import { approvalResponder } from './approval-responder';
import { certsV2 } from './certs-v2';
import { ctSearch } from './ct-search';
import { issuanceWorker } from './issuance-worker';
import { monitoring } from './monitoring';
import { monitoringWorker } from './monitoring-worker';
import { notifier } from './notifier';
import { ordersV3 } from './orders-v3';

/** Every process but `ct-search`, which uses two tables, compares the schema with its release before it uses it. */
function readingMigrations(roles: Readonly<Record<string, RoleGrants>>): Record<string, RoleGrants> {
  return Object.fromEntries(
    Object.entries(roles).map(([process, grants]) => [
      process,
      { ...grants, tables: { ...grants.tables, core_migration: { select: 'name' } } },
    ]),
  );
}

/** The `core` database, and the privileges of each process's role. Processes that are not listed have no access. */
export const coreSchema: GrantedSchema = {
  name: 'core',
  relations: /^(?!ct_)/,
  functions: [
    'random_id()',
    'terms_are_immutable()',
    'issuance_outcome_is_granted()',
    'monitoring_finding_is_listed()',
    ...managedOrderFunctions,
    ...linkFunctions.map(({ signature }) => signature),
  ],
  definers: linkFunctions,
  roles: {
    ...readingMigrations({
      'orders-v3': ordersV3,
      'certs-v2': certsV2,
      'issuance-worker': issuanceWorker,
      'approval-responder': approvalResponder,
      notifier,
      monitoring,
      'monitoring-worker': monitoringWorker,
    }),
    'ct-search': ctSearch,
  },
};
