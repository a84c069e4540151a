import type { CcadbRecord, ProfileFacts } from './ccadb-records';

/** A profile of one key, as it is stored. */
export interface StoredProfile {
  /** Null: it is new. */
  id: number | null;
  spkiSha256: Buffer | null;
  subjectKeyId: Buffer | null;
  certificates: Buffer[];
  friendlyName: string | null;
  website: string | null;
  caaDomains: readonly string[] | null;
  operatorName: string | null;
  operatorWebsite: string | null;
  problemReporting: string | null;
  fullCrls: readonly string[];
  partitionedCrls: readonly string[];
}

const nothingKnown = {
  friendlyName: null,
  website: null,
  caaDomains: null,
  operatorName: null,
  operatorWebsite: null,
  problemReporting: null,
  fullCrls: [],
  partitionedCrls: [],
} as const;

/** Profiles by whatever names their key. */
export class ProfileSet {
  private readonly byKey = new Map<string, StoredProfile>();
  private readonly before: ReadonlyMap<StoredProfile, string>;
  private readonly profiles: StoredProfile[];
  private readonly facts = new Map<StoredProfile, ProfileFacts[]>();

  constructor(known: readonly StoredProfile[]) {
    this.profiles = [...known];
    for (const profile of known) this.index(profile);
    this.before = new Map(known.map((profile) => [profile, JSON.stringify(profile)]));
  }

  /** Everything that a file says; of several rows about one key the first that says something counts, and lists are put together. */
  take(records: readonly CcadbRecord[]): void {
    for (const record of records) for (const profile of this.meant(record)) this.add(profile, record.facts);
    for (const [profile, facts] of this.facts) Object.assign(profile, merged(facts));
  }

  /** Of those that the file is about. */
  touched(): {
    readonly added: StoredProfile[];
    readonly changed: StoredProfile[];
    readonly same: StoredProfile[];
  } {
    const touched = [...this.facts.keys()];
    const isChanged = (profile: StoredProfile) => this.before.get(profile) !== JSON.stringify(profile);
    return {
      added: touched.filter(({ id }) => id === null),
      changed: touched.filter((profile) => profile.id !== null && isChanged(profile)),
      same: touched.filter((profile) => profile.id !== null && !isChanged(profile)),
    };
  }

  private meant(record: CcadbRecord): readonly StoredProfile[] {
    if (record.owner !== null)
      return this.profiles.filter(({ operatorName }) => operatorName === record.owner);
    const { spkiSha256, certificateSha256, subjectKeyId } = record;
    let profile = keysOf(record)
      .map((key) => this.byKey.get(key))
      .find((each) => each !== undefined);
    if (profile === undefined) {
      profile = { id: null, spkiSha256: null, subjectKeyId: null, certificates: [], ...nothingKnown };
      this.profiles.push(profile);
    }
    if (!this.isOfAnother(profile, { spkiSha256 })) profile.spkiSha256 ??= spkiSha256;
    if (!this.isOfAnother(profile, { subjectKeyId })) profile.subjectKeyId ??= subjectKeyId;
    if (certificateSha256 !== null && !profile.certificates.some((each) => each.equals(certificateSha256)))
      profile.certificates.push(certificateSha256);
    this.index(profile);
    return [profile];
  }

  /** Two profiles that turn out to be of one key stay two; each of its digests belongs to one of them. */
  private isOfAnother(profile: StoredProfile, key: Partial<Parameters<typeof keysOf>[0]>): boolean {
    const nothing = { spkiSha256: null, certificateSha256: null, subjectKeyId: null };
    return keysOf({ ...nothing, ...key }).some((each) => (this.byKey.get(each) ?? profile) !== profile);
  }

  private add(profile: StoredProfile, facts: ProfileFacts): void {
    this.facts.set(profile, [...(this.facts.get(profile) ?? []), facts]);
  }

  private index(profile: StoredProfile): void {
    const { spkiSha256, subjectKeyId, certificates } = profile;
    const keys = [null, ...certificates].flatMap((certificateSha256) =>
      keysOf({ spkiSha256, subjectKeyId, certificateSha256 }),
    );
    for (const key of keys) if (!this.byKey.has(key)) this.byKey.set(key, profile);
  }
}

/** The most certain one first. */
function keysOf(of: Pick<CcadbRecord, 'spkiSha256' | 'certificateSha256' | 'subjectKeyId'>): string[] {
  const { spkiSha256, certificateSha256, subjectKeyId } = of;
  return [
    ...(spkiSha256 === null ? [] : [`spki ${spkiSha256.toString('hex')}`]),
    ...(certificateSha256 === null ? [] : [`certificate ${certificateSha256.toString('hex')}`]),
    ...(subjectKeyId === null ? [] : [`key id ${subjectKeyId.toString('hex')}`]),
  ];
}

function merged(facts: readonly ProfileFacts[]): ProfileFacts {
  const result: Record<string, unknown> = {};
  for (const each of facts) {
    for (const [name, value] of Object.entries(each)) {
      const before = result[name];
      const isList = name === 'fullCrls' || name === 'partitionedCrls';
      result[name] = isList
        ? [...new Set([...((before ?? []) as string[]), ...(value as string[])])]
        : (before ?? value);
    }
  }
  return result;
}
