import { Injectable } from '@nestjs/common';
import { type Answer, jsonAnswer } from '../wire/answer';
import { Expansion } from '../wire/expansion';
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
import { notReady, readPoll, retryAfterS } from './poll';

/** What the URL says. */
export interface InstanceQuery {
  /** In normal form. */
  readonly cn: string;
  /** Id, or `pubkey_hash:` and a hash. */
  readonly instance: string;
  readonly poll?: unknown;
  readonly expand?: unknown;
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
   * @param whenGone is handed what to call when the client goes away
   * @returns null when it went away: nobody is there to be answered
   * @throws Refusal `no_such_cert`, `no_such_instance`, `no_such_pubkey_hash`, `not_ready`, `bad_param`
   */
  async run(
    accountId: string,
    query: InstanceQuery,
    whenGone: (gone: () => void) => void,
  ): Promise<Answer | null> {
    const expansion = Expansion.of(query.expand);
    const forMs = readPoll(query.poll);
    const instance = await this.find(accountId, query.cn, readInstanceReference(query.instance), expansion);
    const { attempt } = instance;
    if (forMs === null || attempt === null || stateOf(instance, new Date()) !== 'pending') {
      return jsonAnswer(await this.views.one(instance, expansion));
    }
    if (forMs === 0) throw stillPending(instance);
    const { issuanceId } = attempt;
    const end = await this.pending.wait({ issuanceId, accountId, forMs, whenGone });
    if (end === 'gone') return null;
    const shown = end === 'closed' ? await this.closed.show(issuanceId, expansion) : null;
    if (shown === null) throw stillPending(instance);
    return jsonAnswer(shown);
  }

  private async find(
    accountId: string,
    cn: string,
    reference: InstanceReference | null,
    expansion: Expansion,
  ): Promise<StoredInstance> {
    // Also for what no instance can be called, so that an object that is missing is told first.
    const asked = reference ?? { kind: 'id', id: '0' };
    const found = await this.instances.find(accountId, cn, asked, needsOf([expansion]));
    if (found === 'no object') throw noSuchCert();
    if (found === null) throw noSuchInstance(reference);
    return found;
  }
}

function stillPending({ openedAt }: StoredInstance) {
  return notReady(retryAfterS(openedAt, new Date()));
}
