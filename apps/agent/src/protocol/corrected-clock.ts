/**
 * The time of the server, by its `Date` header, so that a wrong clock of the host does not stop it. Between responses it is
 * counted by a clock that is never set: the clock of the host may be corrected meanwhile.
 */
export class CorrectedClock {
  /** The time at a response; null before the first one. */
  private base: { readonly timeMs: number; readonly elapsedMs: number } | null = null;

  /** @param elapsedMs of a clock that is never set */
  constructor(
    private readonly hostNow: () => Date = () => new Date(),
    private readonly elapsedMs: () => number = () => performance.now(),
  ) {}

  /** Of the server, as far as known. */
  now(): Date {
    if (this.base === null) return this.hostNow();
    return new Date(this.base.timeMs + this.elapsedMs() - this.base.elapsedMs);
  }

  host(): Date {
    return this.hostNow();
  }

  /**
   * @param header whole seconds, from when the server wrote the response
   * @returns whether it has a time
   */
  observe(header: string | undefined): boolean {
    const time = Date.parse(header ?? '');
    // RFC 9110, section 5.6.7: other forms than this one are obsolete.
    if (Number.isNaN(time) || !/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/.test(header ?? ''))
      return false;
    const hostMs = this.hostNow().getTime();
    // Below a few seconds it is the resolution of the header and the way.
    const timeMs = Math.abs(time - hostMs) < 5000 ? hostMs : time;
    this.base = { timeMs, elapsedMs: this.elapsedMs() };
    return true;
  }

  /** One line for people when the clock is wrong; null when it is good enough. */
  problem(): string | null {
    const offsetMs = this.now().getTime() - this.hostNow().getTime();
    const seconds = Math.round(Math.abs(offsetMs) / 1000);
    if (seconds < 60) return null;
    const amount =
      seconds < 7200
        ? `${seconds} s`
        : seconds < 172_800
          ? `${Math.round(seconds / 3600)} h`
          : `${Math.round(seconds / 86_400)} days`;
    const side = offsetMs > 0 ? 'behind' : 'ahead of';
    return `the clock of this host is ${amount} ${side} that of the server; correct it, such as with chrony or systemd-timesyncd`;
  }
}
