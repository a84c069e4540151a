import {
  checkContent,
  checkSignature,
  ed25519PublicKey,
  isSignedBy,
  limits,
  parseSignature,
  type SignatureVerdict,
} from '@certwright/agent-contract';
import { Problem } from '@certwright/errors';
import {
  FailedAuthentication,
  FallbackTokenBuckets,
  MemoryTokenBuckets,
  ofAddress,
  type RequestLimits,
  requestLimits,
  type SignedHead,
  type SignedRequests,
} from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { OrdersConfig } from '../config';
import { notAnAgent } from '../wire/problems';
import { type Agent, AgentDirectory } from './agent-directory';
import { LastSeen } from './last-seen';

/** An agent whose key is not known yet: the body of its request contains it. */
export class UnverifiedAgent {
  /**
   * @param verify of the raw identity key; rejects with a Problem unless the key signed the request
   * @param refused counts a failure; returns what is thrown
   */
  constructor(
    readonly verify: (identityKey: Uint8Array) => Promise<void>,
    readonly refused: () => Promise<Problem>,
  ) {}
}

/**
 * Admits requests that agents sign (RFC 9421). Everything that is wrong has one response, except a clock: that is
 * reported once everything else is right. Failures are counted per address, as wrong API keys are.
 */
@Injectable()
export class AgentSignatures implements SignedRequests {
  readonly #failures: FailedAuthentication;
  readonly #limits: RequestLimits;
  /** Of this process: a request costs less than a question to Redis. */
  readonly #buckets = new MemoryTokenBuckets();

  constructor(
    private readonly directory: AgentDirectory,
    private readonly lastSeen: LastSeen,
    buckets: FallbackTokenBuckets,
    @Inject(OrdersConfig)
    config: Pick<OrdersConfig, 'READS_PER_S' | 'WRITES_PER_S' | 'FAILED_AUTHENTICATION_PER_MIN'>,
  ) {
    this.#limits = requestLimits(config);
    this.#failures = new FailedAuthentication(buckets, this.#limits.failedAuthentication);
  }

  async begin(head: SignedHead): Promise<(body: Buffer) => object> {
    const { headers, addressKey, signer } = head;
    // An API key in a proxy's configuration must not end up here unnoticed.
    if (headers.authorization !== undefined) throw await this.refused(addressKey);
    const parsed = parseSignature(headers);
    if (parsed === undefined) throw await this.refused(addressKey);
    if (signer === 'in_body') {
      const refused = async () => await this.refused(addressKey);
      return (body) =>
        new UnverifiedAgent(async (identityKey) => {
          const verdict = checkSignature(
            parsed,
            { ...head, body },
            ed25519PublicKey(identityKey),
            new Date(),
          );
          if (!verdict.ok) throw verdict.fault === 'clock_skew' ? refusal(verdict) : await refused();
        }, refused);
    }
    const agent = await this.directory.find(parsed.keyid);
    // Only what the agent has signed counts as its request: its id is no secret.
    if (agent === null || !isSignedBy(parsed, head, agent.identityKey)) throw await this.refused(addressKey);
    await this.count(agent, head.method);
    return (body) => {
      const verdict = checkContent(parsed, body, new Date());
      if (!verdict.ok) {
        if (verdict.fault !== 'clock_skew') void this.refused(addressKey);
        throw refusal(verdict);
      }
      this.lastSeen.note(agent, verdict.offsetS);
      return agent;
    };
  }

  /** Counts a failure. @returns what is thrown: 401, over the limit 429 */
  async refused(addressKey: string): Promise<Problem> {
    return await this.#failures.refusal(ofAddress(addressKey), notAnAgent());
  }

  private async count({ id }: Agent, method: string): Promise<void> {
    const kind = method === 'GET' ? 'reads' : 'writes';
    const taken = await this.#buckets.take(`${kind}:${id}`, { ...this.#limits[kind], cost: 1 });
    if (taken.ok) return;
    const message = `The agent sends too many requests; the next one is due in ${taken.retryAfterS} s.`;
    throw new Problem('rate_limited', message, { retryAfterS: taken.retryAfterS });
  }
}

function refusal(verdict: Extract<SignatureVerdict, { readonly ok: false }>): Problem {
  if (verdict.fault !== 'clock_skew') return notAnAgent();
  const { offsetS = 0 } = verdict;
  return new Problem(
    'clock_skew',
    `The clock of the agent is ${Math.abs(offsetS)} s ${offsetS < 0 ? 'behind' : 'ahead'}, which is more than ${limits.maxClockSkewS} s. Correct it by the Date header, and sign again.`,
  );
}
