import type { Account } from '@certwright/accounts';
import type { Balance } from '@certwright/billing';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { countryCodes } from '../cert-objects/country-codes';
import { FlagArgument, TextArgument, unreadable } from '../wire/arguments';
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

/**
 * Changes of an account: its distinguished name, and which mails it gets. Null: removes the attribute, requested by
 * an empty string. Omitted members, or null in JSON, stay.
 */
@ApiSchema({ name: 'AccountRequest' })
export class AccountRequest {
  @TextArgument({}, readCountry) country?: string | null;
  @AttributeArgument(128) state?: string | null;
  @AttributeArgument(128) locality?: string | null;
  @AttributeArgument(64) organization?: string | null;
  @FlagArgument({}) mail_when_issued?: boolean;
  @FlagArgument({}) mail_when_revoked?: boolean;
}

function readCountry(text: string) {
  if (text === '') return null;
  // ASCII only: U+0131 and the like fold to ASCII letters.
  const code = /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : text;
  if (countryCodes.has(code)) return code;
  return unreadable('bad_country', 'country must be a two-letter code of ISO 3166-1, GB for instance.');
}

/** @param maxLength characters (RFC 5280, appendix A.1: ub-state-name, ub-locality-name, ub-organization-name) */
function AttributeArgument(maxLength: number): PropertyDecorator {
  return TextArgument({}, (text, name) => {
    const trimmed = text.trim();
    if ([...trimmed].length > maxLength) {
      return unreadable('bad_param', `${name} must have at most ${maxLength} characters.`);
    }
    if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(trimmed)) {
      return unreadable('bad_param', `${name} must be one line, without control characters.`);
    }
    return trimmed === '' ? null : trimmed;
  });
}
