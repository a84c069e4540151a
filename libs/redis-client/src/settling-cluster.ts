import { Cluster } from 'ioredis';

/**
 * ioredis 6.0 never settles the result of `connect` if nodes respond, but the Cluster is not ready: it connects again, with
 * another promise. BullMQ waits for the first one, and would take no job from then on.
 */
export class SettlingCluster extends Cluster {
  /** @throws Error if the connection is closed before it is ready; usually it is made again */
  override async connect(): Promise<void> {
    const { promise: closed, reject } = Promise.withResolvers<void>();
    const close = () => reject(new Error('Connection is closed.'));
    this.once('close', close);
    try {
      await Promise.race([super.connect(), closed]);
    } finally {
      this.off('close', close);
    }
  }
}
