import { limits, type OrderMessage, type StateResponse } from '@certwright/agent-contract';
import type { KeyType, Product } from '@certwright/issuance';

/** An order as the agents of its cluster see it. */
export interface SeenOrder {
  readonly planId: string;
  readonly name: string;
  /** Of the cluster, when what all agents see of it last changed. */
  readonly version: number;
  readonly revision: number;
  readonly dnsNames: readonly string[];
  readonly keyType: KeyType;
  readonly product: string;
  readonly paused: boolean;
  /** Hashes are lower-case hexadecimal, times RFC 3339. */
  readonly csrSpkiSha256: string | null;
  readonly certificate: OrderMessage['certificate'];
  readonly rollout: Rollout | null;
  readonly makeKey: { readonly agentId: string; readonly id: string; readonly until: string } | null;
  readonly seals: readonly Seal[];
}

/** How a certificate reaches the hosts. */
export interface Rollout {
  readonly certificateSha256: string;
  readonly firstAgent: string | null;
  readonly isServed: boolean;
  readonly isStopped: boolean;
  /** Agents that rolled it back or failed. */
  readonly broken: readonly string[];
}

/** A key that one agent is to seal for members that lack it. */
export interface Seal {
  readonly spkiSha256: string;
  readonly sealer: string;
  /** Of the cluster, when the sealer was chosen: no other agent sees it. */
  readonly version: number;
  readonly members: readonly string[];
}

/** What changed in a cluster after a version. Pages end with the last change that they contain. */
export interface ClusterChanges {
  readonly name: string;
  readonly clusterKey: string | null;
  /** Of the cluster, or of the last change when there are more. */
  readonly version: number;
  readonly hasMore: boolean;
  readonly membersVersion: number;
  readonly memberCount: number;
  /** What left the cluster before this version is forgotten. */
  readonly resetBefore: number;
  readonly orders: readonly SeenOrder[];
  readonly released: readonly { readonly name: string; readonly version: number }[];
}

/** Whether an agent may install the certificate now. A cluster of one agent has nothing to wait for. */
export function mayInstall(
  agentId: string,
  { certificate, rollout }: SeenOrder,
  memberCount: number,
): boolean {
  if (certificate === null || memberCount === 1) return true;
  if (rollout === null || rollout.certificateSha256 !== certificate.sha256 || rollout.isStopped) return false;
  return rollout.isServed || rollout.firstAgent === agentId;
}

/**
 * Added to the version of a page of an agent's first list that ends before `resetBefore`, and of the pages after it except
 * the last. It marks the next request as part of that list, which needs no reset. Real versions are far smaller.
 */
const firstList = 2 ** 52;

/** The version up to which an agent has the changes. @param after as the agent sends it */
export const positionOf = (after: number): number => (after >= firstList ? after - firstList : after);

/**
 * The state that one agent sees; null: nothing of it changed after `after`. At most 512 KiB, and at least one order.
 *
 * @param after the version that the agent has
 */
export function stateFor(
  agentId: string,
  after: number,
  changes: ClusterChanges,
  products: ReadonlyMap<string, Product>,
): (Omit<StateResponse, 'reset'> & { readonly reset?: true }) | null {
  const { name, clusterKey, membersVersion, resetBefore } = changes;
  const shared = { cluster: { name, cluster_key: clusterKey }, members_version: membersVersion };
  const isFirstList = after === 0 || after >= firstList;
  const position = positionOf(after);
  // A version of the future belongs to a database that was replaced by a backup.
  if ((!isFirstList && after < resetBefore) || (position > changes.version && !changes.hasMore))
    return { version: 0, more: true, reset: true, ...shared, orders: [], released: [] };
  const seen = changes.orders
    .map((order) => ({ order, version: firstChange(agentId, order, position) }))
    // What has changed since the versions were read is listed next time.
    .filter(({ version }) => version <= changes.version)
    .sort((one, other) => one.version - other.version);
  const orders: OrderMessage[] = [];
  let bytes = 0;
  for (const { order, version } of seen) {
    const message = orderMessage(agentId, order, version, changes.memberCount, products);
    bytes += Buffer.byteLength(JSON.stringify(message)) + 1;
    if (orders.length > 0 && bytes > limits.maxStateBytes) break;
    orders.push(message);
  }
  const isCut = orders.length < seen.length;
  const version = isCut ? (orders.at(-1)?.version ?? 0) : changes.version;
  const more = isCut || changes.hasMore;
  const released = changes.released.filter((each) => each.version > position && each.version <= version);
  const isEmpty = orders.length === 0 && released.length === 0 && membersVersion <= position && !more;
  if (isEmpty && !isFirstList) return null;
  const isMarked = after >= firstList || (isFirstList && version < resetBefore);
  const next = isMarked && more ? firstList + version : version;
  return { version: next, more, ...shared, orders, released: released.map((each) => each.name) };
}

/**
 * The first version after `position` at which the agent sees a change of the order; Infinity: there is none. Not the
 * last one: a page may end between the two, and that a sealer was chosen is forgotten when its time is over.
 */
function firstChange(agentId: string, { version, seals }: SeenOrder, position: number): number {
  const own = seals.filter(({ sealer }) => sealer === agentId).map((seal) => seal.version);
  return Math.min(...[version, ...own].filter((change) => change > position));
}

function orderMessage(
  agentId: string,
  order: SeenOrder,
  version: number,
  memberCount: number,
  products: ReadonlyMap<string, Product>,
): OrderMessage {
  const { makeKey, paused } = order;
  const product = products.get(order.product);
  const isOwnTask = makeKey?.agentId === agentId && !paused;
  return {
    name: order.name,
    version,
    revision: order.revision,
    dns_names: order.dnsNames,
    key_type: order.keyType,
    accepts: { rsa: product?.rsaSizes ?? [], ecdsa: product?.curves ?? [] },
    paused,
    csr_spki_sha256: order.csrSpkiSha256,
    certificate: order.certificate,
    install: mayInstall(agentId, order, memberCount) ? 'go' : 'hold',
    tasks: [
      ...(isOwnTask ? [{ type: 'make_key' as const, id: makeKey.id, until: makeKey.until }] : []),
      ...order.seals
        .filter(({ sealer, members }) => sealer === agentId && members.length > 0)
        .map(({ spkiSha256, members }) => ({
          type: 'seal_key_for' as const,
          spki_sha256: spkiSha256,
          members,
        })),
    ],
  };
}

/** Installations of one order on one host, as its agent reports them. */
export interface ReportedPoints {
  readonly states: readonly { readonly state: string; readonly certificateSha256: string | null }[];
}

/**
 * What a report says about the roll-out of a certificate. `serves`: every point serves it, or has it installed where
 * nothing is probed. `none`: no service of the host uses the order.
 */
export function reportedOutcome(
  { states }: ReportedPoints,
  certificateSha256: string,
): 'serves' | 'broken' | 'none' | 'underway' {
  const own = states.filter(({ state }) => state !== 'released');
  if (own.length === 0) return 'none';
  if (own.some(({ state }) => state === 'rolled_back' || state === 'failed')) return 'broken';
  const done = own.every(
    (each) =>
      (each.state === 'serving' || each.state === 'installed') &&
      each.certificateSha256 === certificateSha256,
  );
  return done ? 'serves' : 'underway';
}
