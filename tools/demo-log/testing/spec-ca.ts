import { generateKeyPairSync } from 'node:crypto';
import {
  authorityKeyIdentifier,
  distinguishedName,
  isNoCa,
  poison,
  signatureAlgorithm,
  signed,
  spkiOf,
  subjectAlternativeNames,
  tbsCertificate,
} from '../fixtures/certificate-der';
import { type Authority, type FixtureCa, makeFixtureCa, randomSerial } from '../fixtures/fixture-ca';

/** A CA of the spec, with one key for all certificates. */
export class SpecCa {
  private readonly key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  private readonly spki = spkiOf(this.key);
  /** Certificates have the same dates: a precertificate differs from its certificate in nothing else. */
  private readonly nowMs = Math.floor(Date.now() / 1_000) * 1_000;

  private constructor(readonly ca: FixtureCa) {}

  static async make(): Promise<SpecCa> {
    return new SpecCa(await makeFixtureCa(new Date()));
  }

  get root(): Buffer {
    return this.ca.root.certificate;
  }

  /** A certificate, its issuer and the root. */
  chain(name: string): Buffer[] {
    return this.signedBy(this.ca.e1, name, []);
  }

  /** A precertificate; `signer` may be the precertificate signing certificate. */
  precertificateChain(name: string, signer: 'e1' | 'precertificates' = 'e1', serial?: bigint): Buffer[] {
    return this.signedBy(this.ca[signer], name, [poison], serial);
  }

  /** A certificate whose signer is not a CA. */
  chainBelowLeaf(name: string): Buffer[] {
    const above = this.chain('leaf.example.com');
    const certificate = above[0] ?? Buffer.alloc(0);
    const leaf = {
      key: this.key,
      name: distinguishedName({ commonName: 'leaf.example.com' }),
      spki: this.spki,
      certificate,
    };
    return [...this.signedBy(leaf, name, []).slice(0, 1), ...above];
  }

  signedBy(signer: Authority, name: string, last: readonly Uint8Array[], serial = randomSerial()): Buffer[] {
    const tbs = tbsCertificate({
      serial,
      algorithm: signatureAlgorithm(signer.key),
      issuer: signer.name,
      subject: distinguishedName({ commonName: name }),
      notBefore: new Date(this.nowMs - 3_600_000),
      notAfter: new Date(this.nowMs + 86_400_000),
      spki: this.spki,
      extensions: [
        isNoCa,
        authorityKeyIdentifier(signer.spki),
        subjectAlternativeNames([name], false),
        ...last,
      ],
    });
    const above =
      signer === this.ca.precertificates
        ? [signer.certificate, this.ca.e1.certificate]
        : [signer.certificate];
    return [signed(tbs, signer.key), ...above, this.root];
  }
}
