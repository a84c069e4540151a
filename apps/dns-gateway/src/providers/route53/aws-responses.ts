import type { ApiResponse } from '../http/call-api';
import type { ResponseReading } from '../http/checked-call';
import { ProviderFault, type ProviderFaultKind } from '../provider-fault';
import { readXml } from './xml';

export interface AwsError {
  readonly code: string;
  readonly message: string;
}

/**
 * `<ErrorResponse><Error><Code>…` of both services, and also `<InvalidChangeBatch><Messages><Message>…` of Route 53.
 * Null: the body is not such a document.
 */
export function awsErrorOf({ text }: ApiResponse): AwsError | null {
  return (
    ifReadable(() => {
      const error = readXml(text, 'ErrorResponse').child('Error');
      return { code: error.child('Code').text(), message: error.optional('Message')?.text() ?? '' };
    }) ??
    ifReadable(() => {
      const messages = readXml(text, 'InvalidChangeBatch').child('Messages').all('Message');
      return { code: 'InvalidChangeBatch', message: messages.map((message) => message.text()).join(' ') };
    })
  );
}

function ifReadable<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProviderFault) return null;
    throw error;
  }
}

/** Codes that have status 400 and do not mean "refused permanently". */
const kinds = new Map<string, ProviderFaultKind>([
  ['Throttling', 'rate_limited'],
  ['ThrottlingException', 'rate_limited'],
  // An earlier change of the same zone is not done: https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeResourceRecordSets.html
  ['PriorRequestNotComplete', 'rate_limited'],
  ['NoSuchHostedZone', 'zone_not_found'],
  ['ExpiredToken', 'auth_failed'],
  ['IncompleteSignature', 'auth_failed'],
  ['RegionDisabledException', 'auth_failed'],
]);

export const awsReading = (provider: string): ResponseReading => ({
  provider,
  kindOf: (response) =>
    response.status < 400 ? null : (kinds.get(awsErrorOf(response)?.code ?? '') ?? null),
  messageOf: (response) => awsErrorOf(response)?.message ?? null,
});
