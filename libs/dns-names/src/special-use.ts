/**
 * IANA's registry of Special-Use Domain Names (RFC 6761) as of 2026-11, with the RFC that reserves each. Its reverse zones
 * are one entry per tree here: the Baseline Requirements, section 4.2.2, forbid all of in-addr.arpa and ip6.arpa.
 * Left out: example.com, example.net and example.org, which exist in DNS and which demos and tests use.
 */
const specialUse: ReadonlyMap<string, string> = new Map([
  ['6tisch.arpa', 'RFC 9031'],
  ['alt', 'RFC 9476'],
  ['eap.arpa', 'RFC 9965'],
  ['eap-noob.arpa', 'RFC 9140'],
  ['example', 'RFC 6761'],
  ['home.arpa', 'RFC 8375'],
  ['in-addr.arpa', 'RFC 1035, section 3.5'],
  ['invalid', 'RFC 6761'],
  ['ip6.arpa', 'RFC 3596'],
  ['ipv4only.arpa', 'RFC 8880'],
  ['local', 'RFC 6762'],
  ['localhost', 'RFC 6761'],
  ['onion', 'RFC 7686'],
  ['resolver.arpa', 'RFC 9462'],
  ['service.arpa', 'RFC 9665'],
  ['test', 'RFC 6761'],
]);

export interface SpecialUse {
  /** The reserved name that this name is or is beneath. */
  readonly suffix: string;
  readonly source: string;
}

/** Takes a name in normal form without `*.`. */
export function specialUseOf(name: string): SpecialUse | undefined {
  const labels = name.split('.');
  // Every entry has one or two labels.
  for (const count of [1, 2]) {
    const suffix = labels.slice(-count).join('.');
    const source = specialUse.get(suffix);
    if (source !== undefined) return { suffix, source };
  }
  return undefined;
}
