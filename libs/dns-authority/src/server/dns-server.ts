import { Responder, type ResponderOptions } from '../responder';
import { DEFAULT_LIMITS, type DnsServerLimits } from './limits';
import { TcpListener } from './tcp-listener';
import { UdpListener } from './udp-listener';

export interface DnsServerOptions extends ResponderOptions {
  /** IP address to listen on. */
  readonly host: string;
  /** One port for UDP and TCP; 0: any port that is free on both. */
  readonly port: number;
  readonly limits?: Partial<DnsServerLimits>;
  /** Called for errors of a listening socket; the server continues. */
  readonly onError?: (error: Error) => void;
}

/** A port that is free on TCP may be in use on UDP. */
const FREE_PORT_ATTEMPTS = 20;

/**
 * An authoritative DNS server over UDP and TCP. Unreadable messages get FORMERR or are dropped; a failing source is
 * SERVFAIL. It does not recurse (RA is never set): a name outside its zones is REFUSED.
 */
export class DnsServer {
  #listeners: readonly [TcpListener, UdpListener] | undefined;

  constructor(private readonly options: DnsServerOptions) {}

  /**
   * @returns the port listened on
   * @throws the system's error (EADDRINUSE, EACCES), with nothing left open
   */
  async listen(): Promise<{ readonly host: string; readonly port: number }> {
    const { host, port } = this.options;
    for (let attempt = 1; ; attempt++) {
      try {
        this.#listeners = await this.#open();
        return { host, port: this.#listeners[0].port };
      } catch (error) {
        const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (!taken || port !== 0 || attempt === FREE_PORT_ATTEMPTS) throw error;
      }
    }
  }

  /** Resolves when both sockets are closed; responses under way are still sent. May be called more than once. */
  async close(): Promise<void> {
    const listeners = this.#listeners ?? [];
    this.#listeners = undefined;
    await Promise.all(listeners.map((listener) => listener.close()));
  }

  async #open(): Promise<readonly [TcpListener, UdpListener]> {
    const { host, port, onError = () => undefined } = this.options;
    const limits = { ...DEFAULT_LIMITS, ...this.options.limits };
    const responder = new Responder(this.options);
    const tcp = await TcpListener.open(host, port, responder, limits, onError);
    try {
      return [tcp, await UdpListener.open(host, tcp.port, responder, limits, onError)];
    } catch (error) {
      await tcp.close();
      throw error;
    }
  }
}
