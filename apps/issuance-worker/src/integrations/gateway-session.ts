import { type Gateway, GatewayFault, type GatewayFaultCode } from '@certwright/gateway-client';
import type { Outcome } from '@certwright/issuance';
import type { MaybeResealed, WantedRecord, Zone } from '@certwright/gateway-contract';
import type {
  IntegrationProgress,
  LeasedIntegration,
  LeasedIntegrations,
} from '@certwright/dns-integrations';
import { repeatDuringOutage } from '@certwright/service';

/** Longer than the slowest message (30 s), so that a lease is lost only by accident. */
export const leaseMs = 45_000;

/** Failures that further requests would meet as well. */
const lastingCodes: readonly GatewayFaultCode[] = [
  'provider_auth_failed',
  'provider_rate_limited',
  'provider_unavailable',
  'rate_limited',
  'service_outage',
  'timeout',
  'unreachable',
];

/** No request was made, because the previous one failed in a lasting way. */
export class NotSent extends GatewayFault {
  constructor({ code, message, retryAfterS }: GatewayFault) {
    super(code, message, { retryAfterS });
  }
}

/**
 * Gateway messages about one integration, under its lease. One message at a time: each response, an error too, may
 * carry the only valid handle, and it is stored before anything else happens.
 */
export class GatewaySession {
  private turn: Promise<unknown> = Promise.resolve();
  private lasting: GatewayFault | null = null;
  private integration: LeasedIntegration['integration'];

  constructor(
    private readonly gateway: Pick<Gateway, 'getZones' | 'addRecord' | 'removeRecord'>,
    private readonly integrations: Pick<LeasedIntegrations, 'extend' | 'save'>,
    private readonly held: LeasedIntegration,
  ) {
    this.integration = held.integration;
  }

  /** @throws GatewayFault, LeaseLost */
  async zones(): Promise<readonly Zone[]> {
    return (await this.say(async (about) => await this.gateway.getZones(about))).zones;
  }

  /** @returns the handle that removes it @throws GatewayFault, LeaseLost */
  async add(record: WantedRecord): Promise<string> {
    const response = await this.say(async (about) => await this.gateway.addRecord({ ...about, record }));
    return response.record_handle;
  }

  /** @throws GatewayFault, LeaseLost */
  async remove(recordHandle: string): Promise<void> {
    await this.say(
      async (about) => await this.gateway.removeRecord({ ...about, record_handle: recordHandle }),
    );
  }

  private async say<A extends MaybeResealed>(message: (about: About) => Promise<A>): Promise<A> {
    const said = this.turn.then(async () => await this.sayNow(message));
    this.turn = said.catch(() => undefined);
    return await said;
  }

  private async sayNow<A extends MaybeResealed>(message: (about: About) => Promise<A>): Promise<A> {
    if (this.lasting !== null) throw new NotSent(this.lasting);
    await this.integrations.extend(this.held.lease, leaseMs);
    try {
      const response = await message(aboutOf(this.integration));
      const recovered = this.integration.state === 'failing' || this.integration.problem !== null;
      await this.learn(response.integration, recovered ? { state: 'ok', problem: null } : {});
      return response;
    } catch (error) {
      if (!(error instanceof GatewayFault)) throw error;
      if (lastingCodes.includes(error.code)) this.lasting = error;
      const isLockedOut = error.code === 'provider_auth_failed';
      await this.learn(error.integration, isLockedOut ? { state: 'failing', problem: problemOf(error) } : {});
      throw error;
    }
  }

  private async learn(
    handle: string | undefined,
    also: Pick<IntegrationProgress, 'state' | 'problem'>,
  ): Promise<void> {
    const progress = { ...(handle === undefined ? {} : { handle }), ...also };
    if (Object.keys(progress).length === 0) return;
    const save = async () => await this.integrations.save(this.held.lease, progress, { keepForMs: leaseMs });
    // The provider may accept no other handle: waits for the end of a database outage, so that it is not lost.
    await repeatDuringOutage(save, { forMs: leaseMs });
    this.integration = { ...this.integration, ...progress };
  }
}

/** The account's message for a failed call. */
export function problemOf({ code: fault, message: saying }: GatewayFault): Outcome {
  return { code: 'dns_gateway_failed', fault, saying };
}

type About = ReturnType<typeof aboutOf>;

function aboutOf({ id, accountId, provider, handle }: LeasedIntegration['integration']) {
  return { account: accountId, integration_id: id, provider, integration: handle };
}
