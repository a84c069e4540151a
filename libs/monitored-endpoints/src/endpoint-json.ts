import {
  type EndpointState,
  endpointStates,
  type ServedAddress,
  type TrackedFinding,
} from '@certwright/endpoint-checks';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { addressJson, EndpointAddressSchema, storedServed } from './endpoint-address';
import { EndpointFindingSchema, findingsJson } from './endpoint-finding';
import { instant, port, timestamp } from './json-values';

/** A host whose certificate is checked: in the monitoring API, in `issuance` of an order, and in webhooks. */
@ApiSchema({ name: 'MonitoredEndpoint' })
export class MonitoredEndpointSchema {
  @ApiProperty({ example: 'www.example.com' })
  dns_name: string;

  @ApiProperty({ description: 'Whether its findings are shown and not reported.' })
  muted: boolean;

  @ApiProperty({ type: 'array', items: port, description: 'TCP ports with TLS, ascending.' })
  ports: readonly number[];

  @ApiProperty({
    description: `${endpointStates.join(', ')}; more may be added. not_checked: no check has a result yet. suspect: no finding is confirmed yet. failing: one is. unreachable: no server presents a certificate. gone: the name does not exist, or has no address.`,
    example: 'ok',
  })
  state: string;

  @ApiProperty({ ...instant, description: 'Since when it has this state.' })
  since: string;

  @ApiProperty({
    type: [EndpointFindingSchema],
    description:
      'One for each finding and address. Data of the certificate are those of the first address with it.',
  })
  findings: readonly EndpointFindingSchema[];

  @ApiProperty({ type: [EndpointAddressSchema], description: 'What the last check saw; the first 32.' })
  addresses: readonly EndpointAddressSchema[];

  @ApiProperty({ ...instant, nullable: true, description: 'The last check with a result. Null: none yet.' })
  looked_at: string | null;
}

/** A row of `monitored_endpoint`, as read from the table. */
export interface EndpointRow {
  readonly dns_name: string;
  readonly muted: boolean;
  readonly ports: readonly number[];
  readonly state: EndpointState;
  readonly state_since: Date;
  readonly looked_at: Date | null;
  readonly findings: readonly TrackedFinding[];
  readonly served: readonly ServedAddress[];
}

/** Servers choose how much they present. It has less than 256 KiB whatever they do, and usually a few. */
export const endpointJson = (row: EndpointRow): MonitoredEndpointSchema => ({
  dns_name: row.dns_name,
  muted: row.muted,
  ports: row.ports,
  state: row.state,
  since: timestamp(row.state_since),
  findings: findingsJson(row.findings),
  addresses: storedServed(row.served).map(addressJson),
  looked_at: row.looked_at && timestamp(row.looked_at),
});

/**
 * The body of `monitoring.endpoint_problem` and `monitoring.endpoint_recovered`.
 *
 * @param row after the check
 * @param findings those that are reported, as `markReported` returns them, or withdrawn
 */
export const endpointEventBody = (row: EndpointRow, findings: readonly TrackedFinding[]): string =>
  JSON.stringify(endpointJson({ ...row, findings }));
