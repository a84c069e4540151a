import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { AbstractConnector, type RedisOptions, SentinelConnector } from 'ioredis';
import type { PrefixClaim } from './prefix-claim';

/** ioredis and BullMQ know this message: such an error is no news. */
const closed = 'Connection is closed.';

/** How ioredis connects to a server and by Sentinels: not before the prefix is known to belong to this deployment. */
export function admittedConnectors(claim: PrefixClaim) {
  class AdmittedConnector extends AbstractConnector {
    #waiting = new AbortController();

    constructor(private readonly options: RedisOptions) {
      super(options.disconnectTimeout ?? 2_000);
    }

    override async connect() {
      this.connecting = true;
      this.#waiting = new AbortController();
      if (!(await claim.admit(this.#waiting.signal))) throw new Error(closed);
      const { host = '127.0.0.1', port = 6_379, tls } = this.options;
      this.stream = tls ? connectTls({ host, port, ...tls }) : connectTcp({ host, port });
      this.stream.once('error', (error) => (this.firstError = error));
      return this.stream;
    }

    override disconnect(): void {
      super.disconnect();
      this.#waiting.abort();
    }
  }

  class AdmittedSentinelConnector extends SentinelConnector {
    #waiting = new AbortController();

    override async connect(...emitter: Parameters<SentinelConnector['connect']>) {
      this.#waiting = new AbortController();
      if (!(await claim.admit(this.#waiting.signal))) throw new Error(closed);
      return await super.connect(...emitter);
    }

    override disconnect(): void {
      super.disconnect();
      this.#waiting.abort();
    }
  }

  return { server: AdmittedConnector, sentinel: AdmittedSentinelConnector };
}
