import { OutboundFault } from '../outbound-fault';

/** Maximum size of a response header in bytes; Node's default. */
export const maxHeaderBytes = 16_384;

const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  ETIMEDOUT: 'did not respond',
  EHOSTUNREACH: 'is unreachable',
  ENETUNREACH: 'is unreachable; there is no route to its network',
  EADDRNOTAVAIL: 'is unreachable; there is no route to its network',
};

/** For the last address tried. */
export function connectFault(where: string, tried: number, error: unknown): OutboundFault {
  const reason = unreachable[codeOf(error)] ?? 'does not accept connections';
  const each = tried > 1 ? ` (the last of its ${tried} addresses)` : '';
  return new OutboundFault('connect', `${where}${each} ${reason}.`, { cause: error });
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
  CERT_SIGNATURE_FAILURE: 'has an invalid signature',
  INVALID_PURPOSE: 'is not for servers',
};

export function tlsFault(where: string, error: unknown): OutboundFault {
  const reason = certificateFaults[codeOf(error)];
  const message =
    reason === undefined
      ? `No TLS connection could be made with ${where}.`
      : `The certificate of ${where} ${reason}.`;
  return new OutboundFault('tls', message, { cause: error });
}

export function exchangeFault(error: unknown): OutboundFault {
  if (error instanceof OutboundFault) return error;
  const code = codeOf(error);
  const { kind, message } = exchangeMessage(code);
  return new OutboundFault(kind, message, { cause: error });
}

function exchangeMessage(code: string): Pick<OutboundFault, 'kind' | 'message'> {
  if (code === 'HPE_HEADER_OVERFLOW' || code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return {
      kind: 'too_large',
      message: `The header of the response is longer than ${maxHeaderBytes} bytes.`,
    };
  }
  if (code.startsWith('HPE_')) return { kind: 'protocol', message: 'The response is not HTTP.' };
  return { kind: 'protocol', message: 'The connection was closed before the response was complete.' };
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | null | undefined)?.code);
