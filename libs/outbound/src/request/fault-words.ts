import { OutboundFault } from '../outbound-fault';

/** Longest header of an answer, all lines together, bytes; Node's own default. */
export const longestHeader = 16_384;

const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  ETIMEDOUT: 'did not answer',
  EHOSTUNREACH: 'cannot be reached',
  ENETUNREACH: 'cannot be reached, as there is no route to its network',
  EADDRNOTAVAIL: 'cannot be reached, as there is no route to its network',
};

/** Of the last address that was tried. */
export function connectFault(where: string, tried: number, error: unknown): OutboundFault {
  const words = unreachable[codeOf(error)] ?? 'cannot be connected to';
  const each = tried > 1 ? ` (the last of its ${tried} addresses)` : '';
  return new OutboundFault('connect', `${where}${each} ${words}.`, { cause: error });
}

const certificateFaults: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
  CERT_REVOKED: 'is revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'leads to a root that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'leads to no trusted root',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'leads to no trusted root; an intermediate certificate may be missing',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'leads to no trusted root; an intermediate certificate may be missing',
  CERT_SIGNATURE_FAILURE: 'has a signature that does not hold',
  INVALID_PURPOSE: 'is not for servers',
};

export function tlsFault(where: string, error: unknown): OutboundFault {
  const words = certificateFaults[codeOf(error)];
  const message =
    words === undefined
      ? `No TLS connection could be made with ${where}.`
      : `The certificate of ${where} ${words}.`;
  return new OutboundFault('tls', message, { cause: error });
}

export function exchangeFault(error: unknown): OutboundFault {
  if (error instanceof OutboundFault) return error;
  const code = codeOf(error);
  const { kind, message } = exchangeWords(code);
  return new OutboundFault(kind, message, { cause: error });
}

function exchangeWords(code: string): Pick<OutboundFault, 'kind' | 'message'> {
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return { kind: 'too_large', message: `The header of the answer is longer than ${longestHeader} bytes.` };
  }
  if (code.startsWith('HPE_')) return { kind: 'protocol', message: 'What came back is not an HTTP answer.' };
  return { kind: 'protocol', message: 'The connection was closed before the answer was complete.' };
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null | undefined)?.code);
