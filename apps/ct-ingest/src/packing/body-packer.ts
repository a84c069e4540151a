import type { NewIssuance } from '@certwright/ct-index';

/** Packs the bodies of issuances before they are stored. */
export interface BodyPacker {
  /** @param issuances with unpacked bodies @returns the same ones in the same order; never rejects */
  pack(issuances: readonly NewIssuance[]): Promise<readonly NewIssuance[]>;
}

/** Returns the bodies unchanged. */
export const asTheyAre: BodyPacker = { pack: (issuances) => Promise.resolve(issuances) };
