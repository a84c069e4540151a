/** The time of the server, by its `Date` header, so that a wrong clock of the host does not stop it. */
export class CorrectedClock {
  /** ms; positive: the clock of this host is behind. */
  private offset = 0;

  constructor(private readonly hostNow: () => Date = () => new Date()) {}

  /** Of the server, as far as known. */
  now(): Date {
    return new Date(this.hostNow().getTime() + this.offset);
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
    const difference = time - this.hostNow().getTime();
    // Below a few seconds it is the resolution of the header and the way.
    this.offset = Math.abs(difference) < 5000 ? 0 : difference;
    return true;
  }

  /** One line for people when the clock is wrong; null when it is good enough. */
  problem(): string | null {
    const seconds = Math.round(Math.abs(this.offset) / 1000);
    if (seconds < 60) return null;
    const amount =
      seconds < 7200
        ? `${seconds} s`
        : seconds < 172_800
          ? `${Math.round(seconds / 3600)} h`
          : `${Math.round(seconds / 86_400)} days`;
    const side = this.offset > 0 ? 'behind' : 'ahead of';
    return `the clock of this host is ${amount} ${side} that of the server; correct it, such as with chrony or systemd-timesyncd`;
  }
}
