import type { NewIssuance } from '@certwright/ct-index';

/** Packs the bodies of issuances that are about to be stored. */
export interface BodyPacker {
  /** @param issuances whose bodies are not packed @returns the same ones in the same order; never rejects */
  pack(issuances: readonly NewIssuance[]): Promise<readonly NewIssuance[]>;
}

/** Leaves them as they are. */
export const asTheyAre: BodyPacker = { pack: (issuances) => Promise.resolve(issuances) };
