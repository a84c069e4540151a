import type { Account } from '@certwright/accounts';
import type { Balance } from '@certwright/billing';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { ApiInteger, ApiNullable } from '../wire/openapi/members';

/** An account as it sees itself. */
@ApiSchema({ name: 'Account' })
export class AccountJson {
  @ApiInteger('Unique; at the start of every API key.') id: number;
  @ApiProperty({ description: 'Display name.' }) name: string;
  @ApiNullable(String, 'Where notices go.') contact_email: string | null;
  @ApiNullable(String, 'ISO 3166-1, two letters.') country: string | null;
  @ApiNullable(String, 'State or province.') state: string | null;
  @ApiNullable(String, 'City.') locality: string | null;
  @ApiNullable(String, 'Organization.') organization: string | null;
  @ApiProperty({ description: 'Whether a mail is sent for each instance that is issued.' })
  mail_when_issued: boolean;
  @ApiProperty({ description: 'Whether a mail is sent when a revocation is complete.' })
  mail_when_revoked: boolean;
  @ApiInteger('Hundredths of the currency; below zero: owed.') balance_cents: number;
  @ApiInteger('How far the balance may go below zero.') credit_limit_cents: number;
  @ApiProperty({ description: 'ISO 4217.' }) currency: string;
}

export function accountJson(
  account: Account,
  { balanceCents, creditLimitCents, currency }: Balance,
): AccountJson {
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
