import type { Installation } from '@certwright/accounts';
import { type InstallationState, installationStates } from '@certwright/agent-contract';
import { timestamp } from '@certwright/service';
import { ApiProperty } from '@nestjs/swagger';

/** The certificate that an address presented. */
export class ServedSchema {
  @ApiProperty({ example: '127.0.0.1:443' })
  address: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'SHA-256 over the DER certificate, lower-case hex; null: none was presented.',
  })
  sha256: string | null;

  @ApiProperty({ format: 'date-time' })
  checked_at: string;
}

/** A place of a host at which the certificate of an order is installed. */
export class InstallationSchema {
  @ApiProperty({ example: 'fT2n9Wq0s8LkM4vXc1Zb7A', description: 'Id of the agent.' })
  agent: string;

  @ApiProperty({ example: 'web-1.example.net', description: 'Name of the host, as the agent reports it.' })
  host: string;

  @ApiProperty({ example: 'nginx', description: 'Name of the place in the configuration of the host.' })
  point: string;

  @ApiProperty({
    enum: [...installationStates],
    description:
      'Of the current certificate. waiting: not begun. no_key: the host lacks the key. held: another host goes first, or a window is awaited. installed: no probe is configured. serving: every probed address presents it. rolled_back, failed: the previous certificate is in use. released: the order left the cluster.',
  })
  state: InstallationState;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'SHA-256 over the DER certificate that is installed, lower-case hex; null: none.',
  })
  certificate_sha256: string | null;

  @ApiProperty({ type: [ServedSchema], description: 'What each probed address presented.' })
  served: readonly ServedSchema[];

  @ApiProperty({ format: 'date-time', description: 'Since when it has what the agent reported last.' })
  since: string;

  @ApiProperty({ type: String, nullable: true, description: 'What is wrong, and what to do.' })
  problem: string | null;
}

/** Null: they do not fit into the response. */
export type OrderInstallations = readonly InstallationSchema[] | null;

/** Max installations that a response is made of. */
export const maxInstallations = 10_000;

/** Max characters of the JSON of all installations in a response, without those of its first order. */
const maxCharacters = 4_194_304;

export function installationJson(installation: Installation): InstallationSchema {
  const { agentId, host, point, state, certificateSha256, served, since, problem } = installation;
  return {
    agent: agentId,
    host,
    point,
    state,
    certificate_sha256: certificateSha256 && certificateSha256.toString('hex'),
    served: served.map(({ address, sha256, checked_at }): ServedSchema => ({ address, sha256, checked_at })),
    since: timestamp(since),
    problem,
  };
}

/**
 * @param read the first `maxInstallations` and one more, in the order of the plans
 * @returns plan id → installations; null when they, or those of an earlier plan, are too large
 */
export function installationsOfOrders(
  planIds: readonly string[],
  read: readonly Installation[],
): ReadonlyMap<string, OrderInstallations> {
  const byPlan = Map.groupBy(read, ({ planId }) => planId);
  const cutPlan = read.length > maxInstallations ? read.at(-1)?.planId : undefined;
  const cutAt = cutPlan === undefined ? planIds.length : planIds.indexOf(cutPlan);
  let left = maxCharacters;
  return new Map(
    planIds.map((planId, at) => {
      if (at >= cutAt || left < 0) return [planId, null];
      const ofOrder = (byPlan.get(planId) ?? []).map(installationJson);
      if (at > 0) left -= JSON.stringify(ofOrder).length;
      return [planId, left < 0 ? null : ofOrder];
    }),
  );
}
