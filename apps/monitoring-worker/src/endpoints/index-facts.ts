import { casNamed, loggedFacts, readingAlone } from '@certwright/ct-index';
import type { PresentedLeaf } from '@certwright/endpoint-checks';
import { type Certificate, readCertificate } from '@certwright/pki';
import { RunningProcess, within } from '@certwright/service';
import { Inject, Injectable } from '@nestjs/common';
import { Config } from '../config';
import { CtDatabase } from '../ct-database/ct-database.module';
import { readCoverage } from '../own-issuance/index-coverage';

export interface LeafInIndex {
  /** Null: it may be in a log that the index has not read so far. */
  readonly isLogged: boolean | null;
  readonly revokedAt: Date | null;
}

export interface IndexFacts {
  /** Of the issuers, and of theirs; not verified. */
  readonly cas: readonly Certificate[];
  /** By SHA-256 over the DER certificate. Without an entry: the index could not be read. */
  readonly leaves: ReadonlyMap<string, LeafInIndex>;
}

/** notBefore may be as much before the signature, ms (Baseline Requirements 7.1.2.7). */
const maxBackdatedMs = 48 * 60 * 60 * 1_000;

/** A missing intermediate, its issuer, and a cross-certified root above them. */
const maxLevels = 3;

const nothing: IndexFacts = { cas: [], leaves: new Map() };

/** What the index of public certificates has about what servers present. */
@Injectable()
export class ReadIndexFacts {
  private isAvailable = true;

  constructor(
    private readonly ct: CtDatabase,
    private readonly running: RunningProcess,
    @Inject(Config) private readonly config: Pick<Config, 'CT_INDEX_SCOPE' | 'LEASE_TIME'>,
  ) {}

  /** Never rejects: while the ct database is unavailable, nothing is known. @param issuerNames DER */
  async of(leaves: readonly PresentedLeaf[], issuerNames: readonly Uint8Array[]): Promise<IndexFacts> {
    try {
      // A round must take less time than the lease.
      const facts = await within(this.config.LEASE_TIME / 4, this.read(leaves, issuerNames));
      this.isAvailable = true;
      return facts;
    } catch (error) {
      if (this.isAvailable)
        this.running.log.warn({ err: error }, 'index unavailable; endpoints are checked without it');
      this.isAvailable = false;
      return nothing;
    }
  }

  private async read(
    leaves: readonly PresentedLeaf[],
    issuerNames: readonly Uint8Array[],
  ): Promise<IndexFacts> {
    const cas = await this.casAbove(issuerNames);
    // Before the lookup: what is read into the index meanwhile is found, not missing.
    const coverage = this.config.CT_INDEX_SCOPE === 'all' ? await readCoverage(this.ct) : null;
    const sought = leaves.map(({ tbsSha256, notAfter }) => ({
      tbsSha256: Buffer.from(tbsSha256, 'hex'),
      notAfter,
    }));
    const found = await loggedFacts(readingAlone(this.ct), sought);
    const facts = leaves.map(({ sha256, notBefore }, nth): [string, LeafInIndex] => {
      const logged = found[nth] ?? null;
      if (logged !== null) return [sha256, { isLogged: true, revokedAt: logged.revokedAt }];
      const isRead =
        coverage !== null &&
        notBefore >= coverage.since &&
        notBefore.getTime() + maxBackdatedMs < coverage.loggedTo.getTime();
      return [sha256, { isLogged: isRead ? false : null, revokedAt: null }];
    });
    return { cas, leaves: new Map(facts) };
  }

  private async casAbove(issuerNames: readonly Uint8Array[]): Promise<readonly Certificate[]> {
    const cas: Certificate[] = [];
    const seen = new Set<string>();
    let names = issuerNames;
    for (let level = 1; level <= maxLevels && names.length > 0; level += 1) {
      for (const name of names) seen.add(textOf(name));
      const found = (await casNamed(this.ct, names)).flatMap((der) => {
        const reading = readCertificate(der);
        return reading.ok ? [reading.certificate] : [];
      });
      cas.push(...found);
      const next = new Map(found.map(({ issuer }) => [textOf(issuer.der), issuer.der]));
      names = [...next].flatMap(([text, name]) => (seen.has(text) ? [] : [name]));
    }
    return cas;
  }
}

const textOf = (der: Uint8Array): string => Buffer.from(der).toString('latin1');
