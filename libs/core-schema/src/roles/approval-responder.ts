import { type RoleGrants, sessionSettings } from '@certwright/postgres';
import { linkFunctions } from '../email-approvals/link-functions';

/**
 * Reads its responses to CAs. Follows links through functions that require the token, and has no other access to
 * orders.
 */
export const approvalResponder: RoleGrants = {
  tables: {
    challenge_file: { select: '*' },
    challenge_record: { select: 'label value expires_at' },
    delegation: { select: 'dns_name label retired_at' },
    deployment: { select: 'id mode' },
    http_challenge: { select: '*' },
    web_rule: { select: '*' },
  },
  functions: linkFunctions.map(({ signature }) => signature),
  session: sessionSettings({ statementTimeoutMs: 5_000 }),
};
