import type { AccountSubject } from '@certwright/accounts';
import { countryCodes } from '../cert-objects/country-codes';
import { type Arguments, badParam } from '../wire/arguments';
import { Refusal } from '../wire/reasons';

/** Characters (RFC 5280, appendix A.1: ub-state-name, ub-locality-name, ub-organization-name). */
const longest = { state: 128, locality: 128, organization: 64 } as const;

/**
 * What is to change of the account's distinguished name. An empty text takes an attribute away; what is left out, or null in
 * JSON, stays.
 *
 * @throws Refusal `bad_country`, `bad_param`
 */
export function readSubject(given: Arguments): Partial<AccountSubject> {
  const country = given.text('country');
  const texts = (['state', 'locality', 'organization'] as const).flatMap((name) => {
    const text = given.text(name);
    return text === undefined ? [] : [[name, readText(name, text)] as const];
  });
  return {
    ...(country === undefined ? {} : { country: readCountry(country) }),
    ...Object.fromEntries(texts),
  };
}

function readCountry(text: string): string | null {
  // ASCII only: U+0131 and the like fold to ASCII letters.
  const code = /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : text;
  if (code === '') return null;
  if (countryCodes.has(code)) return code;
  throw new Refusal('bad_country', 'country must be a two-letter code of ISO 3166-1, GB for instance.', {
    param: 'country',
  });
}

function readText(name: keyof typeof longest, text: string): string | null {
  const trimmed = text.trim();
  if ([...trimmed].length > longest[name]) {
    throw badParam(name, 'bad_param', `has ${longest[name]} characters at most.`);
  }
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(trimmed)) {
    throw badParam(name, 'bad_param', 'must be one line, without control characters.');
  }
  return trimmed === '' ? null : trimmed;
}
