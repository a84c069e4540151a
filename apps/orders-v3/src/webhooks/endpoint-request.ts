import type { FieldFault } from '@certwright/errors';
import { readObject, unknownMembers } from '../wire/object-members';
import { readOnlyWebhookMembers } from '../wire/webhook-json';
import { type EndpointUrl, readEndpointUrl } from '@certwright/webhooks';

/** Unicode code points. */
export const longestDescription = 255;

/** What is asked of an endpoint; what is left out keeps its value, or gets its default. */
export interface EndpointWishes {
  readonly url?: EndpointUrl;
  readonly description?: string;
  readonly enabled?: boolean;
}

export interface EndpointReading {
  readonly wishes: EndpointWishes;
  readonly faults: readonly FieldFault[];
}

const knownMembers: ReadonlySet<string> = new Set([
  'url',
  'description',
  'enabled',
  ...readOnlyWebhookMembers,
]);

/**
 * Reads the body of a POST, every member by itself.
 *
 * @throws Problem `bad_request` when the body is no object
 */
export function readEndpointRequest(sent: unknown): EndpointReading {
  const body = readObject(sent, 'a webhook');
  const faults: FieldFault[] = [];
  const read = <T>(member: string, reader: (value: unknown) => Reading<T>): T | undefined => {
    if (!Object.hasOwn(body, member)) return undefined;
    const reading = reader(body[member]);
    if ('value' in reading) return reading.value;
    faults.push({ field: member, code: 'invalid_value', message: `It ${reading.fault}.` });
    return undefined;
  };
  const url = read('url', readUrl);
  const description = read('description', readDescription);
  const enabled = read('enabled', readBoolean);
  return {
    wishes: {
      ...(url === undefined ? {} : { url }),
      ...(description === undefined ? {} : { description }),
      ...(enabled === undefined ? {} : { enabled }),
    },
    faults: [...faults, ...unknownMembers(body, knownMembers, 'A webhook')],
  };
}

/** A fault completes the sentence "It …". */
type Reading<T> = { readonly value: T } | { readonly fault: string };

function readUrl(value: unknown): Reading<EndpointUrl> {
  return typeof value === 'string' ? readEndpointUrl(value) : { fault: 'must be a string' };
}

function readDescription(value: unknown): Reading<string> {
  if (typeof value !== 'string') return { fault: 'must be a string' };
  if ([...value].length > longestDescription)
    return { fault: `is longer than ${longestDescription} characters` };
  return /\p{Cc}/u.test(value) ? { fault: 'has control characters' } : { value };
}

function readBoolean(value: unknown): Reading<boolean> {
  return typeof value === 'boolean' ? { value } : { fault: 'must be true or false' };
}
