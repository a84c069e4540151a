import type { GatewayMessages } from '@certwright/gateway-contract';
import { usableZones } from '../policy/zone-choice';
import type { Asking } from './asking';
import type { IntegrationAccess } from './integration-access';
import { within } from './request-bounds';
import type { ZoneMemory } from './zone-memory';

type Message = GatewayMessages['get_zones'];

/** The zones in which an integration may change records, as the provider says now. */
export class GetZones {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly memory: ZoneMemory,
  ) {}

  async get(integrated: Message['request'], asking: Asking): Promise<Message['answer']> {
    return await this.access.use(integrated, asking, async (session) => {
      const list = () => within(asking.signal, session.zones());
      const zones = await this.memory.fresh(integrated.integration, list);
      return { zones: usableZones(zones) };
    });
  }
}
