import { parseDnsName } from '@certwright/dns-names';
import { unreadable } from './arguments';
import { QueryArgument } from './page';
import { Refusal } from './reasons';

/**
 * The common name in the path, in normal form: lower case, A-labels, maybe `*.` at the start.
 *
 * @throws Refusal `bad_cn` for a name that no certificate can have
 */
export function readCommonName(text: string): string {
  const parsed = parseDnsName(text);
  if (!parsed.ok) throw new Refusal('bad_cn', parsed.message, { param: 'cn' });
  return parsed.name;
}

/** The common name in a query. */
export const CommonNameArgument = () =>
  QueryArgument('Common name.', (text) => {
    const parsed = parseDnsName(text);
    return parsed.ok ? parsed.name : unreadable('bad_cn', parsed.message);
  });
