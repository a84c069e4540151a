import type { RoleGrants } from '@certwright/postgres';
import { linkFunctions } from '../email-approvals/link-functions';

/** Reads what it answers to CAs. A link it follows by functions that know its token, and nothing else of an order. */
export const approvalResponder: RoleGrants = {
  tables: {
    challenge_file: { select: '*' },
    challenge_record: { select: 'label value expires_at' },
    delegation: { select: 'dns_name label retired_at' },
    deployment: { select: 'mode' },
    http_challenge: { select: '*' },
    web_rule: { select: '*' },
  },
  functions: linkFunctions.map(({ signature }) => signature),
};
