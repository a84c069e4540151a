import { ContractError } from './contract-error';

/** Levels of arrays and objects; the messages have six. */
const maxDepth = 16;

/**
 * @param body UTF-8 without a byte order mark
 * @throws {ContractError} for invalid JSON or UTF-8, for more than `maxBytes`, and for an object with a repeated member:
 *   two readers would see two values
 */
export function parseStrictJson(body: Uint8Array, maxBytes: number): unknown {
  if (body.length > maxBytes)
    throw new ContractError('too_large', `the body has more than ${maxBytes} bytes`);
  let text: string;
  let value: unknown;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    value = JSON.parse(text);
  } catch {
    throw new ContractError('malformed', 'the body is not JSON in UTF-8');
  }
  refuseRepeatedMembers(text);
  return value;
}

/** Walks over the tokens of a text that is known to be JSON. */
function refuseRepeatedMembers(text: string): void {
  const open: (Set<string> | null)[] = [];
  for (const [token, name] of text.matchAll(/"((?:[^"\\]|\\.)*)"\s*:|"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (name !== undefined) {
      const member = JSON.parse(`"${name}"`) as string;
      const members = open.at(-1);
      if (members?.has(member))
        throw new ContractError('malformed', `the body has the member ${JSON.stringify(member)} twice`);
      members?.add(member);
    }
    if (open.length > maxDepth)
      throw new ContractError('malformed', `the body has more than ${maxDepth} levels`);
  }
}
