import { parseDnsName } from '@certwright/dns-names';
import { Refusal } from './reasons';

/**
 * The common name in the path, in normal form: lower case, A-labels, maybe `*.` in front.
 *
 * @throws Refusal `bad_cn` for what no certificate can be for
 */
export function readCommonName(text: string): string {
  const parsed = parseDnsName(text);
  if (!parsed.ok) throw new Refusal('bad_cn', parsed.message, { param: 'cn' });
  return parsed.name;
}
