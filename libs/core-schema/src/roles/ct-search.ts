import { type RoleGrants, sessionSettings } from '@certwright/postgres';

/** Looks up API keys and search plans. */
export const ctSearch: RoleGrants = {
  tables: {
    account: { select: 'id disabled_at' },
    api_key: { select: 'id account_id secret_sha256 permissions disabled_at' },
    deployment: { select: 'id mode' },
    search_plan: { select: '*' },
    search_subscription: { select: 'account_id plan suspended_at' },
  },
  session: sessionSettings({ statementTimeoutMs: 3_000 }),
};
