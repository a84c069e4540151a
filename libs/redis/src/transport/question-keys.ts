/**
 * How a question travels: its packet is stored under a key of its own, its id in a list from which exactly one server
 * takes it, and the response is published on the channel of the client. Redis's clock is the only one, so machines may
 * disagree about the time. The braces are the hash tag of Redis Cluster.
 */
export const listKey = (queue: string): string => `{${queue}}:questions`;
export const questionKey = (queue: string, id: string): string => `{${queue}}:question:${id}`;
export const responseChannel = (queue: string, client: string): string => `{${queue}}:answers:${client}`;

/** The list that all copies of the prober take from. */
export const probeQueue = 'probes';

/** Ids in the list (21 bytes each) while no server takes any; the oldest, whose clients have given up, are dropped. */
export const maxQueued = 10_000;
