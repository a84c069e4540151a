/**
 * How a question travels: its packet is stored under a key of its own, its id in a list from which exactly one server
 * takes it, and the response is published on the channel of the client. Redis's clock is the only one, so machines may
 * disagree about the time. All copies of the prober take from one list. The braces are the hash tag of Redis Cluster.
 */
export const listKey = (prefix: string): string => `${prefix}:{probes}:questions`;
export const questionKey = (prefix: string, id: string): string => `${prefix}:{probes}:question:${id}`;
export const responseChannel = (prefix: string, client: string): string =>
  `${prefix}:{probes}:answers:${client}`;

/** Ids in the list (21 bytes each) while no server takes any; the oldest, whose clients have given up, are dropped. */
export const maxQueued = 10_000;
