import { Forge, type Forged, type ForgedParts } from '@certwright/testing';

/** Names of all servers of a farm are below it. */
export const farmDomain = 'example.com';

const dayMs = 86_400_000;
const wildcard = `*.${farmDomain}`;

/** The certificates of a farm. All leaves have the name of every server, unless their name says otherwise. */
export class FarmCertificates {
  private readonly forge = new Forge();
  readonly root = this.forge.make({ isCa: true, days: 3_000, name: 'farm root' });
  /** Not trusted. */
  readonly otherRoot = this.forge.make({ isCa: true, days: 3_000, name: 'other root' });
  readonly upper = this.ca({ name: 'upper' });
  readonly lower = this.ca({ name: 'lower', by: this.upper });
  /** The same CA as `upper`. */
  readonly crossed = this.ca({ name: 'upper', by: this.otherRoot, key: this.upper });
  readonly otherUpper = this.ca({ name: 'other upper', by: this.otherRoot });
  readonly weakUpper = this.ca({ name: 'weak upper', digest: 'sha1' });
  readonly expiredUpper = this.ca({ name: 'expired upper', days: -1 });
  readonly noCa = this.ca({ name: 'no CA', isCa: false });
  readonly good = this.leaf();
  readonly byLower = this.leaf({ by: this.lower });
  readonly byRoot = this.leaf({ by: this.root });
  readonly rsa1024 = this.leaf({ key: 'rsa1024' });
  readonly sha1 = this.leaf({ digest: 'sha1' });
  readonly byWeakUpper = this.leaf({ by: this.weakUpper });
  readonly byExpiredUpper = this.leaf({ by: this.expiredUpper });
  readonly byNoCa = this.leaf({ by: this.noCa });
  readonly byOther = this.leaf({ by: this.otherUpper });
  readonly expired = this.leaf({ days: -1 });
  readonly notYetValid = this.leaf({ notBefore: new Date(Date.now() + 10 * dayMs) });
  readonly expiring = this.leaf({ notBefore: new Date(Date.now() - 80 * dayMs), days: 90 });
  readonly otherName = this.leaf({ dnsNames: ['www.example.net'] });
  readonly expiredOtherName = this.leaf({ dnsNames: ['www.example.net'], days: -1 });
  readonly unnamed = this.leaf({ dnsNames: [], name: wildcard });
  readonly forClients = this.leaf({ usage: 'clientAuth' });
  readonly selfSigned = this.forge.make({ dnsNames: [wildcard] });
  /** Accepted from every server, also from those with a name of two labels. */
  readonly accepted = this.leaf({ dnsNames: [wildcard, `*.deep.${farmDomain}`] });
  readonly expiredSelfSigned = this.forge.make({ dnsNames: [wildcard], days: -1 });

  /** Of one name, by `upper`. */
  named(dnsName: string): Forged {
    return this.leaf({ dnsNames: [dnsName] });
  }

  dispose(): void {
    this.forge.dispose();
  }

  private ca(parts: ForgedParts): Forged {
    return this.forge.make({ by: this.root, isCa: true, days: 2_000, ...parts });
  }

  private leaf(parts: ForgedParts = {}): Forged {
    return this.forge.make({ by: this.upper, dnsNames: [wildcard], ...parts });
  }
}
