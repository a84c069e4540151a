import type { GatewayMessages, Zone } from '@certwright/gateway-contract';
import { Injectable } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { usableZones } from '../policy/zone-choice';
import { Resealed } from '../wire/problem';
import { IntegrationAccess } from './integration-access';
import { type RequestContext, within } from './request-bounds';
import { ZoneMemory } from './zone-memory';

type Request = GatewayMessages['get_zones']['request'];
type Result = GatewayMessages['get_zones']['answer'];

@ApiSchema({ name: 'Zone' })
class ZoneSchema implements Zone {
  @ApiProperty({ description: 'Of the provider, opaque.' }) readonly id: string;
  @ApiProperty({ description: 'Lower case, A-labels, no dot at the end.' }) readonly name: string;
}

@ApiSchema({ name: 'Zones' })
export class ZonesSchema extends Resealed implements Result {
  @ApiProperty({ type: [ZoneSchema], description: 'That the credentials may change.' })
  readonly zones: readonly ZoneSchema[];
}

/** The zones in which an integration may change records, as currently listed by the provider. */
@Injectable()
export class GetZones {
  constructor(
    private readonly access: IntegrationAccess,
    private readonly memory: ZoneMemory,
  ) {}

  async get(integrated: Request, context: RequestContext): Promise<ZonesSchema> {
    return await this.access.use(
      integrated,
      context,
      async (session): Promise<Pick<ZonesSchema, 'zones'>> => {
        const list = () => within(context.signal, session.zones());
        const zones = await this.memory.fresh(integrated.integration, list);
        return { zones: usableZones(zones) };
      },
    );
  }
}
