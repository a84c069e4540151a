import type { Account } from '@certwright/accounts';
import type { Balance } from '@certwright/billing';

/** Of one account, as it sees itself. */
export function accountJson(account: Account, { balanceCents, creditLimitCents, currency }: Balance): object {
  const { id, name, contactEmail, country, state, locality, organization } = account;
  return {
    id: Number(id),
    name,
    contact_email: contactEmail,
    country,
    state,
    locality,
    organization,
    mail_when_issued: account.mailWhenIssued,
    mail_when_revoked: account.mailWhenRevoked,
    balance_cents: balanceCents,
    credit_limit_cents: creditLimitCents,
    currency,
  };
}
