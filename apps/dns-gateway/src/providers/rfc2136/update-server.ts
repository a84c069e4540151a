import { randomInt } from 'node:crypto';
import {
  type DnsName,
  OPCODE,
  queryBytes,
  RCODE,
  readResponseHeader,
  readResponseRecords,
  signRequest,
  type StoredType,
  type TsigError,
  updateBytes,
  verifyResponse,
  WireFault,
  type ZoneRecord,
} from '@certwright/dns-authority';
import { OutboundFault } from '@certwright/outbound';
import { inSpan } from '@certwright/tracing';
import type { ProviderPorts } from '../dns-provider';
import { ProviderFault } from '../provider-fault';
import type { Access } from './access';
import type { Change } from './changes';
import { exchange, type Classified, type Timeouts } from './exchange';

export interface QueryResult {
  readonly rcode: number;
  readonly authoritative: boolean;
  readonly answers: readonly ZoneRecord[];
}

type Signed = { readonly response: Buffer; readonly rcode: number } | { readonly refused: TsigError };

const attributes = { 'certwright.dns_provider': 'RFC 2136' };

/** Delays between attempts after a temporary server failure, milliseconds. */
const restsMs = [250, 1_000] as const;
/** Seconds until a retry is useful. */
const retryAfterS = 10;

/** One customer's server: signs every request, and trusts only signed responses. */
export class UpdateServer {
  constructor(
    private readonly access: Access,
    private readonly timeouts: Timeouts,
    private readonly ports: Pick<ProviderPorts, 'guard' | 'now' | 'rest'>,
    private readonly signal: AbortSignal,
  ) {}

  /**
   * @returns the response code of a signed response, never SERVFAIL
   * @throws ProviderFault; the signal's reason
   */
  async update(zone: DnsName, change: Change): Promise<number> {
    return (await this.#send(zone, (id) => updateBytes({ id, zone, ...change }))).rcode;
  }

  /** @throws ProviderFault; the signal's reason */
  async query(zone: DnsName, name: DnsName, type: StoredType): Promise<QueryResult> {
    const { response, rcode } = await this.#send(zone, (id) => queryBytes(id, name, type));
    const { authoritative } = readResponseHeader(response);
    try {
      return { rcode, authoritative, answers: readResponseRecords(response).answers };
    } catch (error) {
      if (!(error instanceof WireFault)) throw error;
      throw new ProviderFault('unavailable', "The DNS server's answer has a malformed record.");
    }
  }

  /** SERVFAIL means that nothing was decided: repeatable requests are attempted three times. */
  async #send(zone: DnsName, write: (id: number) => Buffer): Promise<{ response: Buffer; rcode: number }> {
    for (const restMs of [...restsMs, null]) {
      const message = write(randomInt(0x10000));
      const result = await inSpan('provider request', { kind: 'client', attributes }, async () => {
        return await this.#sendOnce(zone, message);
      });
      if ('refused' in result) throw new ProviderFault('auth_failed', refusals[result.refused]);
      if (result.rcode !== RCODE.SERVFAIL) return result;
      if (restMs !== null) await this.ports.rest(restMs * (0.5 + Math.random() / 2), this.signal);
    }
    throw new ProviderFault('unavailable', 'The DNS server failed (SERVFAIL).', retryAfterS);
  }

  async #sendOnce(zone: DnsName, plain: Buffer): Promise<Signed> {
    const { key, port } = this.access;
    const { message, mac } = signRequest(plain, key, this.#nowS());
    const classify = (response: Buffer): Classified<Signed> => {
      try {
        return this.#classify(response, plain, mac, zone);
      } catch (error) {
        if (error instanceof WireFault) return { ignored: true, why: 'is no DNS message' };
        throw error;
      }
    };
    let fault: unknown = null;
    for (const address of await this.#addresses()) {
      try {
        return await exchange({ address, port }, message, classify, this.timeouts, this.signal);
      } catch (error) {
        this.signal.throwIfAborted();
        fault = error;
      }
    }
    throw fault;
  }

  #classify(response: Buffer, request: Buffer, requestMac: Buffer, zone: DnsName): Classified<Signed> {
    const header = readResponseHeader(response);
    if (!isResponseTo(header, request)) return { ignored: true, why: 'is to something else' };
    const verdict = verifyResponse(response, this.access.key, requestMac, this.#nowS());
    if (verdict.verdict === 'refused') return { accepted: { refused: verdict.error } };
    if (header.truncated) return { truncated: true };
    if (verdict.verdict === 'untrusted') {
      const why = doubts[verdict.reason];
      // Knot stores keys by zone, so it cannot sign this error. A forged one can only cause a failure.
      const isNoZone = verdict.reason === 'unsigned' && refusalCodes.includes(header.rcode);
      return { ignored: true, why, ...(isNoZone && { otherwise: noSuchZone(zone) }) };
    }
    return { accepted: { response: verdict.response, rcode: header.rcode } };
  }

  async #addresses(): Promise<readonly string[]> {
    try {
      return await this.ports.guard.addressesOf(this.access.server, this.signal);
    } catch (error) {
      if (!(error instanceof OutboundFault)) throw error;
      const forGood = error.kind === 'refused_address' || error.kind === 'bad_url';
      throw new ProviderFault(forGood ? 'rejected' : 'unavailable', error.message);
    }
  }

  #nowS(): number {
    return Math.floor(this.ports.now().getTime() / 1000);
  }
}

/** RFC 2136, section 3.8: a response to an UPDATE need not repeat the zone. */
function isResponseTo(response: ReturnType<typeof readResponseHeader>, request: Buffer): boolean {
  const opcode = (request.readUInt16BE(2) >> 11) & 0xf;
  if (response.id !== request.readUInt16BE(0) || response.opcode !== opcode) return false;
  const { questionBytes } = response;
  if (questionBytes.length === 0) return opcode === OPCODE.UPDATE || response.rcode !== RCODE.NOERROR;
  return request.subarray(12, 12 + questionBytes.length).equals(questionBytes);
}

const refusalCodes: readonly number[] = [RCODE.REFUSED, RCODE.NOTAUTH];

export const noSuchZone = (zone: string): ProviderFault =>
  new ProviderFault('zone_not_found', `The DNS server is not authoritative for ${zone}.`);

const refusals: Readonly<Record<TsigError, string>> = {
  BADKEY:
    'The DNS server does not know the key by this name and algorithm, or does not let it do this (BADKEY).',
  BADSIG: 'The DNS server has another secret for the key (BADSIG).',
  BADTIME: "The DNS server's clock and ours are more than five minutes apart (BADTIME).",
  BADTRUNC: 'The DNS server does not take the signature at its full length (BADTRUNC).',
};

const doubts = {
  unsigned: 'is not signed',
  'other key': 'is signed with another key',
  'wrong signature': 'has a signature that does not hold',
  old: 'is signed, but not now',
} as const;
