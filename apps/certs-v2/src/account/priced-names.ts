import { parseDnsName } from '@certwright/dns-names';
import { defaultSanOf } from '../cert-objects/cert-object';
import { Refusal } from '../wire/reasons';

/**
 * The names that a certificate would have, the common name first; what an object would be refused for is refused here.
 *
 * @param sans as callers write them; null: default SANs
 * @throws Refusal `bad_sans`
 */
export function pricedNames(
  cn: string,
  sans: readonly string[] | null,
  mostNames: number,
): readonly string[] {
  const added = sans ?? [defaultSanOf(cn)];
  if (added.length >= mostNames) {
    throw badSans(
      `A certificate of this type has ${mostNames} names at most; it would have ${added.length + 1}.`,
    );
  }
  const names = new Set([cn]);
  for (const text of added) {
    const parsed = parseDnsName(text);
    if (!parsed.ok) throw badSans(parsed.message);
    if (names.has(parsed.name)) throw badSans(`${parsed.name} would be in the certificate twice.`);
    names.add(parsed.name);
  }
  return [...names];
}

function badSans(message: string): Refusal {
  return new Refusal('bad_sans', message, { param: 'san' });
}
