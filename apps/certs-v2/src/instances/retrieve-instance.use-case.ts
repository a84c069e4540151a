import { Injectable } from '@nestjs/common';
import { type HttpResponse, jsonResponse } from '../wire/response';
import { ExpandArgument, TextArgument, unreadable } from '../wire/arguments';
import { Expansion } from '../wire/expansion';
import { Refusal } from '../wire/reasons';
import { ClosedInstances } from './closed-instances';
import { stateOf, type StoredInstance } from './instance';
import {
  type InstanceReference,
  noSuchCert,
  noSuchInstance,
  readInstanceReference,
} from './instance-reference';
import { InstanceViews, needsOf } from './instance-views';
import { InstancesRepository } from './instances.repository';
import { PendingInstances } from './pending-instances';

/** Maximum time that a response is delayed, seconds: proxies cut connections that are silent for longer. */
const maxPollS = 180;

export class InstanceQuery {
  /** How long to wait, ms. */
  @PollArgument() poll?: number;
  @ExpandArgument() expand?: Expansion;
}

function PollArgument(): PropertyDecorator {
  const description = `Seconds to wait for an instance that is pending, at most ${maxPollS}.`;
  return TextArgument({ type: 'integer', description }, (text) =>
    /^\d+$/.test(text)
      ? 1_000 * Math.min(Number(text), maxPollS)
      : unreadable('bad_param', 'poll must be a number of seconds.'),
  );
}

@Injectable()
export class RetrieveInstance {
  constructor(
    private readonly instances: InstancesRepository,
    private readonly views: InstanceViews,
    private readonly pending: PendingInstances,
    private readonly closed: ClosedInstances,
  ) {}

  /**
   * With `poll`, waits while the instance is pending.
   *
   * @param cn in normal form
   * @param reference id, or `pubkey_hash:` and a hash
   * @param onDisconnect gets the function to call when the client disconnects
   * @returns null when the client has disconnected
   * @throws Refusal `no_such_cert`, `no_such_instance`, `no_such_pubkey_hash`, `not_ready`
   */
  async run(
    accountId: string,
    cn: string,
    reference: string,
    { poll: forMs, expand: expansion = Expansion.none }: InstanceQuery,
    onDisconnect: (disconnected: () => void) => void,
  ): Promise<HttpResponse | null> {
    const instance = await this.find(accountId, cn, readInstanceReference(reference), expansion);
    const { attempt } = instance;
    if (forMs === undefined || attempt === null || stateOf(instance, new Date()) !== 'pending') {
      return jsonResponse(await this.views.one(instance, expansion));
    }
    if (forMs === 0) throw stillPending(instance);
    const { issuanceId } = attempt;
    const end = await this.pending.wait({ issuanceId, accountId, forMs, onDisconnect });
    if (end === 'disconnected') return null;
    const shown = end === 'closed' ? await this.closed.show(issuanceId, expansion) : null;
    if (shown === null) throw stillPending(instance);
    return jsonResponse(shown);
  }

  private async find(
    accountId: string,
    cn: string,
    reference: InstanceReference | null,
    expansion: Expansion,
  ): Promise<StoredInstance> {
    // Also for an impossible reference, so that a missing object is reported first.
    const requested = reference ?? { kind: 'id', id: '0' };
    const found = await this.instances.find(accountId, cn, requested, needsOf([expansion]));
    if (found === 'no object') throw noSuchCert();
    if (found === null) throw noSuchInstance(reference);
    return found;
  }
}

function stillPending({ openedAt }: StoredInstance): Refusal {
  return new Refusal('not_ready', 'The certificate instance is still pending.', {
    retryAfterS: retryAfterS(openedAt, new Date()),
  });
}

/** The longer it has been pending, the less a later request misses: a twentieth of its age. */
const retryAfter = { shareOfAge: 1 / 20, minS: 1, maxS: 300 };

/** Whole seconds until a caller may poll again. */
export function retryAfterS(openedAt: Date, now: Date): number {
  const ageS = (now.getTime() - openedAt.getTime()) / 1_000;
  const { shareOfAge, minS, maxS } = retryAfter;
  return Math.min(Math.max(Math.ceil(ageS * shareOfAge), minS), maxS);
}
