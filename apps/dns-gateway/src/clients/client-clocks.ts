/** Clients whose clocks are remembered; there are three in an installation. */
const maxClients = 16;

/**
 * The clocks of clients, by the `Date` of their requests: the gateway has no database to compare its own with. A client
 * whose clock is wrong, such as an administrator's machine, does not matter while another one agrees with ours.
 */
export class ClientClocks {
  /** By identity, how far the client's clock is ahead of ours, ms. */
  readonly #offsetsMs = new Map<string, number>();

  /** @param date as received (RFC 9110, section 5.6.7); whole seconds */
  saw(identity: string, date: string | undefined): void {
    const clientMs = Date.parse(date ?? '');
    if (Number.isNaN(clientMs)) return;
    if (this.#offsetsMs.size >= maxClients && !this.#offsetsMs.has(identity)) return;
    this.#offsetsMs.set(identity, clientMs - Date.now());
  }

  /** As a readiness check returns it: the time of the client whose clock is closest to ours; undefined: none is known. */
  serverTime(): { readonly serverTimeMs: number; readonly setting: string } | undefined {
    const [closest] = [...this.#offsetsMs].sort(([, one], [, other]) => Math.abs(one) - Math.abs(other));
    if (closest === undefined) return undefined;
    const [, offsetMs] = closest;
    return { serverTimeMs: Date.now() + offsetMs, setting: 'GATEWAY_CLIENTS' };
  }
}
