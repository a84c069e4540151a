import type { KeyObject } from 'node:crypto';
import {
  agentPaths,
  type CertificateMessage,
  ContractError,
  type CsrRequest,
  type CsrResponse,
  type EnrolRequest,
  type EnrolResponse,
  type KeysMessage,
  limits,
  type MembersResponse,
  readCertificate,
  readCsrAccepted,
  readEnrolled,
  readError,
  readMembers,
  readSealedKeys,
  readState,
  type ReportRequest,
  type SealedKey,
  signRequest,
  stateQuery,
  type StateResponse,
} from '@certwright/agent-contract';
import type { CorrectedClock } from './corrected-clock';
import { type HttpClient, type HttpResponse, Unreachable } from './http-client';

/** The server refuses a request. Repeating it does not help, except for 429 and 503. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** ms; of 429 and 503. */
    readonly retryAfterMs: number | null,
  ) {
    super(message);
  }
}

export interface Signer {
  readonly agentId: string;
  readonly identityKey: KeyObject;
}

interface Call {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly query?: string;
  /** Called before each attempt: the clock may have been corrected. */
  readonly json?: () => unknown;
  readonly waitS?: number;
}

/** The calls of docs/agent-protocol.md, signed by this agent. */
export class AgentApi {
  constructor(
    private readonly http: HttpClient,
    private readonly signer: Signer,
    private readonly clock: CorrectedClock,
    private readonly signal?: AbortSignal,
  ) {}

  async enrol(request: EnrolRequest): Promise<EnrolResponse> {
    return await this.read({ method: 'POST', path: agentPaths.enrol, json: () => request }, readEnrolled);
  }

  /** @returns null when nothing changed */
  async state(after: number, waitS: number): Promise<StateResponse | null> {
    const response = await this.call({
      method: 'GET',
      path: agentPaths.state,
      query: stateQuery(after, waitS),
      waitS,
    });
    return response.status === 204 ? null : parsed(response, readState);
  }

  async certificate(sha256: string): Promise<CertificateMessage> {
    return await this.read({ method: 'GET', path: agentPaths.certificate(sha256) }, readCertificate);
  }

  async members(): Promise<MembersResponse> {
    return await this.read({ method: 'GET', path: agentPaths.members }, readMembers);
  }

  async sealedKeys(order: string, spkiSha256: string): Promise<KeysMessage> {
    return await this.read({ method: 'GET', path: agentPaths.keys(order, spkiSha256) }, readSealedKeys);
  }

  async addSealedKeys(order: string, spkiSha256: string, keys: readonly SealedKey[]): Promise<void> {
    await this.call({ method: 'POST', path: agentPaths.keys(order, spkiSha256), json: () => ({ keys }) });
  }

  async sendCsr(order: string, request: CsrRequest): Promise<CsrResponse> {
    return await this.read(
      { method: 'POST', path: agentPaths.csr(order), json: () => request },
      readCsrAccepted,
    );
  }

  async report(newReport: () => ReportRequest): Promise<void> {
    await this.call({ method: 'POST', path: agentPaths.reports, json: newReport });
  }

  private async read<T>(call: Call, reader: (body: Uint8Array) => T): Promise<T> {
    return parsed(await this.call(call), reader);
  }

  /** A request that the server refuses because of the clock is signed again, by the clock of the server. */
  private async call(call: Call): Promise<HttpResponse> {
    const response = await this.send(call);
    if (response.status < 300 && response.status >= 200) return response;
    const error = readError(response.body);
    if (response.status !== 401 || error?.code !== 'clock_skew')
      throw refusal(response, error?.code, error?.message);
    const repeated = await this.send(call);
    if (repeated.status < 300 && repeated.status >= 200) return repeated;
    const again = readError(repeated.body);
    throw refusal(repeated, again?.code, again?.message);
  }

  private async send({ method, path, query = '', json, waitS }: Call): Promise<HttpResponse> {
    const body = json === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(json()));
    const { agentId, identityKey: privateKey } = this.signer;
    const signature = signRequest(
      { method, path, query, body },
      { agentId, privateKey, now: this.clock.now() },
    );
    const response = await this.http.send({
      method,
      path,
      query,
      body,
      headers: { ...signature, ...(json === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(waitS === undefined ? {} : { waitS }),
      ...(this.signal === undefined ? {} : { signal: this.signal }),
    });
    this.clock.observe(response.date);
    return response;
  }
}

function parsed<T>({ body }: HttpResponse, reader: (body: Uint8Array) => T): T {
  try {
    return reader(body);
  } catch (error) {
    if (!(error instanceof ContractError)) throw error;
    throw new Unreachable(`the response of the server is not valid: ${error.message}`);
  }
}

function refusal({ status, retryAfter }: HttpResponse, code = '', message = ''): Error {
  if (status >= 300 && status < 400)
    return new Unreachable(
      `the server redirects (status ${status}), which the agent does not follow; correct server`,
    );
  const retryAfterMs = retryAfterOf(retryAfter);
  if (code === '' || status >= 500)
    return status === 503 || status === 429
      ? new Refusal(status, code, message === '' ? `status ${status}` : message, retryAfterMs)
      : new Unreachable(`the server responds with status ${status}${message === '' ? '' : `: ${message}`}`);
  return new Refusal(status, code, message, retryAfterMs);
}

/** Seconds; a date is not used by the server. At most an hour. */
function retryAfterOf(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Math.min(Number(header), 3600) * 1000 : null;
}

/** Members with unreadable text must not reach a terminal. Cut first: the server refuses half of a character, which is in `C`. */
export const printable = (text: string, maxLength: number = limits.maxProblemLength): string =>
  text.slice(0, maxLength).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ');
