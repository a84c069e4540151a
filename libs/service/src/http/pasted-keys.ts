import { holdsPrivateKey, Problem } from '@certwright/errors';
import { SentBytes } from './body-parsers';

/** The readers of these members refuse a private key themselves, with an error of their own. */
const readersRefuse: ReadonlySet<string> = new Set(['csr', 'crt', 'chain']);

export const privateKeySent =
  'a private key, which was neither stored nor logged. Consider it exposed: replace it.';

/**
 * Refuses a body that contains a private key in a value or a member name: it must not be stored as the name of an
 * order, nor be repeated in a message. Iterative, since bodies may be nested deeply.
 *
 * @throws Problem `bad_request` naming the member, unless the key is in its name
 */
export function refusePastedKeys(body: unknown): void {
  if (typeof body !== 'object' || body === null) return;
  if (body instanceof SentBytes) {
    const { bytes } = body;
    if (holdsPrivateKey(bytes.toString('latin1')) || holdsPrivateKey(bytes.toString('base64')))
      throw new Problem('bad_request', `The body holds ${privateKeySent}`);
    return;
  }
  for (const [member, value] of Object.entries(body)) {
    if (holdsPrivateKey(member))
      throw new Problem('bad_request', `The name of a member holds ${privateKeySent}`);
    if (readersRefuse.has(member) || !isKeyWithin(value)) continue;
    if (Array.isArray(body)) throw new Problem('bad_request', `The body holds ${privateKeySent}`);
    throw Problem.ofFields([{ field: member, code: 'invalid_value', message: `It holds ${privateKeySent}` }]);
  }
}

function isKeyWithin(value: unknown): boolean {
  const left: unknown[] = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string' && holdsPrivateKey(next)) return true;
    if (typeof next !== 'object' || next === null) continue;
    if (!Array.isArray(next) && Object.keys(next).some(holdsPrivateKey)) return true;
    for (const each of Object.values(next)) left.push(each);
  }
  return false;
}
